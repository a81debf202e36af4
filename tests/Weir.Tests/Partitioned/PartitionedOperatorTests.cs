using Weir.Runtimes;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Partitioned;

public class PartitionedOperatorTests
{
    private static readonly ParallelRunOptions Eight = new() { MaxDegreeOfParallelism = 8 };

    [Theory(Timeout = 90_000)]
    [InlineData(SourceKind.Array)]
    [InlineData(SourceKind.List)]
    [InlineData(SourceKind.Lazy)]
    [InlineData(SourceKind.AsyncSuspending)]
    [InlineData(SourceKind.Channel)]
    public async Task SelectParallelAsync_ItemsOfAKey_RunOneAtATimeInSourceOrder(SourceKind kind)
    {
        const int count = 2_000;
        LaneProbe probe = new();
        List<int> results = await OperatorFamily.List.RunKeyedAsync(
            TestSource.Of(kind, count), (x, _) => probe.CallAsync(x, keys: 7), static x => x % 7, Eight);
        Assert.Equal(Enumerable.Range(0, count), results);
        Assert.True(probe.MostAtOnce <= 8);
        probe.AssertInOrder(count, keys: 7);
    }

    [Fact(Timeout = 90_000)]
    public async Task SelectParallelAsync_HotKeyThatIsStuck_DoesNotStopTheOthers()
    {
        // Nine of ten items have the hot key, and its first one is stuck: all the others that may be read must run nevertheless.
        TaskCompletionSource hot = new(TaskCreationOptions.RunContinuationsAsynchronously);
        using SemaphoreSlim others = new(0);
        Task<List<int>> run = Enumerable.Range(0, 1_000).PartitionBy(static x => x % 10 == 9 ? x : -1).SelectParallelAsync(
            async (x, _) =>
            {
                if (x % 10 != 9)
                {
                    await hot.Task;
                }
                else
                {
                    others.Release();
                }

                return x;
            },
            Eight);
        for (int i = 0; i < 100; i++)
        {
            Assert.True(await others.WaitAsync(TimeSpan.FromSeconds(60)));
        }

        Assert.False(run.IsCompleted);
        hot.SetResult();
        Assert.Equal(Enumerable.Range(0, 1_000), await run);
    }

    [Fact(Timeout = 90_000)]
    public async Task Partitioned_ManyItemsWaitingForAKey_ReadingStopsAtTheCapacity()
    {
        TaskCompletionSource gate = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource enough = new(TaskCreationOptions.RunContinuationsAsynchronously);
        int read = 0;
        IEnumerable<int> Source()
        {
            for (int i = 0; i < 10_000; i++)
            {
                if (Interlocked.Increment(ref read) == 51)
                {
                    enough.TrySetResult();
                }

                yield return i;
            }
        }

        int running = 0;
        Task run = Source().PartitionBy(static _ => "one key").ForEachParallelAsync(
            async (_, _) =>
            {
                Assert.Equal(1, Interlocked.Increment(ref running));
                await gate.Task;
                Interlocked.Decrement(ref running);
            },
            Eight with { ChannelCapacity = 50 });
        await enough.Task;

        // One runs, fifty wait. Nobody can read on now: the run has no worker that would.
        Assert.Equal(51, Volatile.Read(ref read));
        gate.SetResult();
        await run;
        Assert.Equal(10_000, read);
    }

