using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Streams;

/// <summary>Does leaving a stream early end everything, and at once?</summary>
public class EarlyExitTests
{
    private static readonly ParallelRunOptions Narrow = new() { MaxDegreeOfParallelism = 4, ChannelCapacity = 1 };

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.UnboundedStreams))]
    public async Task Break_EndlessSourceAndCapacityOne_StopsTheSource(OperatorFamily family, SourceKind kind)
    {
        TestSource source = TestSource.Endless(kind);
        ConcurrencyProbe probe = new();
        async Task TakeTenAsync()
        {
            int taken = 0;
            await foreach (int _ in family.Open(source, Work, Narrow))
            {
                if (++taken == 10)
                {
                    break;
                }
            }
        }

        await TakeTenAsync().WithinAsync("the loop that was left");
        Assert.Equal(0, probe.Inside);
        Assert.InRange(probe.Entered, 10, 10 + Narrow.MaxDegreeOfParallelism + Narrow.ChannelCapacity);
        source.AssertUsedWell();
        int reads = source.Record.Reads;
        await Guard.SettleAsync();
        Assert.Equal(reads, source.Record.Reads);

        async ValueTask<int> Work(int item, CancellationToken token)
        {
            using (probe.Enter())
            {
                await Task.Yield();
                return item;
            }
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.UnboundedStreams))]
    public async Task Throw_InsideTheLoop_SurfacesAndStopsTheSource(OperatorFamily family, SourceKind kind)
    {
        TestSource source = TestSource.Endless(kind);
        async Task ThrowAsync()
        {
            await foreach (int item in family.Open(source, Selectors.Twice, Narrow))
            {
                if (item >= 20)
                {
                    throw new TestException("consumer");
                }
            }
        }

        TestException e = await Assert.ThrowsAsync<TestException>(() => ThrowAsync().WithinAsync("the loop that threw"));
        Assert.Equal("consumer", e.Message);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllStreams))]
    public async Task Break_FirstResult_CancelsWhatRunsAndWaitsForIt(OperatorFamily family, SourceKind kind)
    {
        TestSource source = TestSource.Of(kind, 1_500);
        ConcurrencyProbe probe = new();
        IAsyncEnumerator<int> stream = family.Open(
            source,
            async (item, token) =>
            {
                using (probe.Enter())
                {
                    if (item > 0)
                    {
                        await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                    }

                    return item;
                }
            },
            Narrow).GetAsyncEnumerator();
        Assert.True(await stream.MoveNextAsync().WithinAsync());
        await probe.InsideAsync(4);
        await stream.DisposeAsync().WithinAsync("the disposal");
        Assert.Equal(0, probe.Inside);
        Assert.Equal(5, probe.Entered);
        source.AssertUsedWell();
        Assert.False(await stream.MoveNextAsync());
        await stream.DisposeAsync();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllStreams))]
    public async Task Dispose_WithoutAStep_DoesNothing(OperatorFamily family, SourceKind kind)
    {
        TestSource source = TestSource.Of(kind, 10);
        IAsyncEnumerator<int> stream = family.Open(source, Selectors.Twice).GetAsyncEnumerator();
        await stream.DisposeAsync().WithinAsync();
        await stream.DisposeAsync().WithinAsync();
        Assert.False(await stream.MoveNextAsync());
        Assert.Equal(0, source.Record.Opened);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.UnboundedStreams))]
    public async Task Break_WhileTheSourceIsSilent_EndsItsStep(OperatorFamily family, SourceKind kind)
    {
        using Gate gate = new();
        TestSource source = TestSource.Of(kind, new SourcePlan { WaitsAt = 2, Gate = gate });
        IAsyncEnumerator<int> stream = family.Open(source, Selectors.Twice, Narrow).GetAsyncEnumerator();
        Assert.True(await stream.MoveNextAsync().WithinAsync());
        Assert.True(await stream.MoveNextAsync().WithinAsync());
        Task disposing = stream.DisposeAsync().AsTask();
        if (kind == SourceKind.Lazy)
        {
            gate.Open();
        }

        await disposing.WithinAsync("the disposal");
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.UnboundedFewStreams), MemberType = typeof(Cases))]
    public async Task Leaving_InAnyWay_KeepsNothingAlive(OperatorFamily family, SourceKind kind)
    {
        List<WeakReference> held = [];
        for (int i = 0; i < 5; i++)
        {
            await RunAsync(family, kind, i, held);
        }

        await Leak.GoneAsync(held, "the selectors of ended runs");
    }

    private static async Task RunAsync(OperatorFamily family, SourceKind kind, int way, List<WeakReference> held)
    {
        // Longer lived than the runs, as an application's own stopping token is.
        CancellationTokenSource application = LongLived;
        using CancellationTokenSource cancelled = new();
        object[] marker = new object[1];
        held.Add(new WeakReference(marker));
        Func<int, CancellationToken, ValueTask<int>> selector = (item, _) => new(item + marker.Length);
        if (way == 0)
        {
            await cancelled.CancelAsync();
        }

        IAsyncEnumerator<int> stream = family.Open(TestSource.Endless(kind), selector, Narrow, cancelled.Token).GetAsyncEnumerator(application.Token);
        if (way != 1)
        {
            await stream.MoveNextAsync().AsTask().EndsAsync();
        }

        if (way == 2)
        {
            await cancelled.CancelAsync();
        }

        if (way != 3)
        {
            await stream.DisposeAsync().WithinAsync();
            return;
        }

        await cancelled.CancelAsync();
        while (true)
        {
            Task<bool> step = stream.MoveNextAsync().AsTask();
            await step.EndsAsync();
            if (!step.IsCompletedSuccessfully || !step.Result)
            {
                return;
            }
        }
    }

    private static readonly CancellationTokenSource LongLived = new();
}
