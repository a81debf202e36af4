using Weir.Lab.Runtimes;

namespace Weir.Tables.Compared;

/// <summary>What <c>runtimes-table</c> does: the work of the published tables on several versions of .NET, in turns; and the page.</summary>
internal sealed class ComparedRun(TextWriter output, TextWriter progress)
{
    /// <summary>The command's name.</summary>
    public const string Verb = "runtimes-table";

    /// <summary>What it compares, in the words of BenchmarkDotNet.</summary>
    public static readonly string[] Known = ["net8.0", "net9.0", "net10.0"];

    private static readonly string Name = typeof(PublishedTables).Assembly.GetName().Name!;

    /// <summary>Measures, and writes the page.</summary>
    public async Task RunAsync(int rounds, int milliseconds, IReadOnlyList<string> runtimes, FileInfo? page, CancellationToken cancellationToken)
    {
        string root = Path.GetDirectoryName(Path.GetDirectoryName(Path.GetDirectoryName(ColdBuilds.Project())))
            ?? throw new BadInputException($"{Verb} builds its program, so it must be run inside of the repository.");
        string layout = Path.Combine(root, "artifacts", "runtimes");
        Dictionary<string, string> versions = Versions(layout);
        PageFile.Check(page);
        if (runtimes.FirstOrDefault(r => !versions.ContainsKey(r)) is { } missing)
        {
            throw new BadInputException($"There is no runtime for {missing}: run eng/runtimes first.");
        }

        ChildEnd built = await ColdBuilds.Start(
            ["build", Path.Combine(root, "bench", Name), "-c", "Release", "-v", "q", "-nologo", "-clp:NoSummary"], cancellationToken)();
        if (built.Code != 0)
        {
            throw new InvalidOperationException($"{Name} could not be built: {built.Output.Trim()}");
        }

        PageRun run = new(page, output);
        Func<Task<ChildEnd>> Start(string runtime, string table)
        {
            string program = Path.Combine(root, "artifacts", "bin", Name, runtime == "net10.0" ? "release" : "release_net8.0", Name + ".dll");
            string[] arguments = ["exec", "--fx-version", versions[runtime], program, table, Invariant($"{milliseconds}")];
            return () => ChildProgram.RunAsync(new ProcessStartInfo(Path.Combine(layout, "dotnet"), arguments), cancellationToken, capturesErrors: false);
        }

        Dictionary<string, List<RowReading[]>> readings = await ProcessTurns.MeasureAsync(
            [
                .. from runtime in runtimes
                   from table in PublishedTables.All.Select(static row => row.Table).Distinct()
                   select ($"{runtime}: {table}", Start(runtime, table)),
            ],
            rounds,
            static lines => lines.Split('\n').Select(static line => RowReading.Parse(line.Trim())).ToArray(),
            progress);
        string versionsUsed = string.Join(", ", runtimes.Select(r => versions[r]));
        string extent = Invariant($"{versionsUsed}; {rounds} {(rounds == 1 ? "round" : "rounds")} of at least {milliseconds} ms a row");
        await run.WriteAsync(ComparedPage.Render(
            run.Provenance(extent),
            runtimes,
            (runtime, row) => readings[$"{runtime}: {PublishedTables.All[row].Table}"].Select(lines => lines.Single(reading => reading.Row == row)),
            run.Existing));
    }

    // The newest version of each that eng/runtimes laid out.
    private static Dictionary<string, string> Versions(string layout)
    {
        DirectoryInfo shared = new(Path.Combine(layout, "shared", "Microsoft.NETCore.App"));
        return !shared.Exists ? [] : shared.EnumerateDirectories()
            .Where(static d => Version.TryParse(d.Name, out _))
            .GroupBy(static d => Invariant($"net{Version.Parse(d.Name).Major}.0"))
            .ToDictionary(static g => g.Key, static g => g.MaxBy(static d => Version.Parse(d.Name))!.Name);
    }
}
