namespace Weir.Resilience.Tests.Keys;

/// <summary>The table behind the policies by key: one instance a key, bounded memory, and no user code under its lock.</summary>
public class KeyTableTests
{
    private const int Timeout = 90_000;

    [Fact]
    public void Use_SameKey_GivesTheSameInstance()
    {
        KeyTable<string, object> table = new(static () => new object(), static _ => true, StringComparer.OrdinalIgnoreCase);
        KeyUse<object> first = table.Use("a");
        Assert.Same(first.Policy, table.Use("A").Policy);
        Assert.NotSame(first.Policy, table.Use("b").Policy);
        Assert.Equal(2, table.Count);
        Assert.Throws<InvalidOperationException>(() => table.Use(null!));
    }

    [Fact]
    public void Use_ManyKeys_ForgetsTheIdleOnes()
    {
        KeyTable<int, object> table = new(static () => new object(), static _ => true, null);
        KeyUse<object> used = table.Use(-1);
        for (int i = 0; i < 100_000; i++)
        {
            table.Use(i).Release();
            Assert.InRange(table.Count, 1, 2_100);
        }

        Assert.Same(used, table.Use(-1));
    }

    [Fact]
    public void Use_InstanceThatIsNotIdle_IsNotForgotten()
    {
        HashSet<object> busy = [];
        KeyTable<int, object> table = new(static () => new object(), policy => !busy.Contains(policy), null);
        KeyUse<object> open = table.Use(-1);
        busy.Add(open.Policy);
        open.Release();
        for (int i = 0; i < 10_000; i++)
        {
            table.Use(i).Release();
        }

        Assert.Same(open, table.Use(-1));
    }

    [Fact]
    public void Use_InstancesThatCannotSayWhetherTheyAreIdle_Stay()
    {
        bool fails = true;
        KeyTable<int, object> table = new(
            static () => new object(), _ => fails ? throw new IOException() : true, new Faulty { Hash = static x => x / 4 });
        object[] policies = [.. Enumerable.Range(0, 3_000).Select(i => Released(table.Use(i)))];
        Assert.Equal(policies, Enumerable.Range(0, 3_000).Select(i => Released(table.Use(i))));
        fails = false;
        for (int i = 3_000; i < 20_000; i++)
        {
            table.Use(i).Release();
        }

        Assert.InRange(table.Count, 1, 5_000);

        static object Released(KeyUse<object> use)
        {
            use.Release();
            return use.Policy;
        }
    }

    [Fact]
    public void Use_AllKeysOfOneHash_AreKeptApart()
    {
        KeyTable<int, object> table = new(static () => new object(), static _ => true, new Faulty { Hash = static _ => 7 });
        object[] policies = [.. Enumerable.Range(0, 3_000).Select(i => table.Use(i).Policy)];
        Assert.Equal(3_000, policies.Distinct().Count());
        Assert.Equal(policies, Enumerable.Range(0, 3_000).Select(i => table.Use(i).Policy));
    }

    [Fact]
    public void Use_HashOrEqualityThrows_ReachesTheCallerAndBreaksNothing()
    {
        Faulty comparer = new();
        KeyTable<int, object> table = new(static () => new object(), static _ => true, comparer);
        object policy = table.Use(1).Policy;
        comparer.Hash = static _ => throw new TestException("hash");
        Assert.Throws<TestException>(() => table.Use(1));
        comparer.Hash = static x => x;
        comparer.Same = static (_, _) => throw new TestException("equality");
        Assert.Throws<TestException>(() => table.Use(1));
        comparer.Same = static (x, y) => x == y;
        Assert.Same(policy, table.Use(1).Policy);
    }

    [Fact(Timeout = Timeout)]
    public async Task Use_ComparerThatWaitsForAnotherThread_HoldsNoLock()
    {
        Faulty comparer = new();
        KeyTable<int, object> table = new(static () => new object(), static _ => true, comparer);
        table.Use(1);
        bool nested = false;
        comparer.Same = (x, y) =>
        {
            if (!nested)
            {
                // Another thread needs the table while this one is inside the comparer.
                nested = true;
                RunElsewhere(() => table.Use(2).Release());
            }

            return x == y;
        };
        await Task.Run(() => table.Use(1)).WithinAsync("a use inside which another one runs");
        Assert.True(nested);
    }

    // Keys are forgotten from a thousand on: too many for a scenario of the explorer.
    [Fact(Timeout = Timeout)]
    public async Task Use_ManyThreads_OneInstanceOfAKeyAtATime()
    {
        KeyTable<int, int[]> table = new(static () => new int[1], static policy => Volatile.Read(ref policy[0]) == 0, null);
        int[]?[] current = new int[]?[20];
        await Task.WhenAll(Enumerable.Range(0, 6).Select(seed => Task.Run(() =>
        {
            SeededRandom random = new(seed);
            for (int i = 0; i < 20_000; i++)
            {
                int key = (int)(random.NextDouble() * 20);
                KeyUse<int[]> use = table.Use(key);
                Interlocked.Increment(ref use.Policy[0]);
                int[]? before = Interlocked.Exchange(ref current[key], use.Policy);

                // Whoever found another instance than this one must have found it idle.
                Assert.True(before is null || before == use.Policy || Volatile.Read(ref before[0]) == 0);
                table.Use(1_000 + i).Release();
                Interlocked.Decrement(ref use.Policy[0]);
                use.Release();
            }
        }))).WithinAsync();

        // How many were used lately depends on how far the threads are apart. All are forgotten, unless a use has not ended.
        for (int i = 0; i < 100_000; i++)
        {
            table.Use(1_000_000 + i).Release();
        }

        Assert.InRange(table.Count, 1, 2_100);
    }

    private static void RunElsewhere(Action action)
    {
        Thread thread = new(() => action());
        thread.Start();
        Assert.True(thread.Join(TimeSpan.FromSeconds(60)), "Another thread waits for the table.");
    }

    private sealed class Faulty : IEqualityComparer<int>
    {
        public Func<int, int> Hash { get; set; } = static x => x;

        public Func<int, int, bool> Same { get; set; } = static (x, y) => x == y;

        public bool Equals(int x, int y) => Same(x, y);

        public int GetHashCode(int obj) => Hash(obj);
    }
}
