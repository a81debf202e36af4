namespace Weir.Cli.Commands.Compare;

/// <summary>The <c>compare</c> command: decides whether one thing is faster than another, slower or equal, or that the data does not tell.</summary>
internal static class CompareCommand
{
    private const int MostRounds = 96;
    private const int MostProcesses = 16;
    private const string DefaultWithin = "30s";
    private static readonly TimeSpan DefaultWithinTime = TimeSpan.FromSeconds(30);

    public static Command Create(WeirHost host)
    {
        SideOptions sides = new(MostRounds);
        CompareOptionSet compare = new();
        HistoryOption directory = new();
        OutputOptionSet outputs = new();
        KeepOption keep = new();
        Command command = new(
            "compare",
            "Compares B with A until it is decided. Workloads, methods of your own, two builds of them, or stored results, in turns, in "
                + "many short rounds (ABBA), until the result is decided. Exit code 2 if B is slower or allocates more.");
        PullRequestOptionSet reviews = new();
        TextOption processes = TextOption.Of("--processes", null, "N", $"The most processes of each side. Default {MostProcesses}");
        TextOption within = TextOption.Of("--within", null, "TIME", $"The most time for a comparison, decided or not. Default {DefaultWithin}");
        sides.AddTo(command);
        reviews.AddTo(command);
        command.AddAll(processes, within);
        compare.AddTo(command);
        command.Add(directory.Flag);
        outputs.AddTo(command);
        keep.AddTo(command);
        command.MakeRare(
            "--groups", "--rate", "--max-failures", "--grain", "--rounds", "--duration", "--processes", "--across", "--dir", "--alpha", "--annotate");
        command.SetAction(async (parsed, _) =>
        {
            string?[] texts = sides.Texts(parsed);
            ComparisonOptions comparison = compare.Read(parsed);
            OutputSettings output = outputs.Read(parsed);
            string? summary = reviews.File(parsed);
            string[] arguments = [.. parsed.Tokens.Select(static t => t.Value)];
            ResultFile?[] files = [.. texts.Select(t => t is null ? null : Stored(t, directory.Store(parsed)))];
            if (keep.Read(parsed, host) && (files.Any(static f => f is not null) || sides.HasCommits(parsed)))
            {
                throw new BadInputException(
                    "--keep is for what is measured at this commit, not for stored results, which 'weir history add' keeps, nor for the commits of --git.");
            }

            ResultFile result;
            if (files is [{ } a, { } b])
            {
                if (sides.Runs.Subjects.HasAny(parsed))
                {
                    throw new BadInputException(
                        "Stored results are compared as they are; --assembly, --method, --param, --grain and --gc apply only to measurements.");
                }

                (string before, string after) = NamesOf(texts[0]!, texts[1]!);
                result = ResultComparing.Compare((before, a), (after, b), comparison, compare.Across(parsed), arguments);
            }
            else if (files is [null, null])
            {
                if (compare.Across(parsed).Count > 0)
                {
                    throw new BadInputException("--across is for two stored results; for workloads measured in turns, the command line says what differs.");
                }

                TurnPlan PlanOf(Sides found) => new(
                    processes.Find(parsed)?.WholeNumber(2, 64) ?? MostProcesses,
                    found.Settings.Rounds,
                    within.Find(parsed)?.Time(TimeSpan.FromSeconds(1), TimeSpan.FromHours(1), DefaultWithin)
                        ?? DefaultWithinTime * (found.Groups[0].Count - 1));

                ComparisonOptions each = compare.Read(parsed, CompareOptionSet.InTurns);
                result = await RunProgress.RunAsync(host, output.Quiet, p => sides.UseAsync(
                    parsed, p, found => new InTurns(found, PlanOf(found), each, host, p).MeasureAsync(arguments), host.Stop));
            }
            else
            {
                throw new BadInputException(
                    "A and B must be two workloads, which are measured in turns, or two stored results; 'weir history check' measures one again.");
            }

            int code = ResultOutput.Write(result, output, host);
            keep.Keep(parsed, result, host);
            return reviews.Write(parsed, summary, result, code, host);
        });
        return command;
    }

    /// <summary>What two stored results are called: files of one name, such as two weir-run.json, by their paths.</summary>
    internal static (string Before, string After) NamesOf(string before, string after)
    {
        static string NameOf(string text) => text.StartsWith('@') ? text : Path.GetFileNameWithoutExtension(text);
        return NameOf(before) == NameOf(after) && !before.StartsWith('@') ? (before, after) : (NameOf(before), NameOf(after));
    }

    internal static ResultFile? Stored(string text, HistoryStore store) =>
        text.StartsWith('@') ? store.Named(text[1..])
        : text.EndsWith(".json", StringComparison.OrdinalIgnoreCase) || text.EndsWith(".html", StringComparison.OrdinalIgnoreCase) ? One(text)
        : null;

    private static ResultFile One(string path) => StoredResults.Read(path) is [{ } only]
        ? only
        : throw new BadInputException($"'{path}' holds several results; compare needs a file with one.");
}
