using Weir.Cli.Load.Peers;
using Weir.Cli.Output;
using Weir.Cli.Results;
using Weir.Lab.Statistics;
using Weir.Lab.Trials;

namespace Weir.Cli.Load.Report;

/// <summary>Turns a report into the result that all measuring commands share, so that its files, its page and its comparisons are the same as theirs.</summary>
internal static class LoadExport
{
    /// <summary>The result: a round for each window, and each arm compared with the first, which is direct unless it was left out.</summary>
    /// <param name="report">The report.</param>
    /// <param name="arguments">The arguments that repeat the run.</param>
    /// <param name="seconds">How long it took in all.</param>
    public static ResultFile Result(LoadReport report, IReadOnlyList<string> arguments, double seconds)
    {
        ArmRecord[] arms = [.. report.Rows.Select((row, i) => Arm(row, report, i))];
        return new ResultFile
        {
            Command = "load",
            Arguments = arguments,
            Work = report.Work,
            Unit = "items",
            StartedAt = report.StartedAt,
            Seconds = seconds,
            Partial = report.IsPartial,
            Machine = MachineRecord.Read(),
            Settings = Settings(report.Knobs),
            Arms = arms,
            Comparisons = Comparing.All(arms.Skip(1).Select(arm => (arm, arms[0])), new ComparisonOptions(), interleaved: true),
            Findings = [.. Compiled(report)],
        };
    }

    private static ArmRecord Arm(LoadRow row, LoadReport report, int index) => new()
    {
        Name = row.Choice?.Word ?? row.Name,
        Workers = row.Choice?.Size ?? (row.Name == LoopPeer.Loop ? 1 : report.Knobs.PeerDegree),
        Rounds = [.. row.Result.Windows.Select(window => Round(window, report.Rows.Count, index))],
    };

    private static RoundRecord Round(Window window, int arms, int index) => new RoundRecord
    {
        Order = ((window.Round - 1) * arms) + Array.IndexOf(TrialOrder.Of(arms, window.Round - 1), index) + 1,
        Partial = window.IsPartial,
        Operations = window.Items,
        Seconds = window.Elapsed.TotalSeconds,
        Rate = window.Rate,
        Failures = window.Failed + window.TimedOut,
    }.With(window.Resources);

    // As the text has them: these decide whether two results may be compared.
    private static Dictionary<string, string> Settings(LoadKnobs knobs)
    {
        Dictionary<string, string> settings = new()
        {
            ["workload"] = knobs.Workload.ToString().ToLowerInvariant(),
            ["count"] = Numbers.Grouped(knobs.Count),
            ["batch_size"] = Numbers.Grouped(knobs.BatchSize),
            ["timeout"] = knobs.Timeout is { } timeout ? Numbers.Time(timeout) : "none",
            ["preserve_order"] = knobs.PreserveOrder ? "true" : "false",
            ["fail_rate"] = Numbers.Short(knobs.FailRate),
            ["trials"] = Numbers.Grouped(knobs.Trials),
            ["watched"] = knobs.Watch ? "true" : "false",
        };
        if (knobs.Grain > TimeSpan.Zero)
        {
            settings["grain"] = Numbers.Time(knobs.Grain);
        }

        if (knobs.GrainBytes > 0)
        {
            settings["grain"] = Numbers.Bytes(knobs.GrainBytes);
        }

        if (knobs.Input is { } input)
        {
            settings["input"] = input.Path;
        }

        return settings;
    }

    private static IEnumerable<Finding> Compiled(LoadReport report)
    {
        string[] rows = [.. report.Rows.Where(static r => r.Result.Resources.CompiledMethods > 0).Select(static r => $"{r.Name} {Numbers.Grouped(r.Result.Resources.CompiledMethods)}")];
        if (rows.Length > 0)
        {
            yield return new Finding(FindingLevel.Note, $"Methods were still compiled in the measured windows: {string.Join(", ", rows)}.");
        }
    }
}
