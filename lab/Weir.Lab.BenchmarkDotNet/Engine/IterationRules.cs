using BenchmarkDotNet.Jobs;

namespace Weir.Lab.Benchmarks.Engine;

/// <summary>How many iterations a stage has: as many as the job says, or until the figures are good enough by the job's bounds.</summary>
internal sealed class IterationRules(Job job, IResolver resolver, RunStrategy strategy)
{
    // As long as code gets faster by compiling, the times fall. Once they go up and down, only noise is left.
    private const int TurnsOfNoise = 4;
    private const int DefaultOfMonitoring = 10;

    /// <summary>Whether the warm-up needs no further iteration.</summary>
    public bool IsWarm(IReadOnlyList<Measurement> done)
    {
        int? count = job.HasValue(RunMode.WarmupCountCharacteristic) ? job.Run.WarmupCount : null;
        if (strategy == RunStrategy.Monitoring || count >= 0)
        {
            return done.Count >= Math.Max(0, count ?? 0);
        }

        return done.Count >= Resolve(RunMode.MaxWarmupIterationCountCharacteristic)
            || (done.Count >= Resolve(RunMode.MinWarmupIterationCountCharacteristic) && Turns(done) >= TurnsOfNoise);
    }

    /// <summary>Whether the measurement needs no further iteration.</summary>
    public bool IsPrecise(IReadOnlyList<Measurement> done)
    {
        if (job.HasValue(RunMode.IterationCountCharacteristic) || strategy == RunStrategy.Monitoring)
        {
            return done.Count >= (job.HasValue(RunMode.IterationCountCharacteristic) ? job.Run.IterationCount : DefaultOfMonitoring);
        }

        return done.Count >= Resolve(RunMode.MaxIterationCountCharacteristic)
            || (done.Count >= Resolve(RunMode.MinIterationCountCharacteristic) && Margin(done) is var (margin, allowed) && margin < allowed);
    }

    private static int Turns(IReadOnlyList<Measurement> done)
    {
        int turns = 0;
        int before = -1;
        for (int i = 1; i < done.Count; i++)
        {
            int now = done[i].Nanoseconds.CompareTo(done[i - 1].Nanoseconds);
            turns += now == before && now != 0 ? 0 : 1;
            before = now;
        }

        return turns;
    }

    private (double Margin, double Allowed) Margin(IReadOnlyList<Measurement> done)
    {
        RunResults results = new(done, Resolve(AccuracyMode.OutlierModeCharacteristic), default, default, 0);
        BenchmarkDotNet.Mathematics.Statistics statistics = new(results.GetWorkloadResultMeasurements().Select(static m => m.Nanoseconds));
        double allowed = Resolve(AccuracyMode.MaxRelativeErrorCharacteristic) * statistics.Mean;
        return (
            statistics.GetConfidenceInterval(Perfolizer.Mathematics.Common.ConfidenceLevel.L999).Margin,
            job.HasValue(AccuracyMode.MaxAbsoluteErrorCharacteristic) ? Math.Min(allowed, job.Accuracy.MaxAbsoluteError.Nanoseconds) : allowed);
    }

    private T Resolve<T>(Characteristic<T> characteristic) => job.ResolveValue(characteristic, resolver)!;
}
