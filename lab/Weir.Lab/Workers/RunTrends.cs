using Perfolizer.Mathematics.Distributions.ContinuousDistributions;
using static System.FormattableString;

namespace Weir.Lab.Workers;

/// <summary>What changed in the course of a run: then its figures depend on how long it was.</summary>
internal static class RunTrends
{
    private const int LeastRounds = 5;

    // Of a run without a trend one in 200 is said to have one, and no run in which it makes less than a twentieth.
    private const double Level = 0.005;
    private const double LeastChange = 0.05;

    // What the figures of the rounds themselves need, and what a runtime keeps here and there.
    private const long KeptAnyway = 1 << 20;
    private const long KeptByRound = 100_000;

    /// <summary>What the run remarks.</summary>
    public static IEnumerable<RunRemark> Of(WorkerRun run)
    {
        if (run.Spec.TakesTurns || run.IsStuck)
        {
            yield break;
        }

        if (Drift(run) is var (slope, half) && slope != 0)
        {
            yield return new RunRemark(RunCause.Drift, Invariant(
                $"The rate {(slope < 0 ? "fell" : "rose")} by {Math.Abs(slope):P1} a second throughout the run [{Math.Abs(slope) - half:P1}..")
                    + Invariant($"{Math.Abs(slope) + half:P1}]: the median is that of no moment. Something grows or wears out, or the machine changed."));
        }

        long executed = run.ExecutedBetweenHeaps;
        if (run.HeapGrowth > KeptAnyway + (KeptByRound * run.Rounds.Count) && executed > 0)
        {
            yield return new RunRemark(RunCause.Growth, Invariant(
                $"Memory is kept: after full collections {run.HeapGrowth / 1048576.0:0.0} MB more are reachable after {executed:N0} calls than before them, ")
                    + Invariant($"{(double)run.HeapGrowth / executed:0.#} B a call. It is a leak, or a cache that still fills."));
        }
    }

    // The slope of the logarithm of the rate over time, by least squares, with half its interval.
    private static (double Slope, double Half)? Drift(WorkerRun run)
    {
        (double At, double Rate)[] points =
        [
            .. run.Rounds.Where(static r => r is { IsPartial: false, Troubles.Count: 0, Rate: > 0 })
                .Select(static r => (r.StartSecond + (r.Seconds / 2), Math.Log(r.Rate))),
        ];
        if (points.Length < LeastRounds || run.Spec.RatePerSecond is not null)
        {
            return null;
        }

        double at = points.Average(static p => p.At);
        double rate = points.Average(static p => p.Rate);
        double squares = points.Sum(p => (p.At - at) * (p.At - at));
        double slope = points.Sum(p => (p.At - at) * (p.Rate - rate)) / squares;
        double left = points.Sum(p => Math.Pow(p.Rate - rate - (slope * (p.At - at)), 2));
        double half = new StudentDistribution(points.Length - 2).Quantile(1 - (Level / 2)) * Math.Sqrt(left / (points.Length - 2) / squares);
        double change = Math.Abs(slope) * (points[^1].At - points[0].At);
        return squares > 0 && Math.Abs(slope) > half && change >= LeastChange ? (slope, half) : null;
    }
}
