using Weir.Runtimes;
using Weir.TestKit;

namespace Weir.Tests.Runtimes;

/// <summary>The end of a runtime: what is refused, what still finishes, and what becomes of the rest.</summary>
public class RuntimeDisposeTests
{
    private const int Items = 250;

    // So many calls end at once, whichever they are: an item that is given back may begin after later ones.
    private const int Quick = 10;
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(10);

    private readonly ManualTimeProvider _clock = new();

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task DisposeAsync_NewCalls_AreRefused(string name)
    {
        IExecutionRuntime runtime = RuntimeCases.Create(name);
        IAsyncEnumerable<(int Index, ItemOutcome<int, int> Outcome)> early = runtime.ProcessManyStreamAsync([1], static (x, _) => new ValueTask<int>(x));
        await runtime.DisposeAsync();
        Assert.Throws<ObjectDisposedException>(() => { _ = runtime.ProcessManyAsync([1], static (x, _) => new ValueTask<int>(x)); });
        Assert.Throws<ObjectDisposedException>(() => { _ = runtime.ProcessManyAsync<int, int>([], static (x, _) => new ValueTask<int>(x)); });
        Assert.Throws<ObjectDisposedException>(() => { _ = runtime.ProcessManyStreamAsync([1], static (x, _) => new ValueTask<int>(x)); });

        // A stream made before is refused at its first step.
        IAsyncEnumerator<(int Index, ItemOutcome<int, int> Outcome)> enumerator = early.GetAsyncEnumerator(CancellationToken.None);
        ObjectDisposedException refused = await Assert.ThrowsAsync<ObjectDisposedException>(async () => await enumerator.MoveNextAsync());
        Assert.Contains(runtime.GetType().Name, refused.ObjectName, StringComparison.Ordinal);
        Assert.False(await enumerator.MoveNextAsync());
        await enumerator.DisposeAsync();
        await runtime.DisposeAsync();
        runtime.AssertIdle(0, 0);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task DisposeAsync_RunningCallsWithinTheGracePeriod_FinishUndisturbed(string name, RunForm form)
    {
        IExecutionRuntime runtime = RuntimeCases.Create(name, _clock, Grace);
        using RuntimeGate gate = new();
        int cancelled = 0;
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(form, runtime, RuntimeRun.Count(Items), async (x, token) =>
        {
            await gate.PassAsync(x);
            Interlocked.Add(ref cancelled, token.IsCancellationRequested ? 1 : 0);
            return x;
        });
        await gate.ArrivedAsync(RuntimeCases.LimitOf(name));
        Task disposing = runtime.DisposeAsync().AsTask();
        _clock.Advance(Grace - TimeSpan.FromMilliseconds(1));
        Assert.False(disposing.IsCompleted);
        Assert.Throws<ObjectDisposedException>(() => { _ = runtime.ProcessManyAsync([1], static (x, _) => new ValueTask<int>(x)); });
        gate.Open();
        await disposing;
        Assert.All(await call, static (o, x) => Assert.Equal(x, o.Value));
        Assert.Equal(0, cancelled);
        await _clock.AssertNoTimersAsync();
        runtime.AssertIdle(Items, 0);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public Task DisposeAsync_ItemsObeyTheirToken_AreCancelledAfterTheGracePeriodAndTheRestNeverRuns(string name, RunForm form) =>
        AssertEndsAsync(name, form, null, static (gate, x, _, token) => gate.PassAsync(x, token));

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public Task DisposeAsync_ItemsIgnoreTheirToken_AreCancelledAfterTheGracePeriodAndTheRestNeverRuns(string name, RunForm form) =>
        AssertEndsAsync(
            name, form, new() { PerItemTimeout = Grace * 3, TotalTimeout = Grace * 4 }, static (gate, x, _, _) => gate.PassAsync(x));

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.DetachedForm), MemberType = typeof(RuntimeCases))]
    public Task DisposeAsync_ItemsBlockTheirThreads_AreCancelledAfterTheGracePeriodAndTheRestNeverRuns(string name, RunForm form)
    {
        // On the pool one blocks, so that the test does not wait for the pool to grow; on threads of its own all do.
        int blocking = name.StartsWith("parallel", StringComparison.Ordinal) ? RuntimeCases.LimitOf(name) : 1;
        return AssertEndsAsync(
            name, form, null, (gate, x, number, _) => number <= Quick + blocking ? new ValueTask<int>(gate.Block(x)) : gate.PassAsync(x));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task DisposeAsync_NoGracePeriod_EndsWhatRunsAtOnce(string name, RunForm form)
    {
        IExecutionRuntime runtime = RuntimeCases.Create(name, new ManualTimeProvider(), TimeSpan.Zero);
        using RuntimeGate gate = new();
        int limit = RuntimeCases.LimitOf(name);
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(form, runtime, RuntimeRun.Count(Items), (x, _) => gate.PassAsync(x));
        await gate.ArrivedAsync(limit);
        await runtime.DisposeAsync();
        ItemOutcome<int, int>[] outcomes = await call;
        Assert.Equal(limit, outcomes.Count(static o => o.Status == ItemStatus.Cancelled));
        Assert.Equal(Items - limit, outcomes.Count(static o => o.Status == ItemStatus.NotRun));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task DisposeAsync_TwiceAndAtOnce_BothEnd(string name)
    {
        IExecutionRuntime runtime = RuntimeCases.Create(name, _clock, Grace);
        using RuntimeGate gate = new();
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(RunForm.Array, runtime, RuntimeRun.Count(Items), (x, _) => gate.PassAsync(x));
        await gate.ArrivedAsync(1);
        Task first = runtime.DisposeAsync().AsTask();
        Task second = runtime.DisposeAsync().AsTask();
        await _clock.PassAsync(Grace, Task.WhenAll(first, second, call));
        await runtime.DisposeAsync();
        Assert.DoesNotContain(await call, static o => o.IsSuccess);
        await _clock.AssertNoTimersAsync();
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task DisposeAsync_StreamHalfRead_EndsWithoutItsConsumer(string name, RunForm form)
    {
        IExecutionRuntime runtime = RuntimeCases.Create(name, _clock, Grace);
        int count = 20_000;
        List<(int Index, ItemOutcome<int, int> Outcome)> read = [];
        await foreach ((int Index, ItemOutcome<int, int> Outcome) next in runtime.ProcessManyStreamAsync(
            RuntimeRun.Count(count), static (x, _) => new ValueTask<int>(x), form == RunForm.OrderedStream,
            new ProcessManyOptions { TotalTimeout = Grace * 10 }))
        {
            read.Add(next);
            if (read.Count == 10)
            {
                // The consumer itself waits for the end of the runtime, so nothing of the stream is read meanwhile.
                Task disposing = runtime.DisposeAsync().AsTask();
                Assert.False(disposing.IsCompleted);
                await _clock.PassAsync(Grace, disposing);
                Assert.Equal(0, runtime.Statistics.ActiveCalls);
            }
        }

        Assert.Equal(RuntimeRun.Count(count), read.Select(static r => r.Index).Order());
        Assert.All(read, static r => Assert.True(r.Outcome.Status is ItemStatus.NotRun or ItemStatus.Cancelled || r.Outcome.Value == r.Index));
        long cancelled = read.Count(static r => r.Outcome.Status == ItemStatus.Cancelled);
        Assert.InRange(cancelled, 0, RuntimeCases.LimitOf(name));
        long succeeded = read.Count(static r => r.Outcome.IsSuccess);
        Assert.InRange(succeeded, 10, 10 + 1024 + 256 + RuntimeCases.LimitOf(name));
        runtime.AssertIdle(succeeded, cancelled);
        await _clock.AssertNoTimersAsync();
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task DisposeAsync_OneCallersContinuationBlocks_TheOtherCallsEndAllTheSame(string name)
    {
        IExecutionRuntime runtime = RuntimeCases.Create(name, _clock, Grace);
        using RuntimeGate gate = new();
        using RuntimeGate continuation = new();
        Task[] calls = [.. RuntimeRun.Count(4).Select(async x =>
        {
            await Task.Yield();
            await runtime.ProcessManyAsync([x], (i, _) => gate.PassAsync(i)).ConfigureAwait(false);
            if (x < 2)
            {
                continuation.Block(x);
            }
        })];
        await gate.ArrivedAsync(4);
        Task disposing = runtime.DisposeAsync().AsTask();
        await Task.Factory.StartNew(
            () => _clock.PassAsync(Grace, Task.WhenAll(calls[2], calls[3], disposing)),
            CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default).Unwrap();
        continuation.Open();
        await Task.WhenAll(calls);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task DisposeAsync_CallbackOnATokenThrows_EndsAllTheSame(string name)
    {
        IExecutionRuntime runtime = RuntimeCases.Create(name, _clock, Grace);
        using RuntimeGate gate = new();
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(RunForm.Array, runtime, RuntimeRun.Count(5), (x, token) =>
        {
            token.Register(static () => throw new InvalidDataException("callback"));
            return gate.PassAsync(x);
        });
        await gate.ArrivedAsync(1);
        Task disposing = runtime.DisposeAsync().AsTask();
        await _clock.PassAsync(Grace, disposing);
        await disposing;
        Assert.Contains(await call, static o => o.Status == ItemStatus.Cancelled);
    }

    /// <summary>Checks what becomes of a call whose items are at a gate, all but the first that begin, when its runtime ends.</summary>
    /// <param name="name">The runtime.</param>
    /// <param name="form">How the outcomes are received.</param>
    /// <param name="options">The options of the call.</param>
    /// <param name="stuck">The call of an item that does not end by itself, with the item and its number in the order of beginning.</param>
    private async Task AssertEndsAsync(
        string name, RunForm form, ProcessManyOptions? options, Func<RuntimeGate, int, int, CancellationToken, ValueTask<int>> stuck)
    {
        int limit = RuntimeCases.LimitOf(name);
        int begun = 0;
        IExecutionRuntime runtime = RuntimeCases.Create(name, _clock, Grace);
        using RuntimeGate gate = new();
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(
            form,
            runtime,
            RuntimeRun.Count(Items),
            (x, token) =>
            {
                int number = Interlocked.Increment(ref begun);
                return number <= Quick ? new ValueTask<int>(x) : stuck(gate, x, number, token);
            },
            options);
        await gate.ArrivedAsync(limit);
        Task disposing = runtime.DisposeAsync().AsTask();
        Assert.False(disposing.IsCompleted);
        await _clock.PassAsync(Grace, disposing);
        await disposing;
        ItemOutcome<int, int>[] outcomes = await call;
        Assert.Equal(limit, gate.Arrived);
        Assert.Equal(Quick, outcomes.Count(static o => o.IsSuccess));
        Assert.All(outcomes.Where(static o => o.IsSuccess), static o => Assert.Equal(o.Item, o.Value));
        ItemOutcome<int, int>[] cancelled = [.. outcomes.Where(static o => o.Status == ItemStatus.Cancelled)];
        Assert.Equal(limit, cancelled.Length);
        Assert.All(cancelled, RuntimeRun.AssertCancelled);
        Assert.Equal(Items - limit - Quick, outcomes.Count(static o => o.Status == ItemStatus.NotRun));
        runtime.AssertIdle(Quick, limit);
        await _clock.AssertNoTimersAsync();
    }
}
