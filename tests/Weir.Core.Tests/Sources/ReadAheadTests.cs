using System.Collections.Concurrent;
using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Tests.Dispatch;

namespace Weir.Core.Tests.Sources;

/// <summary>A sequence that gives its items at once is read ahead, and nobody can tell.</summary>
public class ReadAheadTests
{
    private const int Burst = 20_000;

    private static readonly PumpSettings Two = new() { Limit = 2, ErrorMode = ErrorMode.FailFast };

    [Theory]
    [InlineData("lazy", true)]
    [InlineData("async", true)]
    [InlineData("channel", false)]
    public void Source_ThatGivesItsItemsAtOnce_IsReadAheadWhereNothingIsLostByIt(string kind, bool expected)
    {
        Source<int> source = KindsOfSource.Of(kind, Lazy(100_000));
        source.Readers = SourceReaders.MayReadAhead;
        Assert.Equal(expected, LargestClaim(source, 64) > 1);
    }

    [Fact]
    public void Source_OfWhichNobodyMayReadAhead_IsReadOneByOne() => Assert.Equal(1, LargestClaim(SourceOf.Enumerable(Lazy(100_000)), 64));

    [Fact]
    public void Claims_OfFewItems_ReadOneByOne()
    {
        Source<int> source = SourceOf.Enumerable(Lazy(100_000));
        source.Readers = SourceReaders.MayReadAhead;
        Assert.Equal(1, LargestClaim(source, 8));
    }

    [Fact]
    public void CollectionsThatOthersFill_AreReadOneByOne()
    {
        using BlockingCollection<int> collection = [.. Enumerable.Range(0, 100_000)];
        collection.CompleteAdding();
        Source<int> source = SourceOf.Enumerable(collection.GetConsumingEnumerable());
        source.Readers = SourceReaders.MayReadAhead;
        Assert.Equal(1, LargestClaim(source, 64));

        Channel<int> channel = Channel.CreateUnbounded<int>();
        Assert.All(Enumerable.Range(0, 10_000), item => Assert.True(channel.Writer.TryWrite(item)));
        channel.Writer.Complete();
        source = SourceOf.AsyncEnumerable(channel.Reader.ReadAllAsync(TestContext.Current.CancellationToken));
        source.Readers = SourceReaders.MayReadAhead;
        Assert.Equal(1, LargestClaim(source, 64));
    }

