using System.Threading.Channels;
using System.Threading.Tasks.Sources;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Batches;

/// <summary>Is a partial batch handed out when its time has passed, also while the source is silent?</summary>
public class BatchTimeoutTests
{
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(10);

    public static TheoryData<SourceKind> Unbounded() => [.. Cases.Unbounded];

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Unbounded))]
    public async Task Silence_LongerThanTheTimeout_FlushesAndGoesOn(SourceKind kind)
    {
        ManualTimeProvider clock = new();
        using Gate gate = new();
        TestSource source = TestSource.Of(kind, new SourcePlan { Count = 7, WaitsAt = 3, Gate = gate });
        IAsyncEnumerator<int[]> stream = Open(source, clock);
        Task<bool> step = stream.MoveNextAsync().AsTask();
        await ArmedAndReadAsync(clock, source, kind, 4);
        clock.Advance(Limit - TimeSpan.FromTicks(1));
        await Guard.SettleAsync();
        Assert.False(step.IsCompleted, "The time has not passed yet.");
        clock.Advance(TimeSpan.FromTicks(1));
        Assert.True(await step.WithinAsync("the partial batch"));
        Assert.Equal([0, 1, 2], stream.Current);
        Assert.Equal(0, clock.ArmedTimers);

        // The step that was under way goes on, and its item begins the next batch.
        step = stream.MoveNextAsync().AsTask();
        clock.Advance(Limit * 5);
        await Guard.SettleAsync();
        Assert.False(step.IsCompleted, "An empty batch is not handed out.");
        gate.Open();
        Assert.True(await step.WithinAsync("the last batch"));
        Assert.Equal([3, 4, 5, 6], stream.Current);
        Assert.False(await stream.MoveNextAsync().WithinAsync());
        await stream.DisposeAsync().WithinAsync();
        Assert.Equal(0, clock.LiveTimers);
        source.AssertUsedWell();
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Timer_ThatComesAfterItsBatchBecameFull_LeavesTheNextBatchItsTime()
    {
        ManualTimeProvider clock = new();
        LateTimers timers = new(clock);
        Channel<int> channel = Channel.CreateUnbounded<int>();
        IAsyncEnumerator<int[]> stream = channel.Reader.BatchParallelStreamAsync(
            2, static (batch, _) => new ValueTask<int[]>([.. batch]), new() { TimeProvider = timers }, Limit).GetAsyncEnumerator();
        Task<bool> step = stream.MoveNextAsync().AsTask();
        Assert.True(channel.Writer.TryWrite(1));
        await Guard.UntilAsync(() => clock.ArmedTimers == 1, "the first batch's timer");
        Assert.True(channel.Writer.TryWrite(2));
        Assert.True(await step.WithinAsync("the first batch"));
        step = stream.MoveNextAsync().AsTask();
        await Guard.UntilAsync(() => clock.ArmedTimers == 0, "the end of the first batch's time");
        Assert.True(channel.Writer.TryWrite(3));
        await Guard.UntilAsync(() => clock.ArmedTimers == 1, "the second batch's timer");

        // It had fired, and its thread was late.
        timers.Fire!();
        await Guard.SettleAsync();
        Assert.False(step.IsCompleted, "The time of the second batch has not passed.");
        clock.Advance(Limit);
        Assert.True(await step.WithinAsync("the second batch"));
        Assert.Equal([3], stream.Current);
        channel.Writer.Complete();
        Assert.False(await stream.MoveNextAsync().WithinAsync());
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Step_ThatCannotBeWaitedFor_FailsTheRun()
    {
        Task run = new UnwaitableSequence().ForEachBatchParallelAsync(3, static (_, _) => default, batchTimeout: Limit);
        await Assert.ThrowsAsync<NotSupportedException>(() => run.WithinAsync());
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Unbounded))]
    public async Task Leaving_WhileTheStepAfterAFlushIsUnderWay_WaitsForItAndDisposesTheSource(SourceKind kind)
    {
        foreach (bool ignores in new[] { true, false })
        {
            ManualTimeProvider clock = new();
            using Gate gate = new();
            ConcurrencyProbe probe = new();
            TestSource source = TestSource.Of(kind, new SourcePlan { Count = 7, WaitsAt = 2, Gate = gate, IgnoresToken = ignores });
            IAsyncEnumerator<int> stream = source.BatchStream(
                5,
                async (batch, token) =>
                {
                    using (probe.Enter())
                    {
                        // Keeps the only worker, so that nobody waits for the step.
                        await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                        return batch.Count;
                    }
                },
                new() { MaxDegreeOfParallelism = 1, TimeProvider = clock },
                Limit).GetAsyncEnumerator();
            Task<bool> step = stream.MoveNextAsync().AsTask();
            await ArmedAndReadAsync(clock, source, kind, 3);
            clock.Advance(Limit);
            await probe.InsideAsync(1);
            Task disposing = stream.DisposeAsync().AsTask();
            if (ignores || kind == SourceKind.Lazy)
            {
                await Guard.SettleAsync();
                Assert.False(disposing.IsCompleted, "The source must not be disposed in the middle of a step.");
                gate.Open();
            }

            await disposing.WithinAsync("the disposal");
            await step.EndsAsync();
            source.AssertUsedWell();
            Assert.Equal(0, clock.LiveTimers);
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Unbounded))]
    public async Task Leaving_WhileABatchFills_StopsTheTimer(SourceKind kind)
    {
        ManualTimeProvider clock = new();
        using Gate gate = new();
        TestSource source = TestSource.Of(kind, new SourcePlan { Count = 7, WaitsAt = 3, Gate = gate });
        IAsyncEnumerator<int[]> stream = Open(source, clock);
        Task<bool> step = stream.MoveNextAsync().AsTask();
        await ArmedAndReadAsync(clock, source, kind, 4);
        Task disposing = stream.DisposeAsync().AsTask();
        if (kind == SourceKind.Lazy)
        {
            gate.Open();
        }

        await disposing.WithinAsync("the disposal");
        await step.EndsAsync();
        Assert.Equal(0, clock.LiveTimers);
        source.AssertUsedWell();
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Channel_ThatIsWrittenSlowly_GivesABatchPerSilence()
    {
        ManualTimeProvider clock = new();
        Channel<int> channel = Channel.CreateUnbounded<int>(new() { SingleReader = true });
        IAsyncEnumerator<int[]> stream = channel.Reader.BatchParallelStreamAsync(
            100,
            static (batch, _) => new ValueTask<int[]>([.. batch]),
            new() { MaxDegreeOfParallelism = 2, OrderedOutput = true, TimeProvider = clock },
            Limit).GetAsyncEnumerator();
        for (int round = 0; round < 20; round++)
        {
            Task<bool> step = stream.MoveNextAsync().AsTask();
            Assert.True(channel.Writer.TryWrite(round));
            await Guard.UntilAsync(() => clock.ArmedTimers == 1, "the batch's timer");
            clock.Advance(Limit);
            Assert.True(await step.WithinAsync("the batch"));
            Assert.Equal([round], stream.Current);
        }

        channel.Writer.Complete();
        Assert.False(await stream.MoveNextAsync().WithinAsync());
        Assert.Equal(0, clock.LiveTimers);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Unbounded))]
    public async Task Source_ThatThrowsWhileABatchFills_IsThrown(SourceKind kind)
    {
        ManualTimeProvider clock = new();
        TestSource source = TestSource.Of(kind, new SourcePlan { Count = 7, ThrowsAt = 3 });
        IAsyncEnumerator<int[]> stream = Open(source, clock);
        TestException e = await Assert.ThrowsAsync<TestException>(() => stream.MoveNextAsync().WithinAsync());
        Assert.Contains("ThrowAtStep", e.StackTrace, StringComparison.Ordinal);
        await stream.DisposeAsync().WithinAsync();
        Assert.Equal(0, clock.LiveTimers);
        source.AssertUsedWell();
    }

    private static IAsyncEnumerator<int[]> Open(TestSource source, ManualTimeProvider clock) => source.BatchStream(
        5,
        static (batch, _) => new ValueTask<int[]>([.. batch]),
        new() { MaxDegreeOfParallelism = 2, TimeProvider = clock },
        Limit).GetAsyncEnumerator();

    /// <summary>Waits until the source has been asked for the item that it does not give, and a batch waits for its time.</summary>
    private static Task ArmedAndReadAsync(ManualTimeProvider clock, TestSource source, SourceKind kind, int reads) => Guard.UntilAsync(
        () => clock.ArmedTimers == 1 && source.Record.Reads >= (kind == SourceKind.Channel ? reads + 2 : reads),
        "a batch that waits");

    /// <summary>A sequence whose step is under way and can never be waited for.</summary>
    private sealed class UnwaitableSequence : IAsyncEnumerable<int>, IAsyncEnumerator<int>, IValueTaskSource<bool>
    {
        public int Current => 0;

        public IAsyncEnumerator<int> GetAsyncEnumerator(CancellationToken cancellationToken = default) => this;

        public ValueTask<bool> MoveNextAsync() => new(this, 0);

        public ValueTask DisposeAsync() => default;

        public ValueTaskSourceStatus GetStatus(short token) => ValueTaskSourceStatus.Pending;

        public bool GetResult(short token) => throw new NotSupportedException();

        public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
            throw new NotSupportedException();
    }

    /// <summary>A clock whose last timer fires once more when the test says so.</summary>
    private sealed class LateTimers(TimeProvider inner) : TimeProvider
    {
        public Action? Fire { get; private set; }

        public override long TimestampFrequency => inner.TimestampFrequency;

        public override long GetTimestamp() => inner.GetTimestamp();

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        {
            Fire = () => callback(state);
            return inner.CreateTimer(callback, state, dueTime, period);
        }
    }
}
