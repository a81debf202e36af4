using System.Runtime.CompilerServices;
using Weir.Core.Sources;

namespace Weir.Core.Tests.Sources;

/// <summary>Items with keys, claimed and ended by hand.</summary>
public class KeyedSourceTests
{
    private readonly List<int> _asked = [];

    [Fact]
    public void TryClaim_DifferentKeysInMemory_GivesSeveralAtOnce()
    {
        KeyedSource<int, int> source = Make(Enumerable.Range(0, 400), static x => x);
        Assert.Equal(RangeOf(0L, 8), Claim(source, 8));
        Assert.Equal(RangeOf(8L, 16), Claim(source, 256));
    }

    [Fact]
    public void TryClaim_SequenceThatIsRead_GivesOneAtATime()
    {
        KeyedSource<int, int> source = new(SourceOf.Enumerable(Enumerable.Range(0, 400).Where(static _ => true)), static x => x, null, 1, 100);
        Assert.Equal([0L], Claim(source, 256));
        Assert.Equal([1L], Claim(source, 256));
    }

    [Fact]
    public void TryClaim_ItemHasToWait_StopsThereAndGoesOnBehindIt()
    {
        int[] keys = [1, 2, 1, 3, 1, 4, .. RangeOf(10, 400)];
        KeyedSource<int, int> source = Make(keys, x => keys[x]);
        Assert.Equal([0L, 1], Claim(source, 6));
        Assert.Equal(3, source.NextIndex);
        Assert.False(source.IsExhausted);
        Assert.Equal([3L], Claim(source, 6));
        Assert.Equal([5L], Claim(source, 6));
        Assert.Equal(RangeOf(0, 6), _asked);

        // In their order, and nobody else's end lets them go.
        source.ItemEnded(1);
        source.ItemEnded(0);
        Assert.Equal([2L], Claim(source, 6));
        Assert.Equal(RangeOf(6L, 6), Claim(source, 6));
        source.ItemEnded(2);
        source.ItemEnded(2);
        Assert.Equal([4L], Claim(source, 6));
        source.ItemEnded(4);
        Assert.Equal([12L], Claim(source, 1));
        Assert.Equal(RangeOf(0, 13), _asked);
    }

    [Fact]
    public void TryClaim_CeilingFallsBelowWhatWasRead_GivesItLater()
    {
        int[] keys = [1, 1, .. RangeOf(10, 400)];
        KeyedSource<int, int> source = Make(keys, x => keys[x]);
        Assert.Equal([0L], Claim(source, 8));
        Chunk<int> chunk = default;
        Assert.Equal(ClaimResult.Throttled, source.TryClaim(ref chunk, 8, 2));
        Assert.Equal(2, source.NextIndex);
        Assert.Equal([2L, 3, 4, 5, 6, 7], Claim(source, 8));
    }

    [Fact]
    public void TryClaim_KeyFails_GivesThoseBeforeItAndThenThrows()
    {
        KeyedSource<int, int> source = Make(Enumerable.Range(0, 400), static x => x == 3 ? throw new FormatException() : x);
        Assert.Equal([0L, 1, 2], Claim(source, 8));
        Chunk<int> chunk = default;
        for (int i = 0; i < 2; i++)
        {
            Assert.Throws<FormatException>(() => source.TryClaim(ref chunk, 8, long.MaxValue));
            Assert.Equal(3, source.NextIndex);
            Assert.Empty(source.LeftOver());
        }

        Assert.Equal(RangeOf(0, 4), _asked);
    }

    [Fact]
    public void TryClaim_FirstKeyFails_CountsNothingAsClaimed()
    {
        KeyedSource<int, string> source = new(SourceOf.Enumerable(Enumerable.Range(0, 400).ToArray()), static _ => null!, null, 1, 100);
        Chunk<int> chunk = default;
        Assert.Contains(
            "index 0", Assert.Throws<InvalidOperationException>(() => source.TryClaim(ref chunk, 8, long.MaxValue)).Message, StringComparison.Ordinal);
        Assert.Equal(0, source.NextIndex);
    }

