using BenchmarkDotNet.Engines;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Reports;
using Weir.Lab.Benchmarks.Engine;

namespace Weir.Lab.Benchmarks.Tests;

public class IterationRulesTests
{
    private const int Most = 200;

    [Theory]
    [InlineData(3, 3)]
    [InlineData(0, 0)]
    public void WarmUp_OfANumber_HasThatNumber(int count, int expected) =>
        Assert.Equal(expected, Warm(Job.Default.WithWarmupCount(count), RunStrategy.Throughput, static _ => 1));

    [Fact]
    public void WarmUp_WithoutANumber_LastsWhileTheTimesFall()
    {
        int noisy = Warm(Job.Default, RunStrategy.Throughput, static i => 100 + (i % 2));
        int falling = Warm(Job.Default, RunStrategy.Throughput, static i => i < 20 ? 100 - i : 80 + (i % 2));

        Assert.InRange(noisy, 6, 8);
        Assert.InRange(falling, 21, 26);
        Assert.Equal(50, Warm(Job.Default, RunStrategy.Throughput, static i => 1000 - i));
        Assert.Equal(0, Warm(Job.Default, RunStrategy.Monitoring, static _ => 1));
    }

    [Fact]
    public void Measurement_WithoutANumber_LastsUntilItIsPrecise()
    {
        Assert.Equal(15, Precise(Job.Default, RunStrategy.Throughput, static i => 100 + (i % 2)));
        Assert.Equal(100, Precise(Job.Default, RunStrategy.Throughput, static i => 100 * (1 + (i % 2))));
        Assert.Equal(7, Precise(Job.Default.WithIterationCount(7), RunStrategy.Throughput, static i => 100 * (1 + (i % 2))));
        Assert.Equal(10, Precise(Job.Default, RunStrategy.Monitoring, static i => 100 * (1 + (i % 2))));
    }

    private static int Warm(Job job, RunStrategy strategy, Func<int, double> time) => Count(Rules(job, strategy).IsWarm, IterationStage.Warmup, time);

    private static int Precise(Job job, RunStrategy strategy, Func<int, double> time) => Count(Rules(job, strategy).IsPrecise, IterationStage.Actual, time);

    private static IterationRules Rules(Job job, RunStrategy strategy) => new(job, EngineParameters.DefaultResolver, strategy);

    private static int Count(Func<IReadOnlyList<Measurement>, bool> isEnough, IterationStage stage, Func<int, double> time)
    {
        List<Measurement> done = [];
        while (done.Count < Most && !isEnough(done))
        {
            done.Add(new Measurement(0, IterationMode.Workload, stage, done.Count + 1, 1, time(done.Count)));
        }

        return done.Count;
    }
}
