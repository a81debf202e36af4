namespace Weir.Lab.Workers;

/// <summary>Whether the figures of a run can be relied on.</summary>
internal static class RunChecks
{
    private const double LatenessShare = 0.10;
    private const double StealShare = 0.01;
    private const double BusyShare = 0.95;
    private const double IdleShare = 0.5;

    // No generator that sleeps keeps to less than this, and at high rates a tenth of the interval would ask for it.
    private const long LeastLateness = 200_000;

    /// <summary>Whether the compiler was at work for more of a round than goes unnoticed.</summary>
    public static bool WasCompiling(WorkerRound round, WorkerRunSpec spec) => round.CompilingShare > spec.MostCompiling;

    /// <summary>Why the figures are invalid; none when they are valid.</summary>
    public static List<string> Troubles(WorkerRun run)
    {
        List<string> troubles = [];
        if (!run.Rounds.Any(static r => r.Operations > 0))
        {
            troubles.Add("No operation was completed in a measured window.");
        }

        troubles.AddRange(run.Rounds.SelectMany(static r => r.Troubles.Select(t => Invariant($"Round {r.Round}: {t}"))));
        troubles.AddRange(Shared(run).Select(static t => t.Text));
        return troubles;
    }

    /// <summary>Of the troubles those that no single round has.</summary>
    public static List<RunRemark> Shared(WorkerRun run)
    {
        List<RunRemark> troubles = [];
        double seconds = run.Rounds.Sum(static r => r.Seconds);
        double compiling = run.Rounds.Sum(static r => r.Resources.CompilationTime.TotalSeconds);

        // A run that was given up has no figures that this could spoil: it stood still while everything was new. Where rounds are many and short, those are
        // left out of which it is true.
        if (!run.IsStuck && !run.Spec.TakesTurns && compiling > seconds * run.Spec.MostCompiling)
        {
            long methods = run.Rounds.Sum(static r => r.Resources.CompiledMethods);
            troubles.Add(new RunRemark(RunCause.Compiled,
                Invariant($"{methods} methods were compiled during the measurement, for {compiling / seconds:P1} of the time: the code was not warm.")));
        }

        if (run.Spec.RatePerSecond is double rate)
        {
            long limit = Math.Max((long)(1e9 / rate * LatenessShare), LeastLateness);
            long late = run.Rounds.Select(static r => r.Pacing?.LatenessP99 ?? 0).Order().ElementAtOrDefault(run.Rounds.Count / 2);
            if (late > limit)
            {
                troubles.Add(new RunRemark(RunCause.LateGenerator,
                    Invariant($"The generator was late: p99 {late / 1e3:0} us, more than {limit / 1e3:0} us. The machine cannot make this rate steadily.")));
            }

            if (run.Rounds.Sum(static r => r.Pacing?.Unfinished ?? 0) is > 0 and long unfinished && !run.IsPartial)
            {
                troubles.Add(new RunRemark(RunCause.Unfinished, Invariant(
                    $"{unfinished:N0} operations had not ended {run.Spec.DrainLimit.TotalSeconds:0.#} s after the window; the slowest are missing from the ")
                        + Invariant($"percentiles.")));
            }
        }

        return troubles;
    }

