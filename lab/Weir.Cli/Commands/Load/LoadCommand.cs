using Weir.Lab.Report.Tables;
using Weir.Lab.Report.Writing;

namespace Weir.Cli.Commands.Load;

/// <summary>The <c>load</c> command: pushes items through runtimes as fast as they go, and reports.</summary>
internal static class LoadCommand
{
    public const string Name = "load";

    public const string Description =
        "Sends items through runtimes, and verifies them. The runtimes take turns, each as fast as it can. Names in brackets are environment variables; an "
            + "option overrides its variable, and an empty variable counts as not set.";

    public static Command Create(WeirHost host)
    {
        LoadOptionSet options = new();
        Command command = new(Name, Description);
        options.AddTo(command);
        OutputOptionSet outputs = new(Threshold.OfItems);
        outputs.AddTo(command, hasOwnJson: true);
        command.MakeRare("--timeout", "--preserve-order", "--warmup", "--fail-rate");
        command.SetAction((parsed, _) =>
        {
            LoadSettings settings = options.Read(parsed, host.Variable);
            OutputSettings output = outputs.Read(parsed) with { Json = settings.Json };
            return output.Quiet && settings.Watch
                ? throw new BadInputException("--quiet cannot be used with --watch, which shows the run.")
                : new LoadRun(settings, output, [.. parsed.Tokens.Select(static t => t.Value)], host).RunAsync();
        });
        return command;
    }
}

/// <summary>One run of the command: sets up the work and the arms, measures them, and writes the report.</summary>
internal sealed class LoadRun(LoadSettings settings, OutputSettings output, IReadOnlyList<string> arguments, WeirHost host)
{
    public async Task<int> RunAsync()
    {
        DateTimeOffset startedAt = host.Load.Clock.GetLocalNow();
        long start = Stopwatch.GetTimestamp();
#if DEBUG
        host.Say("this is a Debug build, so the figures mean little. Run it with -c Release.");
#endif
        ItemWorkload workload = settings.CreateWorkload();
        try
        {
            return await MeasureAsync(await SetUpAsync(workload), startedAt, start);
        }
        finally
        {
            await workload.CleanupAsync();
        }
    }

    private async Task<LoadWork> SetUpAsync(ItemWorkload workload)
    {
        WorkerGroup all = new(WorkerRunSpec.DefaultGroup, Math.Max(settings.Concurrency, settings.ParallelSize));
        await workload.SetupAsync(new WorkerRunSpec { Workload = workload.Name, Groups = [all] }, host.Stop);
        await workload.BeginRoundAsync(host.Stop);
        string text = await workload.DescribeAsync(host.Stop) ?? settings.Row!.Text;
        LoadWork work = new(workload.Call, workload.Expect, text);
        return settings.FailRate > 0 ? work.Failing(settings.FailRate) : work;
    }

    private async Task<int> MeasureAsync(LoadWork work, DateTimeOffset startedAt, long start)
    {
        await using LoadArms arms = LoadArms.Create(settings, work, host.CreateRuntime);
        TrialOptions options = host.Load.Trials with { Trials = settings.Trials };
        Task<TrialReport> Run(ITrialObserver observer) =>
            new TrialRunner(options, observer).RunAsync([.. arms.Arms.Select(static arm => arm.Arm)], host.Stop);
        TrialReport trials = await (settings.Watch
            ? LoadWatch.RunAsync(host, [.. arms.Arms.Select(static arm => arm.Watched!)], Run)
            : TrialProgress.RunAsync(host, output.Quiet, Run));

        ResultFile result = LoadResults.Of(settings, work.Description, arms.Arms, trials, startedAt, arguments) with
        {
            Seconds = Stopwatch.GetElapsedTime(start).TotalSeconds,
        };
        return ResultOutput.Write(result, output, host, settings.Details ? null : LoadScreen.Write);
    }
}

/// <summary>What else had the processors while the arms took turns.</summary>
internal static class LoadMachine
{
    // Of the processor time. Less goes unnoticed, because the arms take turns.
    private const double MostTakenByOthers = 0.1;

