using System.Threading.Channels;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Explore.Tests.Scenarios;

/// <summary>Orders to a run, whatever it reads: nothing is lost, nothing comes twice.</summary>
public class SourceScenarios(ITestOutputHelper output)
{
    private static readonly int[] Four = [1, 2, 3, 4];

    [Theory]
    [InlineData("array")]
    [InlineData("keyed")]
    [InlineData("collection")]
    [InlineData("lazy")]
    [InlineData("async")]
    [InlineData("channel")]
    public void Orders_AtAnyTime_LoseNoItem(string kind) => output.Explored(async () =>
    {
        RunControl control = new();
        int[] attempts = new int[Four.Length + 1];
        Task ordering = Task.Run(() =>
        {
            control.Pause();
            control.MaxDegreeOfParallelism = 1;
            control.Resume();
        });
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 2, MaxRetries = 1, BaseDelay = TimeSpan.Zero, Control = control };
        List<int> results = kind switch
        {
            "array" => await Four.SelectParallelAsync(CallAsync, options),
            "keyed" => await Four.PartitionBy(static item => item % 2).SelectParallelAsync(CallAsync, options),
            "collection" => await new Queue<int>(Four).SelectParallelAsync(CallAsync, options),
            "lazy" => await Lazy().SelectParallelAsync(CallAsync, options),
            "async" => await Calls.ItemsAsync(Four).SelectParallelAsync(CallAsync, options),
            _ => await Channelled().SelectParallelAsync(CallAsync, options),
        };
        await ordering;
        Assert.Equal(Four, results);
        Assert.Equal([0, 1, 2, 1, 1], attempts);
        Assert.Equal((0, 4L), (control.Snapshot().RunningRuns, control.Snapshot().Succeeded));

        ValueTask<int> CallAsync(int item, CancellationToken token) =>
            Interlocked.Increment(ref attempts[item]) == 1 && item == 2 ? throw new TimeoutException() : new ValueTask<int>(item);
    });

    [Theory]
    [InlineData("array")]
    [InlineData("lazy")]
    [InlineData("async")]
    [InlineData("queue")]
    public void Batches_OfARunThatIsPaused_AreFull(string kind) => output.Explored(async () =>
    {
        RunControl control = new();
        Task ordering = Task.Run(() =>
        {
            control.Pause();
            control.Resume();
        });
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 2, Control = control };
        List<int> sums = kind switch
        {
            "array" => await Four.BatchParallelAsync(2, SumAsync, options),
            "lazy" => await Lazy().BatchParallelAsync(2, SumAsync, options),
            "queue" => await Queued().BatchParallelAsync(2, SumAsync, options),
            _ => await Calls.ItemsAsync(Four).BatchParallelAsync(2, SumAsync, options),
        };
        await ordering;
        Assert.Equal([3, 7], sums);

        static ValueTask<int> SumAsync(IReadOnlyList<int> batch, CancellationToken token) => new(batch.Sum());
    });

    [Fact]
    public void WhatWasRead_TakenByTheWatch_IsClaimedOnce() => output.Explored(static async () =>
    {
        int[] claimed = new int[16];
        Source<int> source = SourceOf.Enumerable(claimed.Select(static (_, index) => index).Where(static index => index >= 0));
        source.Readers = SourceReaders.MayReadAhead;
        Chunk<int> chunk = default;

        // One by one until the source knows that it gets them at once.
        for (int i = 0; i < 8; i++)
        {
            Claim(source, ref chunk, 16, claimed);
        }

        Task watch = Task.Run(() =>
        {
            Chunk<int> taken = default;
            source.ShareIfStuck();
            if (source.ShareIfStuck())
            {
                Claim(source, ref taken, 1, claimed);
            }
        });
        while (!source.IsExhausted)
        {
            Claim(source, ref chunk, 3, claimed);
        }

        await watch;
        while (!source.IsExhausted)
        {
            Claim(source, ref chunk, 3, claimed);
        }

        Assert.All(claimed, static times => Assert.Equal(1, times));

        static void Claim(Source<int> source, ref Chunk<int> chunk, int max, int[] claimed)
        {
            if (source.TryClaim(ref chunk, max, long.MaxValue) == ClaimResult.Claimed)
            {
                foreach (int item in chunk.Items)
                {
                    Interlocked.Increment(ref claimed[item]);
                }

                chunk.Position = chunk.Count;
            }
        }
    });

    [Fact]
    public void Rest_OfAWorkerWhoseItemLasts_IsTakenOnce() => output.Explored(
        static async () =>
        {
            int[] items = [.. Enumerable.Range(0, 34)];
            int[] begun = new int[items.Length];
            ListCompletion<int> completion = new(items.Length);
            Pump<int, int, PendingResult<int>, SelectorCall<int, int>, ListSink<int>> pump = new(
                SourceOf.Enumerable(items),
                new SelectorCall<int, int>((item, _) => new ValueTask<int>(Interlocked.Increment(ref begun[item]))),
                new ListSink<int>(completion),
                new PumpSettings { Limit = 2, ErrorMode = ErrorMode.FailFast });
            pump.Start(1, default);
            for (int look = 0; look < 3; look++)
            {
                pump.HelpIfStalled(double.NaN);
            }

            await completion.Task;
            Assert.All(begun, static times => Assert.Equal(1, times));
        },
        new ExploreOptions { StoreBuffers = true });

    private static IEnumerable<int> Lazy() => Four.Select(static item => item);

    private static WorkQueue<int> Queued()
    {
        WorkQueue<int> queue = new();
        queue.AddRange(Four);
        return queue;
    }

    private static ChannelReader<int> Channelled()
    {
        Channel<int> channel = Channel.CreateUnbounded<int>();
        Assert.All(Four, item => Assert.True(channel.Writer.TryWrite(item)));
        channel.Writer.Complete();
        return channel.Reader;
    }
}
