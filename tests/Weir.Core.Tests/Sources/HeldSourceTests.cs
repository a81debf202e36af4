using System.Threading.Channels;
using Weir.Core.Sources;
using Weir.TestKit;

namespace Weir.Core.Tests.Sources;

/// <summary>A source that is told to pause and to go on again and again, by another thread, gives every item all the same.</summary>
public sealed class HeldSourceTests
{
    private const int Items = 40_000;
    private const int BatchSize = 3;

    private static readonly int[] All = [.. Enumerable.Range(0, Items)];

    public static TheoryData<string> Sources { get; } =
        ["array", "collection", "lazy", "async", "channel", "keyed", "array batches", "lazy batches", "async batches", "queue batches"];

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(Sources))]
    public async Task Hold_AtAnyMoment_LosesNoItem(string kind)
    {
        List<int> seen = kind switch
        {
            "array" => await ReadAsync(SourceOf.Enumerable(All)),
            "collection" => await ReadAsync(new CollectionSource<int>(new Queue<int>(All), Items)),
            "lazy" => await ReadAsync(new LazySource<int>(All.Select(static item => item))),
            "async" => await ReadAsync(SourceOf.AsyncEnumerable(Channelled().ReadAllAsync())),
            "channel" => await ReadAsync(SourceOf.Channel(Channelled())),
            "keyed" => await ReadAsync(new KeyedSource<int, int>(SourceOf.Enumerable(All), static item => item, null, 1, 100)),
            "array batches" => await ReadBatchesAsync(Batches.Enumerable(All, BatchSize)),
            "lazy batches" => await ReadBatchesAsync(Batches.Enumerable(All.Select(static item => item), BatchSize)),
            "async batches" => await ReadBatchesAsync(Batches.AsyncEnumerable(Channelled().ReadAllAsync(), BatchSize, null, TimeProvider.System)),
            _ => [.. (await ReadAsync(Batches.AsyncEnumerable(Queued(), BatchSize, null, TimeProvider.System))).SelectMany(static batch => batch)],
        };
        Assert.Equal(All, seen.Order());
    }

    private static ChannelReader<int> Channelled()
    {
        Channel<int> channel = Channel.CreateUnbounded<int>();
        Assert.All(All, item => Assert.True(channel.Writer.TryWrite(item)));
        channel.Writer.Complete();
        return channel.Reader;
    }

    private static WorkQueue<int> Queued()
    {
        WorkQueue<int> queue = new();
        Assert.All(All, item => queue.Add(item));
        return queue;
    }

    private static async Task<List<int>> ReadBatchesAsync(Source<IReadOnlyList<int>> source)
    {
        List<IReadOnlyList<int>> batches = await ReadAsync(source);
        // A pause in the middle of a batch does not end it.
        Assert.All(batches[..^1], static batch => Assert.Equal(BatchSize, batch.Count));
        return [.. batches.SelectMany(static batch => batch)];
    }

    private static async Task<List<T>> ReadAsync<T>(Source<T> source)
    {
        using CancellationTokenSource ended = new();
        using Barrier begin = new(2);
        Task orders = Task.Factory.StartNew(
            () =>
            {
                begin.SignalAndWait();
                Random random = new(1);
                while (!ended.IsCancellationRequested)
                {
                    source.Hold(SourceHold.Paused);
                    Thread.SpinWait(random.Next(40));
                    source.Hold(SourceHold.None);
                    Thread.SpinWait(random.Next(40));
                }
            },
            TaskCreationOptions.LongRunning);
        List<T> read = [];
        await Task.Factory.StartNew(
            () =>
            {
                begin.SignalAndWait();
                Read(source, read);
            },
            TaskCreationOptions.LongRunning).WithinAsync("the reader");
        await ended.CancelAsync();
        await orders.WithinAsync("the orders");
        await source.DisposeAsync();
        return read;
    }

    private static void Read<T>(Source<T> source, List<T> read)
    {
        Chunk<T> chunk = default;
        bool pending = false;
        while (true)
        {
            ClaimResult result = pending ? source.FinishClaim(ref chunk) : source.TryClaim(ref chunk, 16, long.MaxValue);
            pending = false;
            switch (result)
            {
                case ClaimResult.Empty:
                    source.Release(ref chunk);
                    return;
                case ClaimResult.Claimed:
                    read.AddRange(chunk.Items);
                    for (int i = 0; source is ILanes lanes && i < chunk.Count; i++)
                    {
                        lanes.ItemEnded(chunk.FirstIndex + i);
                    }

                    chunk.Position = chunk.Count;
                    break;
                case ClaimResult.Pending:
                    using (ManualResetEventSlim ready = new())
                    {
                        source.OnReady(ready.Set);
                        ready.Wait();
                    }

                    pending = true;
                    break;
                default:
                    Assert.Equal(ClaimResult.Paused, result);
                    Thread.SpinWait(4);
                    break;
            }
        }
    }
}
