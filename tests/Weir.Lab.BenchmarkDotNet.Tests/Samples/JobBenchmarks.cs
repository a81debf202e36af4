using BenchmarkDotNet.Attributes;
using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Toolchains.InProcess.Emit;

namespace Weir.Lab.Benchmarks.Tests.Samples;

/// <summary>Two jobs side by side, of which one is the baseline.</summary>
[Config(typeof(Jobs))]
public class JobBenchmarks
{
    public const string Few = "few";
    public const string Many = "many";

    public const string Description = "new byte[1000]";

    [Benchmark(Description = Description)]
    public byte[] Allocate() => new byte[1_000];

    private sealed class Jobs : ManualConfig
    {
        public Jobs()
        {
            Job job = Job.Dry.WithToolchain(InProcessEmitToolchain.Instance).WithStrategy(BenchmarkDotNet.Engines.RunStrategy.Throughput).WithUnrollFactor(1)

                // One iteration less the time of empty calls that were held up would be nothing, and have no ratio.
                .WithEvaluateOverhead(false);
            AddJob(job.WithInvocationCount(1_000).WithId(Few).AsBaseline(), job.WithInvocationCount(4_000).WithId(Many));
        }
    }
}
