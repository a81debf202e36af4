using Weir.Lab.Benchmarks.Reporting;
using Weir.Lab.Benchmarks.Results;

namespace Weir.Tables.SelfChecks;

/// <summary>Measures one asynchronous benchmark by BenchmarkDotNet alone, and under one and eight workers.</summary>
internal static class ScalingCheck
{
    private const double LeastFactor = 2;

    public static CheckSection Run()
    {
        string table = "| benchmark | workers | operations per second | CPU | bytes per operation |\n|---|---|---|---|---|\n";
        double plain = 0;
        double many = 0;
        foreach (BenchmarkReport report in BenchmarkRun.Reports([typeof(PlainYieldBenchmarks), typeof(WorkersYieldBenchmarks)]))
        {
            double rate = report.ResultStatistics is { } statistics ? 1e9 / statistics.Mean : 0;
            WorkersResult? result = WorkersDiagnoser.Instance.ResultOf(report.BenchmarkCase);
            plain = result is null ? rate : plain;
            many = result is { Workers: > 1 } ? rate : many;
            table += result is null
                ? Invariant($"| BenchmarkDotNet alone | - | {rate:N0} | | |\n")
                : Invariant($"| [Workers({result.Workers})] | {result.Workers} | {rate:N0} | {result.Cores:P0} | {result.BytesPerOperation:0} |\n");
        }

        return new CheckSection(
            Invariant($"`await Task.Yield()` with eight workers runs at least {LeastFactor:0} times as often per second as with BenchmarkDotNet alone, which ")
                + Invariant($"blocks a thread for each call."),
            table,
            many >= LeastFactor * plain);
    }
}
