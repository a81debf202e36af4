using System.Collections.Concurrent;
using System.Diagnostics;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Streams;

/// <summary>Does a stream keep its promises where its mechanisms meet: chunks, suspensions, failures, long calls, small bounds, and a consumer that stops or leaves?</summary>
public class StreamGridTests
{
    private static readonly SourceKind[] Kinds =
    [
        SourceKind.Array, SourceKind.List, SourceKind.Range, SourceKind.Lazy, SourceKind.AsyncImmediate, SourceKind.AsyncSuspending, SourceKind.Channel,
    ];

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(OperatorFamily.Stream)]
    [InlineData(OperatorFamily.OrderedStream)]
    public async Task Stream_AnyCombination_GivesEachResultOnceWithinItsBound(OperatorFamily family)
    {
        for (int seed = 0; seed < 150; seed++)
        {
            await new Combination(family, seed).RunAsync().WithinAsync($"seed {seed}");
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(OperatorFamily.Stream, false)]
    [InlineData(OperatorFamily.Stream, true)]
    [InlineData(OperatorFamily.OrderedStream, false)]
    [InlineData(OperatorFamily.OrderedStream, true)]
    public async Task Results_BeforeAnItemThatBlocks_AreThereAtOnce(OperatorFamily family, bool asksBefore)
    {
        // In the middle of the items that the worker runs together.
        const int Blocking = 300;
        using Gate gate = new();
        TaskCompletionSource blocked = new(TaskCreationOptions.RunContinuationsAsynchronously);
        IAsyncEnumerator<int> stream = family.Open(
            TestSource.Of(SourceKind.Array, 1_000),
            (item, _) =>
            {
                if (item == Blocking)
                {
                    blocked.SetResult();
                    gate.Wait();
                }

                return new ValueTask<int>(item);
            },
            new() { MaxDegreeOfParallelism = 1 }).GetAsyncEnumerator();
        for (int i = 0; i < Blocking; i++)
        {
            if (i == 1 && !asksBefore)
            {
                await blocked.Task.WithinAsync();
            }

            Assert.True(await stream.MoveNextAsync().WithinAsync());
            Assert.Equal(i, stream.Current);
        }

        gate.Open();
        for (int i = Blocking; i < 1_000; i++)
        {
            Assert.True(await stream.MoveNextAsync().WithinAsync());
            Assert.Equal(i, stream.Current);
        }

        Assert.False(await stream.MoveNextAsync().WithinAsync());
        await stream.DisposeAsync();
    }

    private sealed class Combination
    {
        private readonly OperatorFamily _family;
        private readonly SourceKind _kind;
        private readonly int _count;
        private readonly int _limit;
        private readonly int _capacity;
        private readonly int _seed;
        private readonly double _yields;
        private readonly double _fails;
        private readonly double _lasts;
        private readonly int _leavesAt;
        private readonly int _cancelsAt;
        private readonly double _consumerYields;
        private readonly ConcurrentQueue<string> _broken = [];
        private int _started;
        private int _failed;
        private int _yielded;
        private int _inside;

        public Combination(OperatorFamily family, int seed)
        {
            Random random = new(seed);
            _family = family;
            _seed = seed;
            _kind = random.GetItems(Kinds, 1)[0];
            _count = random.Next(random.Next(2) == 0 ? 40 : 3_000);
            _limit = random.GetItems([1, 2, 8], 1)[0];
            _capacity = random.GetItems([1, 5, 64, 1_024], 1)[0];
            _yields = random.GetItems([0, 0, 0.02, 0.5], 1)[0];
            _fails = random.GetItems([0, 0, 0.05], 1)[0];
            _lasts = random.GetItems([0, 0, 0.02], 1)[0];
            _leavesAt = random.Next(5) == 0 ? random.Next(1, 400) : int.MaxValue;
            _cancelsAt = random.Next(6) == 0 ? random.Next(1, 400) : int.MaxValue;
            _consumerYields = random.GetItems([0, 0, 0.05, 1], 1)[0];
        }

        public async Task RunAsync()
        {
            using CancellationTokenSource stop = new();
            Random pauses = new(_seed);
            List<int> seen = [];
            bool isWhole = true;
            try
            {
                await foreach (int item in _family.Open(
                    TestSource.Of(_kind, _count),
                    CallAsync,
                    new() { MaxDegreeOfParallelism = _limit, ChannelCapacity = _capacity, ErrorMode = ErrorMode.BestEffort }).WithCancellation(stop.Token))
                {
                    seen.Add(item);
                    Volatile.Write(ref _yielded, seen.Count);
                    if (pauses.NextDouble() < _consumerYields)
                    {
                        await Task.Yield();
                    }

                    if (seen.Count == _cancelsAt)
                    {
                        isWhole = false;
                        await stop.CancelAsync();
                    }

                    if (seen.Count == _leavesAt)
                    {
                        isWhole = false;
                        break;
                    }
                }
            }
            catch (OperationCanceledException) when (stop.IsCancellationRequested)
            {
            }

            // All calls have ended, and none begins any more.
            Assert.Equal(0, Volatile.Read(ref _inside));
            Assert.Empty(_broken);
            Assert.Equal(seen.Count, seen.Distinct().Count());
            Assert.All(seen, item => Assert.False(Fails(item)));
            if (_family == OperatorFamily.OrderedStream)
            {
                Assert.Equal(seen.Order(), seen);
            }

            if (isWhole)
            {
                Assert.Equal(_count, _started);
                Assert.Equal(Enumerable.Range(0, _count).Where(item => !Fails(item)), seen.Order());
            }
        }

        private async ValueTask<int> CallAsync(int item, CancellationToken token)
        {
            int started = Interlocked.Increment(ref _started);
            Interlocked.Increment(ref _inside);
            try
            {
                // A result counts as taken before the loop gets it.
                int most = Volatile.Read(ref _yielded) + 1 + Volatile.Read(ref _failed) + _limit + _capacity;
                if (started > most)
                {
                    _broken.Enqueue($"item {item} is the {started}th to start, for {most}");
                }

                double chance = Chance(item, 1);
                if (chance < _lasts)
                {
                    for (long begun = Stopwatch.GetTimestamp(); Stopwatch.GetElapsedTime(begun) < TimeSpan.FromMicroseconds(30);)
                    {
                    }
                }

                if (Chance(item, 2) < _yields)
                {
                    await Task.Yield();
                }

                if (Fails(item))
                {
                    Interlocked.Increment(ref _failed);
                    throw new FormatException();
                }

                return item;
            }
            finally
            {
                Interlocked.Decrement(ref _inside);
            }
        }

        private bool Fails(int item) => Chance(item, 3) < _fails;

        private double Chance(int item, int purpose) => (uint)HashCode.Combine(_seed, item, purpose) / (double)uint.MaxValue;
    }
}
