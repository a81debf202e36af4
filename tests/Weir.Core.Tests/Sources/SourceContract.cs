using System.Collections.Immutable;
using System.Threading.Channels;
using Weir.Core.Sources;

namespace Weir.Core.Tests.Sources;

/// <summary>What every source promises, whatever it reads.</summary>
public abstract class SourceContract
{
    internal abstract Source<int> Create(int count);

    [Theory(Timeout = 90_000)]
    [InlineData(0, 1)]
    [InlineData(1, 1)]
    [InlineData(1000, 1)]
    [InlineData(1000, 256)]
    public async Task TryClaim_UntilEmpty_GivesEachItemOnceWithItsIndex(int count, int max)
    {
        Source<int> source = Create(count);
        List<int> seen = [];
        Chunk<int> chunk = default;
        while (source.TryClaim(ref chunk, max, long.MaxValue) is var result && result != ClaimResult.Empty)
        {
            if (result == ClaimResult.Pending)
            {
                result = await FinishAsync(source, chunk, seen);
                if (result == ClaimResult.Empty)
                {
                    break;
                }

                continue;
            }

            Assert.Equal(ClaimResult.Claimed, result);
            Assert.InRange(chunk.Count, 1, max);
            Take(chunk, seen);
            chunk.Position = chunk.Count;
        }

        source.Release(ref chunk);
        await source.DisposeAsync();
        Assert.Equal(Enumerable.Range(0, count), seen);
        Assert.True(source.IsExhausted);
        Assert.Equal(count, source.NextIndex);
    }

    [Fact]
    public void TryClaim_AtCeiling_IsThrottledAndGoesOnWhenItIsRaised()
    {
        Source<int> source = Create(10);
        Chunk<int> chunk = default;
        int claimed = 0;
        while (claimed < 3)
        {
            Assert.Equal(ClaimResult.Claimed, source.TryClaim(ref chunk, 256, 3));
            claimed += chunk.Count;
            chunk.Position = chunk.Count;
        }

        Assert.Equal(3, claimed);
        Assert.Equal(ClaimResult.Throttled, source.TryClaim(ref chunk, 256, 3));
        Assert.Equal(3, source.NextIndex);
        Assert.Equal(ClaimResult.Claimed, source.TryClaim(ref chunk, 1, 4));
        Assert.Equal(3, chunk.FirstIndex);
    }

    [Fact]
    public void GiveBack_RestOfAChunk_IsClaimedByOthersOneByOne()
    {
        Source<int> source = Create(10);
        Chunk<int> chunk = default;
        Assert.Equal(ClaimResult.Claimed, source.TryClaim(ref chunk, 1, long.MaxValue));
        Chunk<int> rest = default;
        int[] items = [100, 101, 102];
        rest.SetArray(items, 0, 3, 100);
        source.GiveBack(rest);
        Assert.False(source.IsExhausted);
        Assert.True(source.HasStash);

        List<(long, int)> taken = [];
        for (int i = 0; i < 3; i++)
        {
            Chunk<int> other = default;
            Assert.Equal(ClaimResult.Claimed, source.TryClaim(ref other, 256, 0));
            taken.Add((other.FirstIndex, other.Items[0]));
            Assert.Equal(1, other.Count);
        }

        Assert.Equal([(100, 100), (101, 101), (102, 102)], taken.Order());
        Assert.Empty(source.LeftOver());
    }

    private static void Take(in Chunk<int> chunk, List<int> seen)
    {
        for (int i = 0; i < chunk.Count; i++)
        {
            Assert.Equal(chunk.FirstIndex + i, chunk.Items[i]);
            seen.Add(chunk.Items[i]);
        }
    }

    private static async Task<ClaimResult> FinishAsync(Source<int> source, Chunk<int> chunk, List<int> seen)
    {
        while (true)
        {
            TaskCompletionSource ready = new(TaskCreationOptions.RunContinuationsAsynchronously);
            source.OnReady(ready.SetResult);
            await ready.Task;
            ClaimResult result = source.FinishClaim(ref chunk);
            if (result == ClaimResult.Claimed)
            {
                Take(chunk, seen);
            }

            if (result != ClaimResult.Pending)
            {
                return result;
            }
        }
    }
}

public class ArraySourceTests : SourceContract
{
    internal override Source<int> Create(int count) => SourceOf.Enumerable(Enumerable.Range(0, count).ToArray());

    [Fact]
    public void SegmentAndImmutableArray_ReadInPlace_GiveTheirOwnPart()
    {
        int[] array = [9, 0, 1, 2, 9];
        Source<int> segment = SourceOf.Enumerable(new ArraySegment<int>(array, 1, 3));
        Assert.IsType<ArraySource<int>>(segment);
        Chunk<int> chunk = default;
        segment.TryClaim(ref chunk, 1, long.MaxValue);
        Assert.Equal(0, chunk.Items[0]);
        Assert.Equal(3, segment.KnownCount);
        Assert.IsType<ArraySource<int>>(SourceOf.Enumerable(ImmutableArray.Create(1, 2)));
    }

    [Fact]
    public void CovariantArray_IsRead()
    {
        object[] strings = new string[] { "a", "b" };
        Source<object> source = SourceOf.Enumerable(strings);
        Chunk<object> chunk = default;
        Assert.Equal(ClaimResult.Claimed, source.TryClaim(ref chunk, 1, long.MaxValue));
        Assert.Equal("a", chunk.Items[0]);
    }
}

