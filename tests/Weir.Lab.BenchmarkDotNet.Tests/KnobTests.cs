using BenchmarkDotNet.Engines;
using BenchmarkDotNet.Reports;
using Weir.Lab.Benchmarks.Tests.Samples;
using Weir.Lab.Benchmarks.Tests.Support;

namespace Weir.Lab.Benchmarks.Tests;

/// <summary>The knobs of BenchmarkDotNet's stages, each turned once: its report has what was asked for.</summary>
public class KnobTests
{
    private const int Limit = 300_000;

    [Theory(Timeout = Limit)]
    [InlineData("--warmupCount 3 --iterationCount 1", IterationStage.Warmup, 3, 3)]
    [InlineData("--minWarmupCount 2 --maxWarmupCount 4 --iterationCount 1", IterationStage.Warmup, 2, 4)]
    [InlineData("--warmupCount 1 --iterationCount 4", IterationStage.Actual, 4, 4)]
    [InlineData("--warmupCount 1 --minIterationCount 3 --maxIterationCount 5", IterationStage.Actual, 3, 5)]
    public async Task Iterations_OfAStage_AreAsManyAsAsked(string knobs, IterationStage stage, int least, int most)
    {
        using BenchmarkRun run = await RunAsync(typeof(PlainBenchmarks), $"--iterationTime 10 {knobs}");

        Assert.InRange(Workload(run, stage).Length, least, most);
    }

    [Fact(Timeout = Limit)]
    public async Task Launches_AreAsManyAsAsked()
    {
        using BenchmarkRun run = await RunAsync(typeof(PlainBenchmarks), "--iterationTime 10 --launchCount 2 --warmupCount 1 --iterationCount 1");

        Assert.Equal(2, Workload(run, IterationStage.Actual).Length);
    }

    [Fact(Timeout = Limit)]
    public async Task Invocations_OfAnIteration_AreAsManyAsAskedWithoutAPilot()
    {
        using BenchmarkRun run = await RunAsync(typeof(PlainBenchmarks), "--invocationCount 320 --unrollFactor 32 --warmupCount 1 --iterationCount 2");

        Assert.All(Workload(run, IterationStage.Actual), static m => Assert.Equal(320, m.Operations));
        Assert.Empty(Workload(run, IterationStage.Pilot));
        Assert.Equal(32, run.Summary.BenchmarksCases[0].Job.Run.UnrollFactor);
    }

    [Theory(Timeout = Limit)]
    [InlineData("", true)]
    [InlineData("--noOverheadEvaluation", false)]
    public async Task Overhead_IsMeasuredUnlessTurnedOff(string knob, bool isMeasured)
    {
        using BenchmarkRun run = await RunAsync(typeof(PlainBenchmarks), $"--invocationCount 1600 --warmupCount 1 --iterationCount 2 {knob}");

        Assert.Equal(isMeasured, HasOverhead(run));
    }

    [Theory(Timeout = Limit)]
    [InlineData("", true)]
    [InlineData("--noForcedGCs", false)]
    public async Task Collections_BetweenIterations_AreForcedUnlessTurnedOff(string knob, bool isForced)
    {
        using BenchmarkRun run = await RunAsync(typeof(PlainBenchmarks), $"--invocationCount 1600 --warmupCount 1 --iterationCount 2 {knob}");

        Assert.Equal(isForced, run.Summary.BenchmarksCases[0].Job.ResolveValue(BenchmarkDotNet.Jobs.GcMode.ForceCharacteristic, true));
    }

    [Fact(Timeout = Limit)]
    public async Task Pilot_BeginsWithTheLeastInvocationsAndEndsAtTheLeastTime()
    {
        // BenchmarkDotNet begins with less, or has no pilot, if the first call takes a sixteenth of an iteration, as one that is held up does. That it was not
        // held up shows in the overhead, which is measured then.
        using BenchmarkRun run = await BenchmarkRun.RepeatedAsync(
            static () => RunAsync(typeof(KnobBenchmarks), "--warmupCount 1 --minIterationCount 3 --maxIterationCount 9"), HasOverhead);
        Measurement[] pilot = Workload(run, IterationStage.Pilot);
        Assert.Equal(KnobBenchmarks.Invocations, pilot[0].Operations);
        Assert.InRange(pilot[^1].Nanoseconds, KnobBenchmarks.Milliseconds * 1e6, double.MaxValue);
        Assert.All(pilot[..^1], static m => Assert.InRange(m.Nanoseconds, 0, KnobBenchmarks.Milliseconds * 1e6));

        // A relative error of a thousand times the mean is always met.
        Assert.Equal(3, Workload(run, IterationStage.Actual).Length);
    }

    [Fact(Timeout = Limit)]
    public async Task AbsoluteError_ThatIsNeverMet_LastsForAllIterations()
    {
        using BenchmarkRun run = await RunAsync(typeof(PreciseBenchmarks), "--iterationTime 10 --warmupCount 1 --minIterationCount 3 --maxIterationCount 6");

        Assert.Equal(6, Workload(run, IterationStage.Actual).Length);
    }

    private static async Task<BenchmarkRun> RunAsync(Type type, string knobs)
    {
        BenchmarkRun run = await BenchmarkRun.InProcessAsync(
            type, ["--filter", "*Allocate*", .. knobs.Split(' ', StringSplitOptions.RemoveEmptyEntries)]);
        run.AssertAllSucceeded();
        return run;
    }

    private static bool HasOverhead(BenchmarkRun run) =>
        run.Summary.Reports[0].AllMeasurements.Any(static m => m is { IterationMode: IterationMode.Overhead, IterationStage: IterationStage.Actual });

    private static Measurement[] Workload(BenchmarkRun run, IterationStage stage) =>
        [.. run.Summary.Reports[0].AllMeasurements.Where(m => m.IterationMode == IterationMode.Workload && m.IterationStage == stage)];
}
