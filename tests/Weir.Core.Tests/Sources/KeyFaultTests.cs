using Weir.Core.Sources;

namespace Weir.Core.Tests.Sources;

/// <summary>Keys whose hash or equality throws or blocks: user code like any other.</summary>
public class KeyFaultTests
{
    [Fact]
    public void TryClaim_HashThrows_GivesThoseBeforeItAndThenThrows()
    {
        KeyedSource<int, int> source = Make(400, new Comparer { Hash = static key => key == 5 ? throw new FormatException() : key });
        Chunk<int> chunk = default;
        Assert.Equal(ClaimResult.Claimed, source.TryClaim(ref chunk, 8, long.MaxValue));
        Assert.Equal([0, 1, 2, 3, 4], chunk.Items.ToArray());
        chunk = default;
        for (int i = 0; i < 2; i++)
        {
            Assert.Throws<FormatException>(() => source.TryClaim(ref chunk, 8, long.MaxValue));
            Assert.Equal(5, source.NextIndex);
            Assert.Empty(source.LeftOver());
        }
    }

    [Fact]
    public void TryClaim_HashThrowsWhileIdleLanesAreLetGo_KeepsWhatWaits()
    {
        bool fails = false;
        Comparer comparer = new() { Hash = key => fails ? throw new FormatException() : key };

        // Twice each key, so that the second of each waits, and then as many others as make the table sweep.
        int[] keys = [.. Enumerable.Range(0, 20).SelectMany(static x => new[] { x, x }), .. Enumerable.Range(100, 1_000)];
        KeyedSource<int, int> source = new(SourceOf.Enumerable(Enumerable.Range(0, keys.Length).ToArray()), x => keys[x], comparer, 1, 100);
        Chunk<int> chunk = default;
        while (source.NextIndex < 140)
        {
            Assert.Equal(ClaimResult.Claimed, source.TryClaim(ref chunk, 16, long.MaxValue));
        }

        fails = true;
        Exception? error = null;
        while (error is null)
        {
            error = Record.Exception(() => source.TryClaim(ref chunk, 16, long.MaxValue));
        }

        Assert.IsType<FormatException>(error);
        Assert.Equal(Enumerable.Range(0, 20).Select(static x => ((2L * x) + 1, 1)), source.LeftOver());
    }

    [Theory(Timeout = 90_000)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task ItemEnded_WhileAKeyIsLookedUp_DoesNotWaitForIt(bool inHash)
    {
        using ManualResetEventSlim entered = new();
        using ManualResetEventSlim open = new();
        void Block(bool stops)
        {
            if (stops)
            {
                entered.Set();
                Assert.True(open.Wait(TimeSpan.FromSeconds(60)));
            }
        }

        Comparer comparer = new()
        {
            Hash = key =>
            {
                Block(inHash && key == 9);
                return key == 9 ? 1 : key;
            },
            Equality = (a, b) =>
            {
                Block(!inHash && (a == 9 || b == 9));
                return a == b;
            },
        };
        int[] keys = [1, 1, 9];
        KeyedSource<int, int> source = new(SourceOf.Enumerable(keys.Where(static _ => true)), static x => x, comparer, 1, 100);
        Chunk<int> chunk = default;
        Assert.Equal(ClaimResult.Claimed, source.TryClaim(ref chunk, 1, long.MaxValue));
        Task<ClaimResult> claiming = Task.Run(() =>
        {
            Chunk<int> next = default;
            return source.TryClaim(ref next, 1, long.MaxValue);
        });
        Assert.True(entered.Wait(TimeSpan.FromSeconds(60)));

        // The second item waits for the first, so its end needs the lock of the lanes.
        await Task.Run(() => source.ItemEnded(0)).WithinAsync("the end of an item");
        Assert.Equal([(1L, 1)], source.LeftOver());
        open.Set();
        Assert.Equal(ClaimResult.Claimed, await claiming.WithinAsync());
    }

    private static KeyedSource<int, int> Make(int count, IEqualityComparer<int> comparer) =>
        new(SourceOf.Enumerable(Enumerable.Range(0, count).ToArray()), static x => x, comparer, 1, 100);

    private sealed class Comparer : IEqualityComparer<int>
    {
        public Func<int, int> Hash { get; init; } = static key => key;

        public Func<int, int, bool> Equality { get; init; } = static (a, b) => a == b;

        public bool Equals(int x, int y) => Equality(x, y);

        public int GetHashCode(int obj) => Hash(obj);
    }
}