public class ListSourceTests : SourceContract
{
    internal override Source<int> Create(int count) => SourceOf.Enumerable(Enumerable.Range(0, count).ToList());

    [Fact]
    public void TryClaim_AfterTheListHasChanged_Throws()
    {
        List<int> list = [1, 2, 3];
        Source<int> source = SourceOf.Enumerable(list);
        Chunk<int> chunk = default;
        source.TryClaim(ref chunk, 1, long.MaxValue);
        list.Clear();
        Assert.Throws<InvalidOperationException>(() => { source.TryClaim(ref chunk, 1, long.MaxValue); });
        Assert.Throws<InvalidOperationException>(() => chunk.Items.Length);
    }
}

public class CollectionSourceTests : SourceContract
{
    internal override Source<int> Create(int count) => new CollectionSource<int>(new Queue<int>(Enumerable.Range(0, count)), count);

    [Theory]
    [InlineData(2)]
    [InlineData(4)]
    public void TryClaim_CollectionWithAnotherCountThanItSaid_Throws(int said)
    {
        CollectionSource<int> source = new([1, 2, 3], said);
        Assert.Throws<InvalidOperationException>(() =>
        {
            Chunk<int> chunk = default;
            while (source.TryClaim(ref chunk, 1, long.MaxValue) != ClaimResult.Empty)
            {
            }
        });
        Assert.True(source.IsExhausted);
    }

    [Fact]
    public void Of_MovingOrLazySequences_AreNotTakenForCollections()
    {
        Assert.IsType<LazySource<int>>(SourceOf.Enumerable(new System.Collections.Concurrent.ConcurrentQueue<int>([1])));
        Assert.IsType<LazySource<int>>(SourceOf.Enumerable(new[] { 1 }.Select(static x => x)));
        Assert.IsType<CollectionSource<int>>(SourceOf.Enumerable(Enumerable.Range(0, 3)));
        Assert.IsType<CollectionSource<int>>(SourceOf.Enumerable(new HashSet<int> { 1 }));
    }
}

public class LazySourceTests : SourceContract
{
    internal override Source<int> Create(int count) => new LazySource<int>(Enumerable.Range(0, count));
}

public class AsyncSourceTests : SourceContract
{
    internal override Source<int> Create(int count) => SourceOf.AsyncEnumerable(Items(count));

    private static async IAsyncEnumerable<int> Items(int count)
    {
        await Task.CompletedTask;
        for (int i = 0; i < count; i++)
        {
            yield return i;
        }
    }
}

public class SuspendingAsyncSourceTests
{
    [Fact(Timeout = 90_000)]
    public async Task TryClaim_SequenceThatWaits_KeepsTheTurnUntilTheItemIsThere()
    {
        Channel<int> items = Channel.CreateUnbounded<int>();
        Source<int> source = SourceOf.AsyncEnumerable(items.Reader.ReadAllAsync());
        Chunk<int> chunk = default;
        Assert.Equal(ClaimResult.Pending, source.TryClaim(ref chunk, 8, long.MaxValue));
        Assert.True(source.IsBusy);
        Chunk<int> other = default;
        Assert.Equal(ClaimResult.Busy, source.TryClaim(ref other, 8, long.MaxValue));

        TaskCompletionSource ready = new(TaskCreationOptions.RunContinuationsAsynchronously);
        source.OnReady(ready.SetResult);
        Assert.False(ready.Task.IsCompleted);
        items.Writer.TryWrite(7);
        await ready.Task;
        Assert.Equal(ClaimResult.Claimed, source.FinishClaim(ref chunk));
        Assert.Equal(7, chunk.Items[0]);
        Assert.False(source.IsBusy);
    }
}

public class ChannelSourceTests : SourceContract
{
    internal override Source<int> Create(int count)
    {
        Channel<int> channel = Channel.CreateUnbounded<int>(new UnboundedChannelOptions { SingleReader = true });
        for (int i = 0; i < count; i++)
        {
            channel.Writer.TryWrite(i);
        }

        channel.Writer.Complete();
        return SourceOf.Channel(channel.Reader);
    }

    [Fact]
    public void TryClaim_ChannelThatFailed_ThrowsItsError()
    {
        Channel<int> channel = Channel.CreateUnbounded<int>();
        channel.Writer.Complete(new FormatException("broken"));
        Source<int> source = SourceOf.Channel(channel.Reader);
        Chunk<int> chunk = default;
        Assert.Throws<FormatException>(() => { source.TryClaim(ref chunk, 1, long.MaxValue); });
        Assert.True(source.IsExhausted);
    }
}

public class BatchSourceTests
{
    [Theory]
    [InlineData(10, 3)]
    [InlineData(9, 3)]
    [InlineData(2, 100)]
    public void TryClaim_UntilEmpty_CutsTheItemsIntoBatches(int count, int size)
    {
        int[] items = Enumerable.Range(0, count).ToArray();
        foreach (IEnumerable<int> form in new IEnumerable<int>[] { items, items.ToList(), items.Where(static _ => true) })
        {
            Source<IReadOnlyList<int>> source = Batches.Enumerable(form, size);
            List<int[]> batches = [];
            Chunk<IReadOnlyList<int>> chunk = default;
            while (source.TryClaim(ref chunk, 256, long.MaxValue) == ClaimResult.Claimed)
            {
                foreach (IReadOnlyList<int> batch in chunk.Items)
                {
                    batches.Add([.. batch]);
                }
            }

            Assert.Equal(items.Chunk(size), batches);
        }
    }
}
