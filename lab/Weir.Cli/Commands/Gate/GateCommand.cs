namespace Weir.Cli.Commands.Gate;

/// <summary>The <c>gate</c> command: whether a change may pass. It fails only for what is worse twice.</summary>
internal static class GateCommand
{
    private const int MostRounds = 96;
    private const int MostProcesses = 16;
    private const string DefaultWithin = "60s";
    private static readonly TimeSpan DefaultWithinTime = TimeSpan.FromSeconds(60);

    public static Command Create(WeirHost host)
    {
        SideOptions sides = new(MostRounds);
        CompareOptionSet compare = new();
        HistoryOption directory = new();
        OutputOptionSet outputs = new();
        Command command = new(
            "gate",
            "Fails if B is worse than A, and sure of it. Measures both in turns, measures again what is undecided, and fails only for what is worse again in "
                + "new processes. Also of two reports of BenchmarkDotNet, by their bytes. Exit code 2 if it fails.");
        PullRequestOptionSet reviews = new();
        TextOption within = TextOption.Of("--within", null, "TIME", $"The most time for a comparison, confirmed. Default {DefaultWithin}");
        sides.AddTo(command);
        reviews.AddTo(command);
        command.Add(within);
        compare.AddTo(command);
        command.Add(directory.Flag);
        outputs.AddTo(command);
        command.MakeRare("--groups", "--rate", "--max-failures", "--grain", "--rounds", "--duration", "--across", "--dir", "--alpha");
        command.SetAction(async (parsed, _) =>
        {
            string?[] texts = sides.Texts(parsed);
            ComparisonOptions options = compare.Read(parsed);
            OutputSettings output = outputs.Read(parsed);
            string? summary = reviews.File(parsed);
            TimeSpan time = within.Find(parsed)?.Time(TimeSpan.FromSeconds(3), TimeSpan.FromHours(1), DefaultWithin) ?? DefaultWithinTime;
            string[] arguments = [.. parsed.Tokens.Select(static t => t.Value)];
            ResultFile?[] files = [.. texts.Select(t => t is null ? null : CompareCommand.Stored(t, directory.Store(parsed)))];
            (string Before, string After) names = CompareCommand.NamesOf(texts[0] ?? "", texts[1] ?? "");
            ResultFile result = files switch
            {
                [{ } a, { } b] => ResultComparing.Compare((names.Before, a), (names.After, b), options, compare.Across(parsed), arguments),
                [null, null] when compare.Across(parsed).Count == 0 => await RunProgress.RunAsync(host, output.Quiet, p => sides.UseAsync(
                    parsed, p, found => new GateRun(found, compare.Read(parsed, CompareOptionSet.InTurns), time, host, p).MeasureAsync(arguments), host.Stop)),
                _ => throw new BadInputException(compare.Across(parsed).Count > 0
                    ? "--across is for two stored results; for workloads measured in turns, the command line says what differs."
                    : "gate needs two things: A and B must be two workloads, which are measured in turns, or two stored results."),
            };
            result = result with { Command = "gate" };
            int code = ResultOutput.Write(result, output, host);
            return reviews.Write(parsed, summary, result, code, host);
        });
        return command;
    }

    /// <summary>How the sides of a pass are measured.</summary>
    /// <param name="rounds">How many rounds each has at most.</param>
    /// <param name="within">The time of the pass.</param>
    public static TurnPlan PlanOf(int rounds, TimeSpan within) => new(MostProcesses, rounds, within);
}