    /// <summary>The finding if other programs had much of the machine while it was measured.</summary>
    public static IEnumerable<Finding> Busy(IEnumerable<ArmRecord> arms)
    {
        double[] room = [.. arms.SelectMany(static a => a.Rounds).Select(static r => r.Room).OfType<double>()];
        double others = room.Length == 0 ? 0 : 1 - room.Average();
        return others <= MostTakenByOthers ? [] :
        [
            new Finding(
                FindingLevel.Doubt,
                FormattableString.Invariant($"Other programs had {others * 100:0} % of the processor time meanwhile. Run it again on a quieter machine."),
                FindingKind.Machine),
        ];
    }
}

/// <summary>Converts the measurements to a result in the format of all measuring commands. All output is generated from it.</summary>
internal static class LoadResults
{
    /// <summary>The result: a round for each window, and each arm compared with the first, which is direct unless it was left out.</summary>
    public static ResultFile Of(
        LoadSettings settings, string work, IReadOnlyList<LoadArm> arms, TrialReport trials, DateTimeOffset startedAt, IReadOnlyList<string> arguments)
    {
        ArmRecord[] records = [.. arms.Zip(trials.Arms).Select(arm => Arm(settings, arm.First, arm.Second))];
        return ResultFile.Here("load", arguments, work, "items", startedAt) with
        {
            Partial = trials.IsPartial,
            Settings = Texts(settings),
            Arms = records,
            Comparisons = Comparing.All(records.Skip(1).Select(arm => (arm, records[0])), new ComparisonOptions(), interleaved: true),
            Findings = [.. Findings(settings, trials), .. Advice(arms, records)],
        };
    }

    private static ArmRecord Arm(LoadSettings settings, LoadArm arm, ArmRecord measured) => measured with
    {
        Name = arm.Choice?.Word ?? measured.Name,
        Workers = arm.Choice?.Size ?? (measured.Name == Peer.Loop.Name ? 1 : settings.PeerDegree),
        Settings = arm.Choice is { } choice ? new Dictionary<string, string> { [PassFigures.Runtime] = choice.Name } : [],
        Decisions = arm.Decisions(),
    };

    // Some of these decide whether two results may be compared.
    private static Dictionary<string, string> Texts(LoadSettings settings) => SettingTexts.Given(
        (PassFigures.Runtime, settings.Runtime),
        ("count", Numbers.Grouped(settings.Count)),
        ("batch_size", Numbers.Grouped(settings.BatchSize)),
        ("cdc_parallel_size", Numbers.Grouped(settings.ParallelSize)),
        ("cdc_concurrency", Numbers.Grouped(settings.Concurrency)),
        ("sweep", settings.Sweep.Count > 0 ? string.Join(',', settings.Sweep) : null),
        ("timeout", settings.Timeout is { } timeout ? Numbers.Time(timeout) : "none"),
        ("preserve_order", settings.PreserveOrder ? "true" : "false"),
        ("warmup", Numbers.Grouped(settings.Warmup)),
        ("trials", Numbers.Grouped(settings.Trials)),
        ("peer_degree", settings.Peers ? Numbers.Grouped(settings.PeerDegree) : null),
        ("workload", settings.Workload),
        ("grain", settings.Grain > TimeSpan.Zero ? Numbers.Time(settings.Grain) : settings.GrainBytes > 0 ? Numbers.Bytes(settings.GrainBytes) : null),
        ("input", settings.Input?.Path),
        ("fail_rate", Numbers.Short(settings.FailRate)),
        ("watched", settings.Watch ? "true" : "false"));

    private static IEnumerable<Finding> Advice(IReadOnlyList<LoadArm> arms, ArmRecord[] records) =>
        SweepAdvice.Of(arms.Zip(records)
            .Where(static row => row.First.Choice is not null && row.Second.IsMeasured)
            .Select(static row => (row.First.Choice!, row.Second.Rate().Median)))
            .Select(static text => new Finding(FindingLevel.Note, text));