    [Fact(Timeout = 90_000)]
    public async Task MaxPerKey_OfTwo_LetsTwoOfAKeyRunAtOnce()
    {
        LaneProbe probe = new();
        using Barrier pair = new(2);
        await Enumerable.Range(0, 40).PartitionBy(static _ => 0, maxPerKey: 2).ForEachParallelAsync(
            (x, _) =>
            {
                using (probe.Enter(0, x))
                {
                    Assert.True(pair.SignalAndWait(TimeSpan.FromSeconds(60)));
                    return default;
                }
            },
            Eight);
        Assert.Equal(2, probe.MostOfOneKey);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Streams_WithKeys_GiveEveryResultAndKeepTheOrderPromised(bool ordered)
    {
        List<int> seen = [];
        await foreach (int x in Enumerable.Range(0, 500).PartitionBy(static x => x % 5).SelectParallelStreamAsync(
            async (x, _) =>
            {
                await Task.Yield();
                return x;
            },
            Eight with { OrderedOutput = ordered, ChannelCapacity = 4 }))
        {
            seen.Add(x);
        }

        Assert.Equal(Enumerable.Range(0, 500), ordered ? seen : seen.Order());
        Assert.All(Enumerable.Range(0, 5), key => Assert.Equal(seen.Where(x => x % 5 == key).Order(), seen.Where(x => x % 5 == key)));
    }

    [Fact(Timeout = 90_000)]
    public async Task Failure_OfAnItem_LetsTheNextOfItsKeyRun()
    {
        ItemOutcome<int, int>[] outcomes = await Enumerable.Range(0, 100).PartitionBy(static x => x % 2).SelectParallelOutcomesAsync(
            static async (x, _) =>
            {
                await Task.Yield();
                return x % 4 == 1 ? throw new FormatException() : x;
            },
            Eight);
        Assert.All(outcomes.Index(), static o => Assert.Equal(
            o.Index % 4 == 1 ? ItemStatus.Failed : ItemStatus.Succeeded, o.Item.Status));
    }

    [Fact(Timeout = 90_000)]
    public async Task PartitionBy_ThrowsOrGivesNull_FailsTheRunAsTheSourceWould()
    {
        await Assert.ThrowsAsync<FormatException>(() => Enumerable.Range(0, 10)
            .PartitionBy(static x => x == 3 ? throw new FormatException() : x).SelectParallelAsync<int, int>(static (x, _) => new(x)));
        InvalidOperationException error = await Assert.ThrowsAsync<InvalidOperationException>(() => Enumerable.Range(0, 10)
            .PartitionBy(static x => x == 3 ? null! : "key").SelectParallelAsync<int, int>(static (x, _) => new(x)));
        Assert.Contains("index 3", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Arguments_WrongOnes_AreRefusedAtTheCall()
    {
        PartitionedItems<int> keyed = new[] { 1 }.PartitionBy(static x => x);
        Assert.Throws<ArgumentNullException>("keySelector", () => { _ = new[] { 1 }.PartitionBy((Func<int, int>)null!); });
        Assert.Throws<ArgumentNullException>("source", () => { _ = ((int[])null!).PartitionBy(static x => x); });
        Assert.Throws<ArgumentException>(() => { _ = keyed.PartitionBy(static x => x); });
        Assert.Throws<ArgumentOutOfRangeException>("maxPerKey", () => { _ = new[] { 1 }.PartitionBy(static x => x, 0); });
        Assert.Throws<ArgumentOutOfRangeException>("maxPerKey", () => { _ = new[] { 1 }.PartitionBatchesBy(static x => x.Count, 0); });
    }

    [Fact]
    public void Keys_OfItemsForBatchesOrOfBatchesForItems_AreRefusedAtTheCall()
    {
        int[] items = [1];
        PartitionedItems<int> keyed = items.PartitionBy(static x => x);
        PartitionedItems<int> keyedBatches = items.PartitionBatchesBy(static batch => batch.Count);
        Assert.Throws<ArgumentException>(() => { _ = keyed.BatchParallelAsync(2, static (batch, _) => new ValueTask<int>(batch.Count)); });
        Assert.Throws<ArgumentException>(() => { _ = keyed.BatchParallelStreamAsync(2, static (batch, _) => new ValueTask<int>(batch.Count)); });
        Assert.Throws<ArgumentException>(() => { _ = keyedBatches.SelectParallelAsync(static (x, _) => new ValueTask<int>(x)); });
        Assert.Throws<ArgumentException>(() => { _ = keyedBatches.SelectParallelStreamAsync(static (x, _) => new ValueTask<int>(x)); });
        Assert.Throws<ArgumentException>(() => { _ = keyedBatches.SelectParallelOutcomesStreamAsync(static (x, _) => new ValueTask<int>(x)); });
        IAsyncEnumerable<int> slow = items.ToAsyncEnumerable();
        PartitionedAsyncItems<int> later = slow.PartitionBatchesBy(static batch => batch.Count);
        Assert.Throws<ArgumentException>(() => { _ = later.ForEachParallelAsync(static (_, _) => default); });
        Assert.Throws<ArgumentException>(() => { _ = later.SelectParallelStreamAsync(static (x, _) => new ValueTask<int>(x)); });
        Assert.Throws<ArgumentException>(() => { _ = later.SelectParallelOutcomesStreamAsync(static (x, _) => new ValueTask<int>(x)); });
        PartitionedAsyncItems<int> laterItems = slow.PartitionBy(static x => x);
        Assert.Throws<ArgumentException>(() => { _ = laterItems.ForEachBatchParallelAsync(2, static (_, _) => default); });
        Assert.Throws<ArgumentException>(() => { _ = laterItems.BatchParallelStreamAsync(2, static (batch, _) => new ValueTask<int>(batch.Count)); });
    }

    [Fact(Timeout = 90_000)]
    public async Task Keys_ReadByOthers_AreNotLostSilently()
    {
        IEnumerable<object> wider = new[] { "a" }.PartitionBy(static x => x);
        await Assert.ThrowsAsync<InvalidOperationException>(() => wider.SelectParallelAsync(static (x, _) => new ValueTask<object>(x)));
        await using ConcurrentRuntime runtime = new();
        await Assert.ThrowsAsync<InvalidOperationException>(() => runtime.ProcessManyAsync(wider, static (x, _) => new ValueTask<object>(x)));
        Assert.Throws<InvalidOperationException>(() => new[] { 1 }.PartitionBy(static x => x).ToList());
        IAsyncEnumerable<int> later = new[] { 1 }.ToAsyncEnumerable().PartitionBy(static x => x);
        Assert.Throws<InvalidOperationException>(() => { _ = later.GetAsyncEnumerator(); });
    }

    [Fact(Timeout = 90_000)]
    public async Task EarlyExit_WithItemsWaitingInLanes_EndsEverything()
    {
        int running = 0;
        int taken = 0;
        await foreach (int x in TestSource.Endless(SourceKind.Lazy).Sequence!.PartitionBy(static x => x % 2).SelectParallelStreamAsync(
            async (x, token) =>
            {
                Interlocked.Increment(ref running);
                try
                {
                    await Task.Yield();
                    token.ThrowIfCancellationRequested();
                    return x;
                }
                finally
                {
                    Interlocked.Decrement(ref running);
                }
            },
            Eight with { ChannelCapacity = 1 }))
        {
            if (++taken == 20)
            {
                break;
            }
        }

        Assert.Equal(0, running);
    }

    [Fact(Timeout = 60_000)]
    public async Task Partitioned_RandomPlans_RunEachItemOnceInItsLane()
    {
        int start = int.TryParse(Environment.GetEnvironmentVariable("WEIR_SEED"), out int given) ? given : 1;
        for (int seed = start; seed < start + 150; seed++)
        {
            Random random = new(seed);
            int count = random.Next(0, 300);
            int keys = random.Next(1, 12);
            int perKey = random.Next(1, 4);
            int[] keyOf = Enumerable.Range(0, count).Select(_ => random.Next(2) == 0 ? 0 : random.Next(keys)).ToArray();
            int[] kind = Enumerable.Range(0, count).Select(_ => random.Next(4)).ToArray();
            ParallelRunOptions options = new()
            {
                MaxDegreeOfParallelism = random.Next(1, 10),
                ChannelCapacity = random.Next(1, 20),
                ErrorMode = ErrorMode.BestEffort,
            };
            LaneProbe probe = new();
            IEnumerable<int> items = random.Next(2) == 0 ? Enumerable.Range(0, count).ToArray() : Enumerable.Range(0, count).Where(static _ => true);
            List<int> results = await items.PartitionBy(x => keyOf[x], perKey).SelectParallelAsync(
                async (x, _) =>
                {
                    using (probe.Enter(keyOf[x], x))
                    {
                        for (int i = 0; i < kind[x]; i++)
                        {
                            await Task.Yield();
                        }
                    }

                    return kind[x] == 3 ? throw new FormatException() : x;
                },
                options);
            string what = $"seed {seed}";
            Assert.True(results.SequenceEqual(Enumerable.Range(0, count).Where(x => kind[x] != 3)), what);
            Assert.True(count == 0 || probe.MostOfOneKey <= perKey, what);
            Assert.True(probe.MostAtOnce <= options.MaxDegreeOfParallelism, what);
            if (perKey == 1)
            {
                Assert.All(probe.Keys, key => Assert.True(
                    probe.Started(key).SequenceEqual(Enumerable.Range(0, count).Where(x => keyOf[x] == key)), what));
            }
        }
    }
}