    [Theory(Timeout = 60_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Sequence_ThatWaitsForAllItemsBefore_GetsThem(bool asynchronous)
    {
        int ended = 0;
        using Gate all = new();
        TestRun<int, int> run = new(
            asynchronous ? SourceOf.AsyncEnumerable(AsAsync(Items())) : SourceOf.Enumerable(Items()),
            (x, _) =>
            {
                if (Interlocked.Increment(ref ended) == Burst)
                {
                    all.Open();
                }

                return new ValueTask<int>(x);
            },
            Two);
        Assert.Equal(Enumerable.Range(0, Burst + 1), await run.Start().Task);

        IEnumerable<int> Items()
        {
            for (int i = 0; i <= Burst; i++)
            {
                if (i == Burst)
                {
                    all.Wait(CancellationToken.None);
                }

                yield return i;
            }
        }
    }

    [Fact(Timeout = 60_000)]
    public async Task AsyncSequence_ThatSuspendsUntilAllItemsBeforeHaveEnded_GetsThem()
    {
        int ended = 0;
        TaskCompletionSource all = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TestRun<int, int> run = new(
            SourceOf.AsyncEnumerable(Items()),
            (x, _) =>
            {
                if (Interlocked.Increment(ref ended) == Burst)
                {
                    all.SetResult();
                }

                return new ValueTask<int>(x);
            },
            Two);
        Assert.Equal(Enumerable.Range(0, Burst + 1), await run.Start().Task);

        async IAsyncEnumerable<int> Items()
        {
            for (int i = 0; i <= Burst; i++)
            {
                if (i == Burst)
                {
                    await all.Task;
                }

                yield return i;
            }
        }
    }

    [Theory(Timeout = 60_000)]
    [InlineData(100)]
    [InlineData(5_000)]
    [InlineData(20_001)]
    public async Task Sequence_ThatHasEnded_IsNotAskedAgain(int count)
    {
        using Strict items = new(count);
        TestRun<int, int> run = new(SourceOf.Enumerable(items), static (x, _) => new ValueTask<int>(x), Two);
        Assert.Equal(Enumerable.Range(0, count), await run.Start().Task);
        Assert.Equal((1, 1), (items.Ends, items.Disposals));
    }

    [Fact]
    public void Failure_OfASequence_ComesAfterTheItemsBefore()
    {
        Source<int> source = SourceOf.Enumerable(Lazy(50_000).Select(static x => x == 40_003 ? throw new FormatException() : x));
        source.Readers = SourceReaders.MayReadAhead;
        Chunk<int> chunk = default;
        int next = 0;
        Assert.Throws<FormatException>(() =>
        {
            while (source.TryClaim(ref chunk, 64, long.MaxValue) == ClaimResult.Claimed)
            {
                next = Check(ref chunk, next, source);
            }
        });
        Assert.Equal(40_003, next);
        Assert.True(source.IsExhausted);
        source.Release(ref chunk);
    }

    [Fact(Timeout = 60_000)]
    public async Task AsyncSequence_ThatIsStoppedDuringAStepNobodyWaitsFor_IsDisposedOfAfterIt()
    {
        int disposed = 0;
        for (int i = 0; i < 200; i++)
        {
            using CancellationTokenSource cancellation = new();
            TestRun<int, int> run = new(
                SourceOf.AsyncEnumerable(Items()),
                (x, _) =>
                {
                    if (x == 4_999)
                    {
                        cancellation.Cancel();
                    }

                    return new ValueTask<int>(x);
                },
                Two);
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.Start(cancellation.Token).Task);
        }

        Assert.Equal(200, disposed);

        // A sequence of the compiler throws when it is disposed of during a step.
        async IAsyncEnumerable<int> Items([EnumeratorCancellation] CancellationToken token = default)
        {
            try
            {
                for (int i = 0; i < 5_000; i++)
                {
                    yield return i;
                }

                await new TaskCompletionSource().Task.WaitAsync(token);
            }
            finally
            {
                disposed++;
            }
        }
    }

    [Fact(Timeout = 60_000)]
    public async Task Sequence_ThatIsSlowAndEndless_IsReadNoFurtherAfterAStop()
    {
        int read = 0;
        int readAtStop = int.MaxValue;
        using CancellationTokenSource cancellation = new();
        TestRun<int, int> run = new(
            SourceOf.Enumerable(Items()),
            (x, _) => new ValueTask<int>(x),
            Two);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.Start(cancellation.Token).Task);
        Assert.InRange(read, readAtStop, readAtStop + 1);

        IEnumerable<int> Items()
        {
            while (true)
            {
                read++;
                if (read == 30_000)
                {
                    readAtStop = read;
                    cancellation.Cancel();
                }

                yield return read;
            }
        }
    }

    [Fact]
    public void WhatWasRead_WhileTheSequenceGivesNoNext_IsTakenByTheWatchAtItsSecondLook()
    {
        Source<int> source = null!;
        List<bool> looks = [];
        List<int> claimed = [];
        int inReading = 0;
        source = SourceOf.Enumerable(Items());
        source.Readers = SourceReaders.MayReadAhead;
        Chunk<int> chunk = default;
        while (source.TryClaim(ref chunk, 64, long.MaxValue) == ClaimResult.Claimed)
        {
            claimed.AddRange(chunk.Items);
            chunk.Position = chunk.Count;
        }

        // The reader inside the sequence has counted what it has read, and gets the item that came at last alone.
        Assert.Equal([false, true, false], looks);
        Assert.InRange(inReading, 1, 63);
        Assert.Equal(Enumerable.Range(0, 100_000), claimed.Order());

        IEnumerable<int> Items()
        {
            for (int i = 0; i < 100_000; i++)
            {
                if (i >= 50_000 && looks.Count == 0 && source.NextIndex > claimed.Count)
                {
                    inReading = (int)source.NextIndex - claimed.Count;
                    looks.Add(source.ShareIfStuck());
                    looks.Add(source.ShareIfStuck());
                    looks.Add(source.ShareIfStuck());
                }

                yield return i;
            }
        }
    }

