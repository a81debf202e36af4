namespace Weir.Lab.Workers;

/// <summary>What changed in the course of a run: then its figures depend on how long it was.</summary>
internal static class RunTrends
{
    private const int LeastRounds = 5;

    // Of a run without a trend one in 200 is said to have one, and no run in which it makes less than a twentieth.
    private const double Level = 0.005;
    private const double LeastChange = 0.05;

    // Of the logarithm of the share of the processors: below, the room is as good as constant.
    private const double LeastRoomVariance = 4e-4;

    // What a runtime keeps here and there, and what the figures of a round need beside its latencies.
    private const long KeptAnyway = 1 << 20;
    private const long KeptByRound = 100_000;

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
        long latencies = (run.Spec.RatePerSecond is null ? 1 : 2) * LatencyHistogram.Bytes;
        if (run.HeapGrowth > KeptAnyway + ((KeptByRound + latencies) * run.Rounds.Count) && executed > 0)
        {
            yield return new RunRemark(RunCause.Growth, Invariant(
                $"Memory is kept: after full collections {run.HeapGrowth / 1048576.0:0.0} MB more are reachable after {executed:N0} calls than before them, ")
                    + Invariant($"{(double)run.HeapGrowth / executed:0.#} B a call. It is a leak, or a cache that still fills."));
        }
    }

    // The slope of the logarithm of the rate over time, by least squares, with half its interval. Where other programs took a changing part of the
    // processors, it is the slope at equal room, because most of the differences between the rounds are theirs then.
    private static (double Slope, double Half)? Drift(WorkerRun run)
    {
        WorkerRound[] rounds = [.. run.Rounds.Where(static r => r is { IsPartial: false, Troubles.Count: 0, Rate: > 0 })];
        if (rounds.Length < LeastRounds || run.Spec.RatePerSecond is not null)
        {
            return null;
        }

        double[] at = Centered(rounds.Select(static r => r.StartSecond + (r.Seconds / 2)));
        double[] rate = Centered(rounds.Select(static r => Math.Log(r.Rate)));
        double[] room = Centered(rounds.Select(static r => r.Resources.Room is > 0 and double share ? Math.Log(share) : 0));
        int freedom = rounds.Length - 2;
        double change = at[^1] - at[0];
        if (Dot(room, room) > LeastRoomVariance * rounds.Length)
        {
            (at, rate, freedom) = (Without(room, at), Without(room, rate), freedom - 1);
        }

        double squares = Dot(at, at);
        double slope = Dot(at, rate) / squares;
        double[] left = Without(at, rate);
        double half = new StudentDistribution(freedom).Quantile(1 - (Level / 2)) * Math.Sqrt(Dot(left, left) / freedom / squares);
        return squares > 0 && Math.Abs(slope) > half && Math.Abs(slope) * change >= LeastChange ? (slope, half) : null;
    }

    private static double[] Centered(IEnumerable<double> values)
    {
        double[] all = [.. values];
        double mean = all.Average();
        return [.. all.Select(v => v - mean)];
    }

    private static double Dot(double[] left, double[] right) => left.Zip(right, static (a, b) => a * b).Sum();

    // What is left of centered values when the part that follows a variable is taken away.
    private static double[] Without(double[] variable, double[] values)
    {
        double factor = Dot(variable, values) / Dot(variable, variable);
        return [.. values.Zip(variable, (v, x) => v - (factor * x))];
    }
}
