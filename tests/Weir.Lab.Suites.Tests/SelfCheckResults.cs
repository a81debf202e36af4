using Weir.Lab.Results;
using Weir.Lab.Statistics;

namespace Weir.Lab.Suites.Tests;

/// <summary>Results as the commands of a check of the lab by itself have them. Nothing of them was measured.</summary>
internal static class SelfCheckResults
{
    public static readonly Finding Unquiet = Finding.Noise(0.5).Single();

    public static ResultFile Of(params ComparisonRecord[] comparisons) => Of(DateTimeOffset.UnixEpoch) with { Comparisons = comparisons };

    public static ResultFile With(params Finding[] findings) => Of(DateTimeOffset.UnixEpoch) with { Findings = findings };

    public static ResultFile Profiled(params ArmRecord[] arms) => Of(DateTimeOffset.UnixEpoch) with { Arms = arms };

    public static ResultFile Of(DateTimeOffset startedAt) => new()
    {
        Command = "run",
        Arguments = ["run"],
        Work = "work",
        Unit = "operations",
        StartedAt = startedAt,
        Seconds = 10,
        Machine = MachineRecord.Read() with { Cores = 2, Hash = "one" },
    };

    /// <summary>An arm with some rounds of one rate, and a profile with stacks of work and of waiting.</summary>
    public static ArmRecord Arm(double rate, double profiled, (string Frames, int Samples)[] work, params (string Frames, int Samples)[] waits) => new()
    {
        Name = "arm",
        Workers = 1,
        Rounds = [.. Enumerable.Range(1, 3).Select(i => new RoundRecord { Order = i, Operations = 100, Seconds = 1, Rate = rate })],
        Profile = new ProfileRecord
        {
            Seconds = 1,
            Rate = profiled,
            Stacks = [.. work.Select(static s => new ProfileStack(s.Frames, s.Samples))],
            Waits = [.. waits.Select(static s => new ProfileStack(s.Frames, s.Samples))],
        },
    };

    public static ComparisonRecord Compared(ComparedFigure figure, Verdict verdict, double low = 0.9, double high = 1.1) => new()
    {
        Arm = "b x 1",
        Against = "a x 1",
        Figure = figure,
        Ratio = 1,
        Low = low,
        High = high,
        P = 0.5,
        Margin = 0.03,
        Alpha = 0.01,
        Pairs = 6,
        Looks = 1,
        Verdict = verdict,
    };
}
