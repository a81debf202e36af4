using System.Collections.Concurrent;
using System.Threading.Channels;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Batches;

/// <summary>Does an action without a result get every item once, in batches, and end as ForEachParallelAsync does?</summary>
public class BatchActionTests
{
    public static MatrixTheoryData<SourceKind, bool> AnyKindAndWork() => new(Cases.Kinds, [false, true]);

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(AnyKindAndWork))]
    public async Task Action_OfAnySource_GetsEachItemOnceInBatchesOfTheSize(SourceKind kind, bool yields)
    {
        foreach ((int limit, int size) in new[] { (1, 7), (3, 1), (200, 100), (3, 1_000) })
        {
            ConcurrentQueue<IReadOnlyList<int>> batches = [];
            TestSource source = TestSource.Of(kind, 100);
            await source.EachBatchAsync(
                size,
                async (batch, _) =>
                {
                    if (yields)
                    {
                        await Task.Yield();
                    }

                    batches.Enqueue(batch);
                },
                new() { MaxDegreeOfParallelism = limit }).WithinAsync();
            Assert.Equal(Enumerable.Range(0, 100), batches.OrderBy(static b => b[0]).SelectMany(static b => b));
            Assert.Equal((100 + size - 1) / size, batches.Count);
            Assert.All(batches.OrderBy(static b => b[0]).SkipLast(1), b => Assert.Equal(size, b.Count));
            source.AssertUsedWell();
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(AnyKindAndWork))]
    public async Task Action_Fails_IsReportedWithTheNumberOfItsBatch(SourceKind kind, bool yields)
    {
        ItemsFailedException e = await Assert.ThrowsAsync<ItemsFailedException>(() => TestSource.Of(kind, 20).EachBatchAsync(
            5,
            async (batch, _) =>
            {
                if (yields)
                {
                    await Task.Yield();
                }

                if (batch[0] is 5 or 15)
                {
                    throw new TestException($"from {batch[0]}");
                }
            },
            new() { MaxDegreeOfParallelism = 3, ErrorMode = ErrorMode.CollectAndContinue }).WithinAsync());
        Assert.Equal([(1L, "from 5"), (3L, "from 15")], e.Failures.Select(static f => (f.Index, f.Error.Message)));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(SourceKind.Array)]
    [InlineData(SourceKind.Lazy)]
    [InlineData(SourceKind.Channel)]
    public async Task Action_CallerCancels_ThrowsWithItsToken(SourceKind kind)
    {
        using CancellationTokenSource caller = new();
        using Gate inside = new();
        Task running = TestSource.Of(kind, 20).EachBatchAsync(
            5,
            async (_, token) =>
            {
                inside.Open();
                await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
            },
            null,
            caller.Token);
        await inside.WaitAsync();
        await caller.CancelAsync();
        OperationCanceledException e = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => running.WithinAsync());
        Assert.Equal(caller.Token, e.CancellationToken);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Action_WithATimeout_GetsPartOfABatchWhileTheSourceIsSilent()
    {
        ManualTimeProvider clock = new();
        Channel<int> channel = Channel.CreateUnbounded<int>();
        ConcurrentQueue<int> sizes = [];
        Task running = channel.Reader.ForEachBatchParallelAsync(
            10,
            (batch, _) =>
            {
                sizes.Enqueue(batch.Count);
                return default(ValueTask);
            },
            new ParallelRunOptions { TimeProvider = clock },
            TimeSpan.FromSeconds(1));
        Assert.True(channel.Writer.TryWrite(1));
        Assert.True(channel.Writer.TryWrite(2));
        await Guard.UntilAsync(() => clock.NextDue is not null && channel.Reader.Count == 0, "the wait for a full batch");
        clock.Advance(TimeSpan.FromSeconds(1));
        await Guard.UntilAsync(() => !sizes.IsEmpty, "the batch whose time is up");
        Assert.True(channel.Writer.TryWrite(3));
        channel.Writer.Complete();
        await running.WithinAsync();
        Assert.Equal(3, sizes.Sum());
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Action_WithKeys_KeepsTheOrderOfEachKey()
    {
        List<int>[] perKey = [[], []];
        await Enumerable.Range(0, 100).PartitionBatchesBy(static batch => batch[0] / 5 % 2).ForEachBatchParallelAsync(
            5,
            async (batch, _) =>
            {
                await Task.Yield();
                perKey[batch[0] / 5 % 2].Add(batch[0]);
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 4 }).WithinAsync();
        Assert.All(perKey, static key => Assert.Equal(10, key.Count));
        Assert.All(perKey, static key => Assert.Equal(key.Order(), key));
    }

    [Fact]
    public void Action_BadArguments_ThrowAtTheCall()
    {
        int[] one = [1];
        Func<IReadOnlyList<int>, CancellationToken, ValueTask> none = null!;
        Func<IReadOnlyList<int>, CancellationToken, ValueTask> action = static (_, _) => default;
        Assert.Throws<ArgumentNullException>("source", () => { _ = ((int[])null!).ForEachBatchParallelAsync(2, action); });
        Assert.Throws<ArgumentNullException>("batchAction", () => { _ = one.ForEachBatchParallelAsync(2, none); });
        Assert.Throws<ArgumentOutOfRangeException>("batchSize", () => { _ = one.ForEachBatchParallelAsync(0, action); });
        Assert.Throws<ArgumentOutOfRangeException>("batchTimeout", () => { _ = one.ForEachBatchParallelAsync(2, action, null, TimeSpan.Zero); });
        Assert.Throws<ArgumentOutOfRangeException>(
            "MaxDegreeOfParallelism", () => { _ = one.ForEachBatchParallelAsync(2, action, new() { MaxDegreeOfParallelism = 0 }); });
    }
}
