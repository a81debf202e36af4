using System.Runtime.CompilerServices;

namespace Weir.Tables.SelfChecks;

/// <summary>Short operations, measured by the lab with one worker, by a hand-written loop with a stopwatch, and by BenchmarkDotNet.</summary>
internal static class SmallOperationsCheck
{
    private static readonly TimeSpan TryLength = TimeSpan.FromMilliseconds(1);

    public static async Task<CheckSection> RunAsync(CancellationToken cancellationToken)
    {
        SmallOperationsBenchmarks code = new();
        (string Name, Operation Operation, Action<int> Loop)[] rows =
        [
            (nameof(code.Empty), Operation.Of(code.Empty), n => LoopOfEmpty(code, n)),
            (nameof(code.Add), Operation.Of(code.Add), n => LoopOfAdd(code, n)),
            (nameof(code.TakeLock), Operation.Of(code.TakeLock), n => LoopOfLock(code, n)),
            (nameof(code.Spin), Operation.Of(code.Spin), n => LoopOfSpin(code, n)),
        ];
        Dictionary<string, double> benchmarks = BenchmarkRun.Reports([typeof(SmallOperationsBenchmarks)])
            .ToDictionary(static r => r.BenchmarkCase.Descriptor.WorkloadMethod.Name, static r => r.ResultStatistics?.Mean ?? double.NaN);
        bool isMet = true;
        string table = "| nanoseconds per operation | the lab, one worker | rounds | overhead | loop by hand | its quartiles | BenchmarkDotNet "
            + "|\n|---|---|---|---|---|---|---|\n";
        foreach ((string name, Operation operation, Action<int> loop) in rows)
        {
            // By hand before and after, so that a machine that changes its speed meanwhile shows in the quartiles.
            List<double> byHand = [.. LoopByHand.Times(loop, TryLength)];
            WorkerRunSpec spec = new() { Workload = name, Duration = TimeSpan.FromMilliseconds(200), Rounds = 5, LongestWarmUp = TimeSpan.FromSeconds(1) };
            WorkerRun run = await new WorkerRunner(spec).RunAsync(new Workload(name, _ => operation), cancellationToken);
            byHand.AddRange(LoopByHand.Times(loop, TryLength));
            (double low, double middle, double high) = LoopByHand.Quartiles(byHand);
            Spread lab = Spread.Of(run.Rates.Select(static r => 1e9 / r));
            LoopOverhead? overhead = run.Rounds[0].Overhead;
            isMet &= overhead is { IsSubtracted: false } || LoopByHand.Holds((low, middle, high), lab.Min, lab.Max);
            table += Invariant(
                $"| `{name}` | {lab.Median:0.00} | {lab.Min:0.00} to {lab.Max:0.00} | ")
                    + Invariant(
                        $"{(overhead is null ? "-" : Invariant($"{overhead.Nanoseconds:0.00} {(overhead.IsSubtracted ? "subtracted" : "included")}"))} | ")
                            + Invariant($"{middle:0.00} | {low:0.00} to {high:0.00} | {benchmarks.GetValueOrDefault(name, double.NaN):0.00} |\n");
        }

        return new CheckSection(
            Invariant($"if the lab subtracts the overhead of its loop, or need not, its rounds overlap the quartiles of a loop by hand, give or take ")
                + Invariant($"{LoopByHand.Tolerance}."),
            table + "\nAn empty operation cannot be told from the loop: the lab shows the time of its loop and subtracts nothing, and BenchmarkDotNet shows "
                + "the remainder.\n",
            isMet);
    }

    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    private static void LoopOfEmpty(SmallOperationsBenchmarks code, int count)
    {
        for (int i = 0; i < count; i++)
        {
            code.Empty();
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    private static void LoopOfAdd(SmallOperationsBenchmarks code, int count)
    {
        for (int i = 0; i < count; i++)
        {
            code.Add();
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    private static void LoopOfLock(SmallOperationsBenchmarks code, int count)
    {
        for (int i = 0; i < count; i++)
        {
            code.TakeLock();
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    private static void LoopOfSpin(SmallOperationsBenchmarks code, int count)
    {
        for (int i = 0; i < count; i++)
        {
            code.Spin();
        }
    }
}
