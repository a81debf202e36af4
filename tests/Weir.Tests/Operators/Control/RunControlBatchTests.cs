using System.Collections.Concurrent;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Control;

/// <summary>What becomes of the items of batches when their run is paused and softly stopped.</summary>
public sealed class RunControlBatchTests : IDisposable
{
    private static readonly SourceKind[] Kinds = [SourceKind.Lazy, SourceKind.AsyncImmediate, SourceKind.AsyncSuspending];

    private readonly Gate _source = new();
    private readonly Gate _items = new();
    private readonly RunControl _control = new();
    private readonly ConcurrentQueue<string> _batches = [];

    public enum Form
    {
        List,

        Stream,

        KeyedList,

        KeyedStream,
    }

    public static MatrixTheoryData<Form, SourceKind> Grid => new(Enum.GetValues<Form>(), Kinds);

    /// <summary>Before the last two items of the second batch, and before the last one.</summary>
    public static MatrixTheoryData<Form, SourceKind, int> PausedGrid => new(Enum.GetValues<Form>(), Kinds, [6, 7]);

    public static MatrixTheoryData<Form, int> Limits => new(Enum.GetValues<Form>(), [1, 4]);

    public void Dispose()
    {
        _source.Dispose();
        _items.Dispose();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Limits))]
    public async Task Stop_WhileABatchFills_MakesALastBatchOfWhatWasRead(Form form, int limit)
    {
        TestSource source = TestSource.Of(SourceKind.AsyncImmediate, new SourcePlan { Count = 20, WaitsAt = 6, Gate = _source });
        Task run = await BeginAsync(form, source, waitsAt: 6, limit);
        _control.Stop();
        await run.WithinAsync();
        Assert.Equal(["0 1 2 3", "4 5"], _batches.Order());
        Assert.Equal((2, 0), (_control.Snapshot().Succeeded, _control.Snapshot().RunningRuns));
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Grid))]
    public async Task Stop_WhileTheSourceGoesOnWithItsStep_PutsItsItemIntoTheLastBatch(Form form, SourceKind kind)
    {
        TestSource source = TestSource.Of(kind, new SourcePlan { Count = 20, WaitsAt = 6, Gate = _source, IgnoresToken = true });
        Task run = await BeginAsync(form, source, waitsAt: 6);
        _control.Stop();
        await Guard.SettleAsync();
        Assert.False(run.IsCompleted);
        _source.Open();
        await run.WithinAsync();
        Assert.Equal(["0 1 2 3", "4 5 6"], _batches.Order());
        Assert.Equal(7, source.Record.Reads);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(PausedGrid))]
    public async Task Stop_OfAPausedRun_BeginsWhatWasRead(Form form, SourceKind kind, int waitsAt)
    {
        TestSource source = TestSource.Of(kind, new SourcePlan { Count = 20, WaitsAt = waitsAt, Gate = _source, IgnoresToken = true });
        Task run = await BeginAsync(form, source, waitsAt);
        _control.Pause();
        _source.Open();
        await Guard.SettleAsync();
        Assert.Single(_batches);
        Assert.Equal(waitsAt + 1, source.Record.Reads);
        _control.Stop();
        await run.WithinAsync();
        Assert.Equal(["0 1 2 3", waitsAt == 6 ? "4 5 6" : "4 5 6 7"], _batches.Order());
        Assert.Equal(waitsAt + 1, source.Record.Reads);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(Form.KeyedList)]
    [InlineData(Form.KeyedStream)]
    public async Task Stop_WhileBatchesWaitForTheirKey_BeginsThemInTheirTurn(Form form)
    {
        TestSource source = TestSource.Of(SourceKind.AsyncImmediate, new SourcePlan { Count = 40, WaitsAt = 10, Gate = _source });
        Task run = RunAsync(form, source, limit: 4, waits: true, keyOf: static _ => 0);
        await Guard.UntilAsync(() => source.Record.Reads == 11 && _batches.Count == 1, "the wait inside the third batch");
        _control.Stop();
        await Guard.SettleAsync();
        _items.Open();
        await run.WithinAsync();
        Assert.Equal(["0 1 2 3", "4 5 6 7", "8 9"], _batches);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(Form.KeyedList)]
    [InlineData(Form.KeyedStream)]
    public async Task Stop_AndTheKeyOfTheLastBatchThrows_FailsTheRun(Form form)
    {
        TestSource source = TestSource.Of(SourceKind.AsyncImmediate, new SourcePlan { Count = 40, WaitsAt = 6, Gate = _source });
        Task run = await BeginAsync(form, source, waitsAt: 6, keyOf: static batch => batch[0] == 4 ? throw new TestException("key") : 0);
        _control.Stop();
        await Assert.ThrowsAsync<TestException>(() => run.WithinAsync());
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Grid))]
    public async Task Stop_AndTheSourceThrowsAfterIt_StillMakesTheLastBatch(Form form, SourceKind kind)
    {
        TestSource source = TestSource.Of(kind, new SourcePlan { Count = 20, WaitsAt = 6, ThrowsAt = 6, Gate = _source, IgnoresToken = true });
        Task run = await BeginAsync(form, source, waitsAt: 6, limit: 2);
        _control.Stop();
        _source.Open();
        await run.WithinAsync();
        Assert.Equal(["0 1 2 3", "4 5"], _batches.Order());
    }

    /// <summary>Starts a run whose source waits inside the second batch, and waits for that. The task of the result is the run.</summary>
    private async Task<Task> BeginAsync(Form form, TestSource source, int waitsAt, int limit = 4, Func<IReadOnlyList<int>, int>? keyOf = null)
    {
        Task run = RunAsync(form, source, limit, keyOf: keyOf);
        await Guard.UntilAsync(() => source.Record.Reads == waitsAt + 1 && _control.Snapshot() is { Succeeded: 1 }, "the wait inside the second batch");
        return run;
    }

    private Task RunAsync(Form form, TestSource source, int limit, bool waits = false, Func<IReadOnlyList<int>, int>? keyOf = null)
    {
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = limit, Control = _control };
        keyOf ??= static batch => batch[0];
        Func<IReadOnlyList<int>, CancellationToken, ValueTask<int>> selector = async (batch, token) =>
        {
            _batches.Enqueue(string.Join(' ', batch));
            if (waits)
            {
                await _items.WaitAsync(token);
            }

            return batch.Count;
        };
        return form switch
        {
            Form.List => source.BatchListAsync(4, selector, options),
            Form.Stream => OperatorRunner.GatherAsync(source.BatchStream(4, selector, options)),
            Form.KeyedList => source.Sequence?.PartitionBatchesBy(keyOf).BatchParallelAsync(4, selector, options)
                ?? source.AsyncSequence!.PartitionBatchesBy(keyOf).BatchParallelAsync(4, selector, options),
            _ => OperatorRunner.GatherAsync(
                source.Sequence?.PartitionBatchesBy(keyOf).BatchParallelStreamAsync(4, selector, options)
                ?? source.AsyncSequence!.PartitionBatchesBy(keyOf).BatchParallelStreamAsync(4, selector, options)),
        };
    }
}
