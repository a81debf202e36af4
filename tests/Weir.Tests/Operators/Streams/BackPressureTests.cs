using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Streams;

/// <summary>How far does a stream run ahead of its consumer, or of its slowest item?</summary>
public class BackPressureTests
{
    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(SourceKind.Array)]
    [InlineData(SourceKind.Range)]
    [InlineData(SourceKind.Lazy)]
    [InlineData(SourceKind.AsyncImmediate)]
    [InlineData(SourceKind.Channel)]
    public async Task Ordered_SlowHeadOfManyItems_StartsNoMoreThanTheWindow(SourceKind kind)
    {
        using Gate gate = new();
        int started = 0;
        const int Count = 200_000;
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 4, ChannelCapacity = 8, OrderedOutput = true };
        int window = options.MaxDegreeOfParallelism + options.ChannelCapacity;
        IAsyncEnumerator<int> stream = TestSource.Of(kind, Count).Stream(
            async (item, _) =>
            {
                Interlocked.Increment(ref started);
                if (item == 0)
                {
                    await gate.WaitAsync();
                }

                return item;
            },
            options).GetAsyncEnumerator();
        Task<bool> step = stream.MoveNextAsync().AsTask();
        await Guard.UntilAsync(() => Volatile.Read(ref started) >= window, "a full window");
        await Guard.SettleAsync();
        Assert.Equal(window, Volatile.Read(ref started));
        Assert.False(step.IsCompleted);
        gate.Open();
        int next = 0;
        while (await step.WithinAsync())
        {
            Assert.Equal(next++, stream.Current);
            step = stream.MoveNextAsync().AsTask();
        }

        Assert.Equal(Count, next);
        await stream.DisposeAsync().WithinAsync();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllStreams))]
    public async Task Consumer_ThatStands_IsNotRunAwayFrom(OperatorFamily family, SourceKind kind)
    {
        foreach ((int limit, int capacity) in new[] { (1, 1), (3, 1), (4, 16) })
        {
            TestSource source = TestSource.Of(kind, 5_000);
            int started = 0;
            int window = limit + capacity;
            IAsyncEnumerator<int> stream = family.Open(
                source,
                (item, _) =>
                {
                    Interlocked.Increment(ref started);
                    return item % 3 == 0 ? Selectors.TwiceAfterYield(item, default) : new(item * 2);
                },
                new() { MaxDegreeOfParallelism = limit, ChannelCapacity = capacity }).GetAsyncEnumerator();
            for (int taken = 1; taken <= 200; taken++)
            {
                Assert.True(await stream.MoveNextAsync().WithinAsync());
                Assert.InRange(Volatile.Read(ref started), taken, taken + window);
                if (taken is 1 or 200)
                {
                    await Guard.SettleAsync();
                    Assert.InRange(Volatile.Read(ref started), taken, taken + window);
                }
            }

            await stream.DisposeAsync().WithinAsync();
            source.AssertUsedWell();
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllStreams))]
    public async Task Window_WhenTheConsumerStands_IsFilled(OperatorFamily family, SourceKind kind)
    {
        int started = 0;
        IAsyncEnumerator<int> stream = family.Open(
            TestSource.Of(kind, 5_000),
            (item, _) => new(Interlocked.Increment(ref started) + item),
            new() { MaxDegreeOfParallelism = 2, ChannelCapacity = 30 }).GetAsyncEnumerator();
        Assert.True(await stream.MoveNextAsync().WithinAsync());
        await Guard.UntilAsync(() => Volatile.Read(ref started) >= 32, "a full window");
        await stream.DisposeAsync().WithinAsync();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllStreams))]
    public async Task Capacity_OfBillions_IsOnlyABound(OperatorFamily family, SourceKind kind)
    {
        List<int> results = await family.RunAsync(
            TestSource.Of(kind, 300), Selectors.Twice, new() { MaxDegreeOfParallelism = int.MaxValue, ChannelCapacity = int.MaxValue }).WithinAsync();
        Assert.Equal(300, results.Count);
    }
}
