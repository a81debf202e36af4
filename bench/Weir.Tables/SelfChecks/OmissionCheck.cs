namespace Weir.Tables.SelfChecks;

/// <summary>One stall of half a second, as seen by a worker that waits for it and by users who keep arriving.</summary>
internal static class OmissionCheck
{
    private const double Rate = 1_000;
    private const double LeastFactor = 10;
    private static readonly TimeSpan Length = TimeSpan.FromSeconds(3);
    private static readonly TimeSpan Call = TimeSpan.FromMilliseconds(0.3);
    private static readonly TimeSpan Stall = TimeSpan.FromMilliseconds(500);

    public static async Task<CheckSection> RunAsync(CancellationToken cancellationToken)
    {
        WorkerRun closed = await MeasureAsync(null, cancellationToken);
        WorkerRun open = await MeasureAsync(Rate, cancellationToken);
        LatencySummary service = closed.Service!;
        LatencySummary response = open.Response!;
        double factor = (double)response.P99 / Math.Max(1, service.P99);
        string table = "| latency in ms | p50 | p90 | p99 | max | calls |\n|---|---|---|---|---|---|\n"
            + Row("closed loop: the worker starts when it is free", service)
            + Row(Invariant($"{Rate:N0} starts a second, from the real start"), open.Service!)
            + Row(Invariant($"{Rate:N0} starts a second, from the intended start"), response)
            + Invariant(
                $"\nThe closed loop's p99 is {factor:N0} times too small: it made one call in the half second in which {Stall.TotalSeconds * Rate:N0} were ")
                    + Invariant(
                        $"due. Generator lateness p99 {open.Rounds[0].Pacing!.LatenessP99 / 1e6:0.0} ms, late starts {open.Rounds[0].Pacing!.LateStarts}.\n");
        return new CheckSection(
            Invariant($"a single stall of {Stall.TotalMilliseconds:0} ms in {Length.TotalSeconds:0} s of calls of {Call.TotalMilliseconds:0.0} ms shows in ")
                + Invariant($"the p99 from the intended start, and not in the p99 of the closed loop (a factor of at least {LeastFactor:0})."),
            table,
            factor >= LeastFactor);
    }

    private static Task<WorkerRun> MeasureAsync(double? rate, CancellationToken cancellationToken)
    {
        CalibratedSpin call = CalibratedSpin.Of(Call, CalibratedSpin.MeasureStepsPerSecond());
        long start = 0;
        int stalled = 0;
        Workload workload = new("stall", _ => Operation.Of(() =>
        {
            if (Stopwatch.GetElapsedTime(Volatile.Read(ref start)) > Length / 2 && Interlocked.Exchange(ref stalled, 1) == 0)
            {
                Thread.Sleep(Stall);
            }

            return call.Run(1);
        }))
        {
            BeginRound = () =>
            {
                start = Stopwatch.GetTimestamp();
                stalled = 0;
            },
        };
        WorkerRunSpec spec = new() { Workload = workload.Name, RatePerSecond = rate, Duration = Length, Rounds = 1, LongestWarmUp = TimeSpan.Zero };
        return new WorkerRunner(spec).RunAsync(workload, cancellationToken);
    }

    private static string Row(string name, LatencySummary latency) =>
        Invariant($"| {name} | {latency.P50 / 1e6:0.0000} | {latency.P90 / 1e6:0.0000} | {latency.P99 / 1e6:0.0000} | {latency.Max / 1e6:0.0} | ")
            + Invariant($"{latency.Count:N0} |\n");
}