    /// <summary>What to keep in mind; none when nothing.</summary>
    public static List<RunRemark> Warnings(WorkerRun run)
    {
        List<RunRemark> warnings = [];
        double variation = run.Rounds.Select(static r => r.Canary.Variation).Append(run.CanaryAfter.Variation).Max();
        if (variation > Weir.Lab.Resources.Canary.QuietVariation)
        {
            warnings.Add(
                new RunRemark(RunCause.NotQuiet, Invariant($"The machine was not quiet: the canary varied by {variation:P1}. Trust the sign, not the size.")));
        }

        if (run.Repeats > 0)
        {
            warnings.Add(new RunRemark(RunCause.Repeated, Repeated(run.Repeats, "the canary was disturbed around")));
        }

        if (run.Spec is { SubtractsOverhead: true, Workers: 1 } && run.Rounds.Any(static r => r.Overhead is { } o && !o.CanBeSubtractedFrom(r.Rate))
            && !run.Rounds.Any(static r => r.Overhead is { IsSubtracted: true }))
        {
            warnings.Add(new RunRemark(RunCause.TooShort,
                "The operation cannot be told from an empty one; the rate is that of the measuring loop, and nothing was subtracted."));
        }

        if (run.ColdRounds > 0 && !run.Spec.TakesTurns)
        {
            warnings.Add(new RunRemark(RunCause.ColdRounds, Repeated(run.ColdRounds, "code was still being compiled in")));
        }

        if (run.CpuQuota is double quota && quota < run.Cores)
        {
            warnings.Add(new RunRemark(
                RunCause.CpuQuota, Invariant($"The control group may use {quota:0.##} processors, fewer than the {run.Cores} that .NET counts.")));
        }

        double seconds = Math.Max(run.Rounds.Sum(static r => r.Seconds), 1e-9);
        double steal = run.Rounds.Sum(static r => r.Resources.Kernel.Steal?.TotalSeconds ?? 0) / seconds / run.Cores;
        if (steal > StealShare)
        {
            warnings.Add(new RunRemark(RunCause.Steal, Invariant($"The hypervisor gave {steal:P1} of the processor time to others.")));
        }

        if (run.Rounds.Sum(static r => r.Resources.Kernel.ThrottledPeriods ?? 0) is > 0 and long throttled)
        {
            warnings.Add(new RunRemark(RunCause.Throttled, Invariant($"The processor quota of the control group was used up in {throttled:N0} periods.")));
        }

        if (!run.WasSteady && !run.IsPartial && !run.IsStuck && !run.Spec.TakesTurns)
        {
            warnings.Add(new RunRemark(RunCause.NotSteady, "The rate was not steady when the warm-up ended."));
        }

        if (run.EarlyError is { } early)
        {
            warnings.Add(new RunRemark(RunCause.EarlyFailures, Invariant(
                $"In the warm-up {run.EarlyFailures:N0} operations failed, the first with {early.GetType().Name}: {early.Message}")));
        }

        warnings.AddRange(RunTrends.Of(run));
        WorkerRound[] starved = [.. run.Rounds.Where(r => r.Resources.PoolPending > r.Resources.PoolThreads && r.Cores < run.Cores * IdleShare)];
        if (starved.Length > 0 && starved.Length * 2 > run.Rounds.Count)
        {
            warnings.Add(new RunRemark(RunCause.StarvedPool, Invariant(
                $"The pool is starved: up to {starved.Max(static r => r.Resources.PoolPending):N0} work items waited for its ")
                    + Invariant($"{starved.Max(static r => r.Resources.PoolThreads)} threads, which used {starved.Average(static r => r.Cores):0.0} of ")
                    + Invariant($"{run.Cores} processors. Operations block threads of the pool, such as by waiting for a task; a profile shows where.")));
        }

        if (!run.IsCleanedUp)
        {
            warnings.Add(new RunRemark(RunCause.NotCleanedUp, Invariant(
                $"The clean-up of the workload had not ended after {run.Spec.DrainLimit.TotalSeconds:0.#} s and was abandoned.")));
        }

        if (run.Spec.RatePerSecond is not null && run.Rounds.Any(r => r.Cores > run.Cores * BusyShare))
        {
            warnings.Add(new RunRemark(RunCause.BusyGenerator, "All processors were busy; the load generator shares them with the measured code."));
        }

        if (run.Rounds.Sum(static r => r.Pacing?.Dropped ?? 0) is > 0 and long dropped)
        {
            warnings.Add(
                new RunRemark(RunCause.Dropped, Invariant($"{dropped:N0} starts were dropped, because {run.Spec.MaxInFlight} operations were in flight.")));
        }

        return warnings;
    }

    private static string Repeated(int rounds, string why) =>
        rounds == 1 ? $"1 round was repeated, because {why} it." : Invariant($"{rounds} rounds were repeated, because {why} them.");
}

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
                    + Invariant($"{Math.Abs(slope) + half:P1}]: no moment had the median rate. Something grows or wears out, or the machine changed."));
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
