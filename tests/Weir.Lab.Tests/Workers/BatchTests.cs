using Weir.Lab.Latency;
using Weir.Lab.Workers;
using Weir.TestKit;

namespace Weir.Lab.Tests.Workers;

/// <summary>Short operations, of which several go between two looks at the clock.</summary>
public class BatchTests
{
    private const int Batch = 8;

    [Theory(Timeout = 300_000)]
    [InlineData(1)]
    [InlineData(3)]
    public async Task Window_ShortOperations_TimesEachBatch(int workers)
    {
        WindowOutcome outcome = await RunAsync(PlanOf(Batch), workers);

        Assert.Equal(Batch, Assert.Single(outcome.Groups()).SampleEvery);
        Assert.Equal(outcome.Operations / Batch, outcome.BatchTimes!.Count);
        Assert.Equal(outcome.Operations, outcome.BatchTimes.Count * Batch);
    }

    // As where there are more workers than histograms.
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void RecordBatch_OwnHistogramOrShared_IsRecorded(bool isShared)
    {
        LatencyHistogram batches = new();

        new LatencyRecorder(new LatencyHistogram(), null, batches, isShared).RecordBatch(700);

        Assert.Equal((1, 700), (batches.Count, batches.Max));
    }

    [Fact(Timeout = 300_000)]
    public async Task Window_AsynchronousOperations_TimesEachBatch()
    {
        WindowOutcome outcome = await RunAsync(PlanOf(Batch), workers: 2, static _ => Operation.Of(static () => Task.CompletedTask));

        Assert.Equal(outcome.Operations, outcome.BatchTimes!.Count * Batch);
    }

    [Fact(Timeout = 300_000)]
    public async Task Window_EachOperationIsTimed_HasNoBatches()
    {
        WindowOutcome outcome = await RunAsync(PlanOf(1), workers: 1);

        Assert.Equal(1, Assert.Single(outcome.Groups()).SampleEvery);
        Assert.Null(outcome.BatchTimes);
    }

    [Fact(Timeout = 300_000)]
    public async Task Window_TakesNoTurns_KeepsNoBatches()
    {
        WindowOutcome outcome = await Task.Run(
            () => WindowRunner.Run(SpecOf(1) with { TakesTurns = false }, Nothing(), PlanOf(Batch), CancellationToken.None)).WithinAsync("the window");

        Assert.Equal(Batch, Assert.Single(outcome.Groups()).SampleEvery);
        Assert.Null(outcome.BatchTimes);
    }

    [Fact(Timeout = 300_000)]
    public async Task Window_SeveralGroups_HasNoBatchesOfOneSize()
    {
        WorkerRunSpec spec = SpecOf(1) with { Groups = [new WorkerGroup("a", 1), new WorkerGroup("b", 1)] };
        WindowPlan plan = new(1, TimeSpan.FromMilliseconds(20), new Dictionary<string, int> { ["a"] = Batch, ["b"] = 2 * Batch });

        WindowOutcome outcome = await Task.Run(() => WindowRunner.Run(spec, Nothing(), plan, CancellationToken.None)).WithinAsync("the window");

        Assert.Equal([Batch, 2 * Batch], outcome.Groups().Select(static g => g.SampleEvery));
        Assert.Null(outcome.BatchTimes);
    }

    [Fact(Timeout = 300_000)]
    public async Task Window_IsPractice_LetsThreadsWaitAfterOneBatch()
    {
        const int workers = 3;
        WindowOutcome outcome = await RunAsync(PlanOf(Batch) with { IsPractice = true }, workers);

        // However long it is.
        Assert.Equal(workers * Batch, outcome.Operations);
        Assert.False(outcome.IsStuck);
        Assert.False(outcome.IsPartial);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_OthersThatTakeTurnsHaveAnotherBatch_TakesIt()
    {
        const int agreed = 37;
        Agreeing others = new(agreed);
        WorkerRunSpec spec = SpecOf(1) with { Rounds = 3, LongestWarmUp = TimeSpan.FromMilliseconds(1), MostRepeats = 0 };

        WorkerRun run = await new WorkerRunner(spec, others).RunAsync(Nothing()).WithinAsync("the run");

        Assert.Equal([agreed, agreed, agreed], run.Rounds.Select(static r => Assert.Single(r.Groups).SampleEvery));

        // A power of two, so it is not by chance that of the others.
        Assert.Equal(1, System.Numerics.BitOperations.PopCount((uint)others.Own!.Value));
    }

    private static Task<WindowOutcome> RunAsync(WindowPlan plan, int workers, Func<WorkerContext, Operation>? operation = null) => Task.Run(
        () => WindowRunner.Run(SpecOf(workers), operation is null ? Nothing() : new Workload("some", operation), plan, CancellationToken.None))
        .WithinAsync("the window");

    private static WorkerRunSpec SpecOf(int workers) => new()
    {
        Workload = "nothing", Groups = [new WorkerGroup(WorkerRunSpec.DefaultGroup, workers)], Duration = TimeSpan.FromMilliseconds(20),
        TakesTurns = true,
    };

    private static WindowPlan PlanOf(int batch) =>
        new(1, TimeSpan.FromMilliseconds(20), new Dictionary<string, int> { [WorkerRunSpec.DefaultGroup] = batch });

    private static Workload Nothing() => new("nothing", static _ => Operation.Of(static () => { }));

    private sealed class Agreeing(int? agreed) : IRunObserver
    {
        public int? Own { get; private set; }

        public int? Batch => agreed;

        public void WarmedUp(int? batch) => Own = batch;
    }
}