    [Fact(Timeout = 60_000)]
    public async Task WhatWasRead_TakenByTheWatchAtAnyMoment_IsClaimedOnce()
    {
        int shared = 0;
        for (int round = 0; round < 400; round++)
        {
            int[] claimed = new int[2_000];
            Source<int> source = SourceOf.Enumerable(Lazy(claimed.Length));
            source.Readers = SourceReaders.MayReadAhead;
            bool done = false;
            Task watch = Task.Run(() =>
            {
                Chunk<int> mine = default;
                while (!Volatile.Read(ref done) || source.HasStash)
                {
                    // Twice, as if the reading had been open at both looks.
                    source.ShareIfStuck();
                    shared += source.ShareIfStuck() ? 1 : 0;
                    while (source.HasStash && source.TryClaim(ref mine, 1, 0) == ClaimResult.Claimed)
                    {
                        Count(claimed, ref mine, source);
                    }
                }
            });
            Chunk<int> chunk = default;
            int max = 64;
            while (!source.IsExhausted)
            {
                max = max == 16 ? 64 : max / 2;
                if (source.TryClaim(ref chunk, max, long.MaxValue) == ClaimResult.Claimed)
                {
                    Count(claimed, ref chunk, source);
                }
            }

            Volatile.Write(ref done, true);
            await watch;
            Assert.All(claimed, static times => Assert.Equal(1, times));
        }

        TestContext.Current.TestOutputHelper?.WriteLine($"Taken {shared} times.");

        static void Count(int[] claimed, ref Chunk<int> chunk, Source<int> source)
        {
            for (int i = 0; i < chunk.Count; i++)
            {
                Assert.Equal(chunk.FirstIndex + i, chunk.Items[i]);
                Interlocked.Increment(ref claimed[chunk.Items[i]]);
            }

            chunk.Position = chunk.Count;
        }
    }

    private static int LargestClaim(Source<int> source, int max)
    {
        Chunk<int> chunk = default;
        int largest = 0;
        int next = 0;
        while (source.TryClaim(ref chunk, max, long.MaxValue) == ClaimResult.Claimed)
        {
            largest = Math.Max(largest, chunk.Count);
            next = Check(ref chunk, next, source);
        }

        return largest;
    }

    private static int Check(ref Chunk<int> chunk, int next, Source<int> source)
    {
        Assert.Equal(next, chunk.FirstIndex);
        foreach (int item in chunk.Items)
        {
            Assert.Equal(next++, item);
        }

        Assert.Equal(next, source.NextIndex);
        chunk.Position = chunk.Count;
        return next;
    }

    private static IEnumerable<int> Lazy(int count)
    {
        for (int i = 0; i < count; i++)
        {
            yield return i;
        }
    }

    private static async IAsyncEnumerable<int> AsAsync(IEnumerable<int> items)
    {
        await Task.CompletedTask;
        foreach (int item in items)
        {
            yield return item;
        }
    }

    /// <summary>A sequence that counts how often it was asked after its end.</summary>
    private sealed class Strict(int count) : IEnumerable<int>, IEnumerator<int>
    {
        public int Ends { get; private set; }

        public int Disposals { get; private set; }

        public int Current { get; private set; } = -1;

        object System.Collections.IEnumerator.Current => Current;

        public IEnumerator<int> GetEnumerator() => this;

        System.Collections.IEnumerator System.Collections.IEnumerable.GetEnumerator() => this;

        public bool MoveNext()
        {
            if (Current == count - 1)
            {
                Ends++;
                return false;
            }

            Current++;
            return true;
        }

        public void Reset() => throw new NotSupportedException();

        public void Dispose()
        {
            if (Ends > 0 && Disposals == 0)
            {
                Disposals++;
            }
        }
    }
}
