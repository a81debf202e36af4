using Weir.Cli.Commands.Load.Options;
using Weir.Lab.Formatting;
using Weir.Lab.Results;
using Weir.Lab.Statistics;
using Weir.Lab.Suites.Peers;
using Weir.Lab.Trials;

namespace Weir.Cli.Commands.Load.Report;

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
            Source = SourceRecord.Read(),
            Settings = Settings(report.Settings),
            Arms = arms,
            Comparisons = Comparing.All(arms.Skip(1).Select(arm => (arm, arms[0])), new ComparisonOptions(), interleaved: true),
            Findings = [.. Compiled(report)],
        };
    }

    private static ArmRecord Arm(LoadRow row, LoadReport report, int index) => new()
    {
        Name = row.Choice?.Word ?? row.Name,
        Workers = row.Choice?.Size ?? (row.Name == Peer.Loop.Name ? 1 : report.Settings.PeerDegree),
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
    private static Dictionary<string, string> Settings(LoadSettings settings)
    {
        Dictionary<string, string> texts = new()
        {
            ["workload"] = settings.Workload,
            ["count"] = Numbers.Grouped(settings.Count),
            ["batch_size"] = Numbers.Grouped(settings.BatchSize),
            ["timeout"] = settings.Timeout is { } timeout ? Numbers.Time(timeout) : "none",
            ["preserve_order"] = settings.PreserveOrder ? "true" : "false",
            ["fail_rate"] = Numbers.Short(settings.FailRate),
            ["trials"] = Numbers.Grouped(settings.Trials),
            ["watched"] = settings.Watch ? "true" : "false",
        };
        if (settings.Grain > TimeSpan.Zero)
        {
            texts["grain"] = Numbers.Time(settings.Grain);
        }

        if (settings.GrainBytes > 0)
        {
            texts["grain"] = Numbers.Bytes(settings.GrainBytes);
        }

        if (settings.Input is { } input)
        {
            texts["input"] = input.Path;
        }

        return texts;
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
