using Weir.Cli.Commands.Load.Arms;

namespace Weir.Cli.Commands.Load;

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
