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

    private static void WriteDetails(ResultFile result, TextWriter output, TextStyle style)
    {
        output.WriteLine(LoadAnswer.Of(result));
        output.WriteLine();
        ResultText.Write(result, output, style);
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
        return ResultOutput.Write(result, output, host, settings.Details ? WriteDetails : LoadScreen.Write);
    }
}

/// <summary>What a run comes to, in a sentence or two for somebody who has never seen one.</summary>
internal static class LoadAnswer
{
    // Of the processor time. Less goes unnoticed, because the arms take turns.
    private const double MostTakenByOthers = 0.1;

    private const int MostNamed = 4;

    /// <summary>The answer.</summary>
    public static string Of(ResultFile result)
    {
        ArmRecord[] arms = [.. result.Arms.Where(static a => a.OrPart().IsMeasured).OrderByDescending(static a => a.OrPart().Rate().Median)];
        return arms switch
        {
            [] => "Nothing was measured: the run was stopped before.",
            [var one] => $"{NameOf(one)} handled {RateOf(one)} items a second: {TimeOf(one)} an item.",
            [var first, .. var others] => OfSeveral(first, others),
        } + (IsOf(result) ? " The machine was busy, so trust no small difference." : "") + (result.Partial ? " The run was stopped early." : "");
    }

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

    /// <summary>The name of a runtime or a peer.</summary>
    public static string NameOf(ArmRecord arm) => arm.Settings.GetValueOrDefault(PassFigures.Runtime, arm.Name);

    private static bool IsOf(ResultFile result) => result.Findings.Any(static f => f is { Level: FindingLevel.Doubt, Kind: FindingKind.Machine });

    private static string OfSeveral(ArmRecord first, ArmRecord[] others)
    {
        // Which is first is seen only afterwards, so there are as many ways to be wrong as there are pairs.
        ComparisonOptions options = new();
        options = options with { Alpha = options.Alpha * 2 / (others.Length + 1) };
        IReadOnlyList<ComparisonRecord> compared = Comparing.All(others.Select(o => (o, first)), options, interleaved: true);
        ILookup<Verdict, ArmRecord> by = others.ToLookup(o => compared.FirstOrDefault(c => c.Arm == o.Label)?.Verdict ?? Verdict.Inconclusive);
        string did = $"{RateOf(first)} items a second, {TimeOf(first)} an item";
        ArmRecord[] slower = [.. by[Verdict.Slower]];
        ArmRecord[] open = [.. others.Except(slower)];
        if (open.Length == 0)
        {
            string rest = others.Length == 1 ? "" : $", then {Listed([.. others.Skip(1)])}";
            return $"{NameOf(first)} is the fastest: {did}. The next is {NameOf(others[0])} with {RateOf(others[0])}{rest}.";
        }

        bool areEqual = open.All(by[Verdict.Equivalent].Contains);
        string head = areEqual
            ? $"{NameOf(first)} and {Listed(open)} are about equally fast: {did}."
            : $"Which is the fastest is not certain: {NameOf(first)} did {did}; {Listed(open)} did less, but the windows differ more than that.";
        return head + (slower.Length == 0 ? "" : $" Slower: {Listed(slower)}.");
    }

    private static string Listed(ArmRecord[] arms)
    {
        string[] texts = [.. arms.Take(arms.Length > MostNamed ? MostNamed - 1 : MostNamed).Select(static a => $"{NameOf(a)} ({RateOf(a)})")];
        texts = arms.Length > texts.Length ? [.. texts, $"{arms.Length - texts.Length} more"] : texts;
        return texts.Length == 1 ? texts[0] : $"{string.Join(", ", texts[..^1])} and {texts[^1]}";
    }

    private static string RateOf(ArmRecord arm) => Numbers.Scaled(arm.OrPart().Rate().Median);

    private static string TimeOf(ArmRecord arm) => Numbers.Nanoseconds(1e9 / arm.OrPart().Rate().Median);
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

        foreach (Finding busy in LoadAnswer.Busy(trials.Arms))
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

    private static readonly string[] Columns = ["items/s", "[min..max]", "ns/item", "x loop", "x ForEachAsync", "B/item", "CPU s/M"];

    public static void Write(ResultFile result, TextWriter output, TextStyle style)
    {
        int width = style.Width ?? UsualWidth;
        void Say(string text)
        {
            foreach (string line in Wrapped(text, width))
            {
                output.WriteLine(line);
            }
        }

        Say(LoadAnswer.Of(result));
        output.WriteLine();
        if (ResultTables.Passes(result) is { } table)
        {
            TableText.Write(Narrowed(table, width), output, style);
            output.WriteLine();
        }

        // The form that scripts read, where there is one runtime.
        (string Key, string Value)[] figures = result.Arms is [var only]
            ? [(PassFigures.Runtime, LoadAnswer.NameOf(only)), .. ResultText.Of(result).Groups[^1]]
            : [];
        foreach ((string key, string value) in figures)
        {
            Say($"{key}={value}");
        }

        Say($"Work of an item: {result.Work}. items/s: the median of {result.Settings["trials"]} windows, in turns; ns/item: the time of an item at that rate; "
            + "B, CPU: of the whole process.");
        foreach (string line in ResultText.Sentences(result.Findings))
        {
            Say(line);
        }

        Say("More: --details (settings, machine, comparisons), --export html (a page), --peers (what one would write without Weir).");
    }

    // Of the table those columns that say most, as many as fit on a line.
    private static Table Narrowed(Table table, int width)
    {
        int[] columns = [0];
        foreach (int column in Columns.Select(head => table.Columns.ToList().IndexOf(head)).Where(static c => c > 0))
        {
            Table wider = TableText.Part(table, [.. columns, column]);
            columns = TableText.WidthOf(wider) <= width ? [.. columns, column] : columns;
        }

        return TableText.Part(table, columns);
    }

    private static IEnumerable<string> Wrapped(string text, int width)
    {
        string line = "";
        foreach (string word in text.Split(' ', StringSplitOptions.RemoveEmptyEntries))
        {
            if (line.Length > 0 && line.Length + 1 + word.Length > width)
            {
                yield return line;
                line = "";
            }

            line += (line.Length > 0 ? " " : "") + word;
        }

        yield return line;
    }
}