    private static IEnumerable<Finding> Findings(LoadSettings settings, TrialReport trials)
    {
        if (settings.Watch)
        {
            yield return new Finding(FindingLevel.Note, "Each item was counted and timed for --watch; the figures include that.");
        }

        string[] compiled = [.. trials.Arms.Where(static a => PassArm.AreCold(a.Counted))
            .Select(static a => (a.Name, Methods: a.Counted.Sum(static r => r.CompiledMethods ?? 0)))
            .Select(static a => $"{a.Name} {Numbers.Grouped(a.Methods)}")];
        if (compiled.Length > 0)
        {
            yield return new Finding(
                FindingLevel.Doubt, $"Methods were still compiled in the measured windows, so the code was not warm: {string.Join(", ", compiled)}.");
        }

        foreach (Finding busy in LoadMachine.Busy(trials.Arms))
        {
            yield return busy;
        }
    }
}

/// <summary>Which size of a sweep to start with.</summary>
internal static class SweepAdvice
{
    /// <summary>What a smaller size may be behind the fastest: a difference that nobody notices is not worth more items in flight.</summary>
    private const double Enough = 0.95;

    /// <summary>A sentence for each kind of runtime that was measured with several sizes: the smallest of them that is about as fast as the fastest.</summary>
    public static IEnumerable<string> Of(IEnumerable<(RuntimeChoice Choice, double Rate)> sizes)
    {
        foreach (IGrouping<string, (RuntimeChoice Choice, double Rate)> kind in sizes.Where(static s => s.Choice.IsSwept).GroupBy(static s => s.Choice.Word))
        {
            if (kind.Count() > 1)
            {
                (RuntimeChoice fastest, double most) = kind.MaxBy(static s => s.Rate);
                (RuntimeChoice first, double rate) = kind.Where(s => s.Rate >= most * Enough).MinBy(static s => s.Choice.Size);
                string why = first != fastest
                    ? $"with {Numbers.Scaled(rate)} items/s the smallest within {(1 - Enough) * 100:0} % of the fastest, "
                        + $"{fastest.Name} with {Numbers.Scaled(most)}"
                    : $"the fastest of these sizes, with {Numbers.Scaled(most)} items/s{(fastest == Largest(kind) ? "; larger ones may be faster still" : "")}";
                yield return $"Start with {first.Name}: {why}.";
            }
        }
    }

    private static RuntimeChoice Largest(IEnumerable<(RuntimeChoice Choice, double Rate)> sizes) => sizes.MaxBy(static s => s.Choice.Size).Choice;
}

/// <summary>A result on one screen: the answer first, then the figures that it is made of, then what to know of them.</summary>
internal static class LoadScreen
{
    /// <summary>The columns of a terminal whose width nobody knows.</summary>
    private const int UsualWidth = 80;

    private const int MostDrawn = 5;

    public static void Write(ResultFile result, TextWriter output, TextStyle style)
    {
        style = style with { Width = style.Width ?? UsualWidth };
        Prose prose = new(output, style.Width);
        TextReport report = ResultText.Of(result);
        prose.Write(report.Answer);
        output.WriteLine();
        IReadOnlyList<string> noRoom = [];
        if (ResultTables.Passes(result) is { } table)
        {
            // With many arms the table alone fills the screen.
            if (result.Arms.Count <= MostDrawn && report.Picture(style.Width) is { Count: > 0 } picture)
            {
                foreach (string line in picture)
                {
                    output.WriteLine(line);
                }

                output.WriteLine();
            }

            noRoom = TableText.Write(table, output, style);
            output.WriteLine();
        }

        // The form that scripts read, where there is one runtime.
        prose.Write(result.Arms is [var only]
            ? [$"{PassFigures.Runtime}={Answer.NameOf(only)}", .. report.Groups[^1].Select(static g => $"{g.Key}={g.Value}")]
            : []);
        prose.Write([
            $"Work of an item: {result.Work}. items/s: the median of {result.Settings["trials"]} windows, in turns; ns/item: the time of an item at that rate; "
                + "B, CPU: of the whole process.",
            .. ResultText.Sentences(result.Findings),
            (noRoom.Count > 0 ? $"No room here for: {string.Join(", ", noRoom)}. " : "")
                + "More: --details (settings, machine, comparisons), --export html (a page), --peers (what one would write without Weir).",
        ]);
    }
}