    [Fact]
    public void TryClaim_AsManyWaitAsMay_IsBusyUntilOneEnds()
    {
        int[] keys = [1, 1, 1, .. RangeOf(10, 400)];
        KeyedSource<int, int> source = new(SourceOf.Enumerable(RangeOf(0, keys.Length)), x => keys[x], null, 1, 2);
        Assert.Equal([0L], Claim(source, 8));
        Chunk<int> chunk = default;
        Assert.Equal(ClaimResult.Busy, source.TryClaim(ref chunk, 8, long.MaxValue));
        Assert.True(source.IsBusy);
        Assert.Equal([(1L, 1), (2L, 1)], source.LeftOver());
        source.ItemEnded(0);
        Assert.Equal([1L], Claim(source, 8));
        Assert.Equal([3L, 4, 5, 6, 7], Claim(source, 8));
    }

    // More at once than have a place of their own, so that some share one.
    [Theory]
    [InlineData(1)]
    [InlineData(3)]
    public void ItemEnded_AnyOrder_LetsEachItemOutOnceAndInItsLanesOrder(int perLane)
    {
        const int count = 3_000;
        const int most = 700;
        Random random = new(perLane);
        int[] keys = [.. Enumerable.Range(0, count).Select(_ => random.Next(5) == 0 ? 0 : random.Next(900))];
        KeyedSource<int, int> source = new(SourceOf.Enumerable(RangeOf(0, count)), x => keys[x], null, perLane, count);
        List<long> running = [];
        Dictionary<int, long> last = [];
        int seen = 0;
        while (seen < count || running.Count > 0)
        {
            Chunk<int> chunk = default;
            if (running.Count < most && source.TryClaim(ref chunk, 1 + random.Next(20), long.MaxValue) == ClaimResult.Claimed)
            {
                foreach (int item in chunk.Items)
                {
                    Assert.True(last.GetValueOrDefault(keys[item], -1) < item, $"{item} after {last.GetValueOrDefault(keys[item])}.");
                    last[keys[item]] = item;
                    running.Add(item);
                    Assert.True(running.Count(x => keys[x] == keys[item]) <= perLane);
                    seen++;
                }
            }
            else
            {
                int at = random.Next(running.Count);
                source.ItemEnded(running[at]);
                running.RemoveAt(at);
            }
        }

        Assert.True(source.IsExhausted);
        Assert.Empty(source.LeftOver());
    }

    [Fact]
    public void Keys_OfItemsThatEndedLongAgo_AreNotKept()
    {
        object[] items = new object[3_000];
        KeyedSource<object, object> source = new(SourceOf.Enumerable(items), static x => x, null, 1, 100);
        WeakReference first = Fill(items);
        for (int done = 0; done < items.Length;)
        {
            Chunk<object> chunk = default;
            Assert.Equal(ClaimResult.Claimed, source.TryClaim(ref chunk, 16, long.MaxValue));
            for (int i = 0; i < chunk.Count; i++)
            {
                source.ItemEnded(done++);
            }
        }

        items[0] = "gone";
        GC.Collect();
        Assert.False(first.IsAlive);
        Assert.True(source.IsExhausted);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static WeakReference Fill(object[] items)
        {
            for (int i = 0; i < items.Length; i++)
            {
                items[i] = new object();
            }

            return new WeakReference(items[0]);
        }
    }

    private static int[] RangeOf(int first, int count) => [.. Enumerable.Range(first, count)];

    private static IEnumerable<long> RangeOf(long first, int count) => Enumerable.Range((int)first, count).Select(static x => (long)x);

    private static List<long> Claim<TKey>(KeyedSource<int, TKey> source, int max)
        where TKey : notnull
    {
        Chunk<int> chunk = default;
        Assert.Equal(ClaimResult.Claimed, source.TryClaim(ref chunk, max, long.MaxValue));
        List<long> indices = [];
        for (int i = 0; i < chunk.Count; i++)
        {
            Assert.Equal(chunk.FirstIndex + i, chunk.Items[i]);
            indices.Add(chunk.FirstIndex + i);
        }

        return indices;
    }

    /// <summary>Items that are their own indices.</summary>
    private KeyedSource<int, int> Make(IEnumerable<int> items, Func<int, int> keyOf) => new(
        SourceOf.Enumerable(RangeOf(0, items.Count())),
        x =>
        {
            _asked.Add(x);
            return keyOf(x);
        },
        null,
        1,
        100);
}
