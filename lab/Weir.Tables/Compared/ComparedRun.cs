using System.Diagnostics;
using Weir.Cli.Kit.Pages;
using Weir.Lab.Processes;
using Weir.Lab.Runtimes;
using Weir.Tables.Startup;
using static System.FormattableString;

namespace Weir.Tables.Compared;

/// <summary>What <c>runtimes-table</c> does: the work of the published tables on several versions of .NET, in turns; and the page.</summary>
/// <param name="output">Where the tables go.</param>
/// <param name="progress">Where progress and errors go.</param>
internal sealed class ComparedRun(TextWriter output, TextWriter progress)
{
    /// <summary>The command's name.</summary>
    public const string Verb = "runtimes-table";

    /// <summary>What it compares, in the words of BenchmarkDotNet.</summary>
    public static readonly string[] Known = ["net8.0", "net9.0", "net10.0"];

    private static readonly string Name = typeof(PublishedTables).Assembly.GetName().Name!;

    /// <summary>Runs and gives the exit code: 1 for wrong input, 3 when a process fails.</summary>
    public async Task<int> RunAsync(int rounds, int milliseconds, IReadOnlyList<string> runtimes, FileInfo? page, CancellationToken cancellationToken)
    {
        string? root = Path.GetDirectoryName(Path.GetDirectoryName(Path.GetDirectoryName(ColdBuilds.Project())));
        string layout = Path.Combine(root ?? "", "artifacts", "runtimes");
        Dictionary<string, string> versions = root is null ? [] : Versions(layout);
        string? refusal = runtimes.FirstOrDefault(static r => !Known.Contains(r)) is { } unknown
            ? $"--runtimes must be {string.Join(", ", Known)}; it is '{unknown}'."
            : PageFile.FindProblem(page)
                ?? (root is null ? $"{Verb} builds its program, so it must be run inside of the repository."
                : runtimes.FirstOrDefault(r => !versions.ContainsKey(r)) is { } missing ? $"There is no runtime for {missing}: run eng/runtimes first."
                : null);
        if (refusal is not null)
        {
            await progress.WriteLineAsync(refusal);
            return 1;
        }

        (int code, string text) = await ColdBuilds.RunAsync(
            ["build", Path.Combine(root!, "lab", Name), "-c", "Release", "-v", "q", "-nologo", "-clp:NoSummary"], cancellationToken);
        if (code != 0)
        {
            await progress.WriteLineAsync($"{Name} could not be built: {text.Trim()}");
            return 3;
        }

        Dictionary<string, (string Runtime, string Table)> starts = runtimes
            .SelectMany(runtime => PublishedTables.All.Select(static row => row.Table).Distinct().Select(table => (runtime, table)))
            .ToDictionary(static start => $"{start.runtime}: {start.table}");
        PageRun run = new(page, output);
        Dictionary<string, List<RowReading[]>>? readings = await ProcessTurns.MeasureAsync(
            [.. starts.Keys],
            rounds,
            async key =>
            {
                (string runtime, string table) = starts[key];
                string program = Path.Combine(root!, "artifacts", "bin", Name, runtime == "net10.0" ? "release" : "release_net8.0", Name + ".dll");
                string[] arguments = ["exec", "--fx-version", versions[runtime], program, table, Invariant($"{milliseconds}")];
                ProcessStartInfo start = new(Path.Combine(layout, "dotnet"), arguments);
                ChildEnd end = await ChildProgram.RunAsync(start, cancellationToken, keepsErrors: false);
                return (end.Code, end.Output);
            },
            static lines => lines.Split('\n').Select(static line => RowReading.Parse(line.Trim())).ToArray(),
            progress);
        if (readings is null)
        {
            return 3;
        }

        string versionsUsed = string.Join(", ", runtimes.Select(r => versions[r]));
        string extent = Invariant($"{versionsUsed}; {rounds} {(rounds == 1 ? "round" : "rounds")} of at least {milliseconds} ms a row");
        await run.WriteAsync(ComparedPage.Render(
            run.Provenance(extent),
            runtimes,
            (runtime, row) => readings[$"{runtime}: {PublishedTables.All[row].Table}"].Select(lines => lines.Single(reading => reading.Row == row)),
            run.Existing));
        return 0;
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
