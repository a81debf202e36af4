using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Does the caller's cancellation always surface as such, and does it end everything?</summary>
public class CancellationTests
{
    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AllModes), MemberType = typeof(Cases))]
    public async Task Cancel_WhileItemsRun_ThrowsWithTheCallersTokenAndLeavesNothing(OperatorFamily family, SourceKind kind, ErrorMode mode)
    {
        using CancellationTokenSource stop = new();
        ConcurrencyProbe probe = new();
        int hooks = 0;
        TestSource source = TestSource.Of(kind, 100);
        Task<List<int>> running = family.RunAsync(
            source,
            (item, token) => probe.StayAsync(item, token),
            new()
            {
                MaxDegreeOfParallelism = 4,
                ErrorMode = mode,
                OnErrorAsync = (_, _) => new(Interlocked.Increment(ref hooks) > 0),
            },
            stop.Token);
        await probe.InsideAsync(4);
        await stop.CancelAsync();
        await AssertCancelledAsync(running, stop.Token);
        Assert.Equal(4, probe.Entered);
        Assert.Equal(0, probe.Inside);
        Assert.Equal(0, hooks);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AllUnboundedModes), MemberType = typeof(Cases))]
    public async Task Cancel_EndlessSourceOfSynchronousItems_EndsIt(OperatorFamily family, SourceKind kind, ErrorMode mode)
    {
        using CancellationTokenSource stop = new();
        int calls = 0;
        TestSource source = TestSource.Endless(kind);
        Task<List<int>> running = family.RunAsync(
            source,
            (item, _) =>
            {
                if (Interlocked.Increment(ref calls) == 500)
                {
                    stop.Cancel();
                }

                return new(item);
            },
            new() { MaxDegreeOfParallelism = 3, ErrorMode = mode, ChannelCapacity = 16 },
            stop.Token);
        await AssertCancelledAsync(running, stop.Token);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AllModes), MemberType = typeof(Cases))]
    public async Task Cancel_BeforeTheCall_ReadsAndRunsNothing(OperatorFamily family, SourceKind kind, ErrorMode mode)
    {
        CancellationToken cancelled = new(canceled: true);
        TestSource source = TestSource.Of(kind, 10);
        int calls = 0;
        Task<List<int>> running = family.RunAsync(
            source,
            (item, _) => new(Interlocked.Increment(ref calls) + item),
            new() { MaxDegreeOfParallelism = 2, ErrorMode = mode },
            cancelled);
        await AssertCancelledAsync(running, cancelled);
        await Guard.SettleAsync();
        Assert.Equal(0, calls);
        Assert.Equal(0, source.Record.Opened);
        Assert.Equal(0, source.Record.Reads);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.FamiliesAndModes), MemberType = typeof(Cases))]
    public async Task Cancel_ItemsThatIgnoreTheirToken_ThrowsOnceTheyHaveEnded(OperatorFamily family, ErrorMode mode)
    {
        using CancellationTokenSource stop = new();
        using Gate gate = new();
        ConcurrencyProbe probe = new();
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(SourceKind.List, 50),
            (item, _) => probe.StayAsync(item, gate),
            new() { MaxDegreeOfParallelism = 2, ErrorMode = mode },
            stop.Token);
        await probe.InsideAsync(2);
        await stop.CancelAsync();
        await Guard.SettleAsync();
        Assert.False(running.IsCompleted, "The call must not end while its items run.");
        gate.Open();
        await AssertCancelledAsync(running, stop.Token);
        Assert.Equal(2, probe.Entered);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AllUnboundedModes), MemberType = typeof(Cases))]
    public async Task Cancel_WhileTheSourceIsSilent_EndsIt(OperatorFamily family, SourceKind kind, ErrorMode mode)
    {
        using CancellationTokenSource stop = new();
        using Gate gate = new();
        ConcurrencyProbe probe = new();
        TestSource source = TestSource.Of(kind, new SourcePlan { WaitsAt = 3, Gate = gate });
        Task<List<int>> running = family.RunAsync(
            source,
            (item, _) =>
            {
                using (probe.Enter())
                {
                    return new(item);
                }
            },
            new() { MaxDegreeOfParallelism = 2, ErrorMode = mode },
            stop.Token);
        await probe.EnteredAsync(3);
        await stop.CancelAsync();
        if (kind == SourceKind.Lazy)
        {
            // A thread inside MoveNext cannot be called back.
            gate.Open();
        }

        await AssertCancelledAsync(running, stop.Token);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyFamily), MemberType = typeof(Cases))]
    public async Task Cancel_InTheLastItemWhoseCallbacksHaveNotCome_IsACancellation(OperatorFamily family)
    {
        using CancellationTokenSource stop = new();
        using Gate callback = new();
        Task cancelling = Task.CompletedTask;
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(SourceKind.Array, 1),
            async (item, _) =>
            {
                // The last that is registered is the first that is called, so the run is not told before this one returns.
                stop.Token.Register(() => callback.Wait(CancellationToken.None));
                cancelling = Task.Run(stop.Cancel, CancellationToken.None);
                while (!stop.IsCancellationRequested)
                {
                    await Task.Yield();
                }

                return item;
            },
            new(),
            stop.Token);
        await AssertCancelledAsync(running, stop.Token);
        callback.Open();
        await cancelling;
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.FamiliesAndModes), MemberType = typeof(Cases))]
    public async Task Cancel_WithFailuresBefore_StillIsACancellation(OperatorFamily family, ErrorMode mode)
    {
        using CancellationTokenSource stop = new();
        int expected = mode == ErrorMode.FailFast ? 0 : 5;
        int failures = 0;
        TaskCompletionSource allFailed = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task<List<int>> running = family.RunAsync(
            TestSource.Endless(SourceKind.Lazy),
            async (item, _) =>
            {
                if (item < expected)
                {
                    if (Interlocked.Increment(ref failures) == expected)
                    {
                        allFailed.SetResult();
                    }

                    throw new TestException("early");
                }

                if (item == 20)
                {
                    // The call of an earlier item may not have begun.
                    await (expected == 0 ? Task.CompletedTask : allFailed.Task);
                    await stop.CancelAsync();
                }

                return item;
            },
            new() { MaxDegreeOfParallelism = 2, ErrorMode = mode },
            stop.Token);
        await AssertCancelledAsync(running, stop.Token);
        Assert.Equal(expected, failures);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AllStreams), MemberType = typeof(Cases))]
    public async Task Cancel_ThroughTheEnumerator_ThrowsWithThatToken(OperatorFamily family, SourceKind kind)
    {
        using CancellationTokenSource call = new();
        using CancellationTokenSource enumeration = new();
        TestSource source = TestSource.Of(kind, 1_000);
        IAsyncEnumerable<int> stream = family.Open(source, Selectors.Twice, new() { ChannelCapacity = 1, MaxDegreeOfParallelism = 2 }, call.Token);
        OperationCanceledException e = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => ConsumeAsync().WithinAsync());
        Assert.Equal(enumeration.Token, e.CancellationToken);
        source.AssertUsedWell();

        async Task ConsumeAsync()
        {
            await foreach (int _ in stream.WithCancellation(enumeration.Token))
            {
                await enumeration.CancelAsync();
            }
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyFamily), MemberType = typeof(Cases))]
    public async Task Cancel_AfterTheEnd_ChangesNothing(OperatorFamily family)
    {
        using CancellationTokenSource stop = new();
        Task<List<int>> running = family.RunAsync(TestSource.Of(SourceKind.Lazy, 10), Selectors.Twice, null, stop.Token);
        await running.WithinAsync();
        await stop.CancelAsync();
        Assert.Equal(10, (await running).Count);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyFamily), MemberType = typeof(Cases))]
    public async Task Cancel_TokenCallbackThatThrows_DoesNotReachTheCaller(OperatorFamily family)
    {
        using CancellationTokenSource stop = new();
        ConcurrencyProbe probe = new();
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(SourceKind.Array, 4),
            async (item, token) =>
            {
                await using CancellationTokenRegistration rude = token.Register(static () => throw new TestException("callback"));
                using (probe.Enter())
                {
                    await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                    return item;
                }
            },
            new() { MaxDegreeOfParallelism = 2 },
            stop.Token);
        await probe.InsideAsync(2);
        stop.Cancel();
        await AssertCancelledAsync(running, stop.Token);
    }

    private static async Task AssertCancelledAsync(Task running, CancellationToken token)
    {
        OperationCanceledException e = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => running.WithinAsync());
        Assert.Equal(token, e.CancellationToken);
        Assert.True(running.IsCanceled, "The task must be a cancelled one.");
    }
}
