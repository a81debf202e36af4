using System.Diagnostics;
using System.Threading.Tasks.Dataflow;
using Weir.Observability;
using Weir.TestKit;

namespace Weir.Dataflow.Tests.Metering;

/// <summary>Bottlenecks are planted in networks of blocks, and the watch has to name each of them.</summary>
public sealed class NetworkBottleneckTests : IDisposable
{
    private static readonly DataflowLinkOptions Propagating = new() { PropagateCompletion = true };

    private readonly string _name = $"network.{Guid.NewGuid():N}";
    private readonly Gate _gate = new();

    public void Dispose() => _gate.Dispose();

    [Theory(Timeout = 90_000)]
    [InlineData(1, 0, 1)]
    [InlineData(2, 1, 2)]
    [InlineData(3, 0, 4)]
    [InlineData(3, 1, 1)]
    [InlineData(3, 2, 8)]
    [InlineData(5, 2, 2)]
    [InlineData(8, 6, 3)]
    public async Task SlowStage_IsTheBlock(int length, int slow, int workers)
    {
        TransformBlock<int, int>[] chain = Chain(length, at => new()
        {
            MaxDegreeOfParallelism = at == slow ? workers : 2, BoundedCapacity = at == slow ? 2 * workers : 4,
        }, at => at == slow);
        chain[^1].LinkTo(DataflowBlock.NullTarget<int>());
        Feed(chain[0]);
        LiveEntry network = await NamesAsync(chain, LiveReason.SlowStage, slow);
        Assert.Equal(1.0 / workers, network.Bottleneck!.Gain!.Value, 6);
        Assert.StartsWith($"`{_name}.{slow}` is busy ", network.Bottleneck.Sentence, StringComparison.Ordinal);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(2, 1)]
    [InlineData(4, 1)]
    [InlineData(4, 2)]
    [InlineData(8, 3)]
    [InlineData(16, 4)]
    public async Task SmallBound_IsTheBlock(int workers, int capacity)
    {
        TransformBlock<int, int>[] chain = Chain(3, at => new()
        {
            MaxDegreeOfParallelism = at == 1 ? workers : 1, BoundedCapacity = at == 1 ? capacity : 100,
        }, static at => at == 1);
        chain[^1].LinkTo(DataflowBlock.NullTarget<int>());
        Feed(chain[0]);
        await NamesAsync(chain, LiveReason.SmallBound, 1);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(4)]
    public async Task SlowSource_IsTheFirstBlock(int length)
    {
        TransformBlock<int, int>[] chain = Chain(length, static _ => new(), static _ => false);
        chain[^1].LinkTo(DataflowBlock.NullTarget<int>());
        chain[0].Post(1);
        await NamesAsync(chain, LiveReason.SlowSource, 0, () => chain[0].Post(1));
    }

    [Theory(Timeout = 90_000)]
    [InlineData(1, DataflowBlockOptions.Unbounded)]
    [InlineData(2, 1)]
    [InlineData(3, 8)]
    public async Task SlowConsumer_IsTheLastBlock(int length, int capacity)
    {
        TransformBlock<int, int>[] chain = Chain(length, _ => new() { BoundedCapacity = capacity }, static _ => false);
        Feed(chain[0]);
        await NamesAsync(chain, LiveReason.SlowConsumer, length - 1);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(4)]
    public async Task StarvedPool_IsTheBlockWithoutAThread(int workers)
    {
        TransformBlock<int, int>[] chain = Chain(3, at => at == 1
            ? new() { MaxDegreeOfParallelism = workers, TaskScheduler = new NoThreads() }
            : new(), static _ => false);
        chain[^1].LinkTo(DataflowBlock.NullTarget<int>());
        Feed(chain[0]);
        await NamesAsync(chain, LiveReason.StarvedPool, 1);
    }

    private TransformBlock<int, int>[] Chain(int length, Func<int, ExecutionDataflowBlockOptions> options, Func<int, bool> isSlow)
    {
        TransformBlock<int, int>[] chain = new TransformBlock<int, int>[length];
        for (int i = 0; i < length; i++)
        {
            ExecutionDataflowBlockOptions own = options(i);
            own.NameFormat = $"{_name}.{i}";
            chain[i] = isSlow(i)
                ? new(async x =>
                {
                    await _gate.WaitAsync();
                    return x;
                }, own)
                : new(static x => x, own);
            if (i > 0)
            {
                chain[i - 1].LinkTo(chain[i], Propagating);
            }
        }

        return chain;
    }

    private static void Feed(TransformBlock<int, int> first)
    {
        for (int i = 0; i < 100; i++)
        {
            _ = first.SendAsync(i);
        }
    }

    private LiveEntry? Seen(LiveWatch watch) =>
        watch.Latest.Entries.FirstOrDefault(entry => entry.Name == $"{_name}.0") is { } block
            ? watch.Latest.Entries.Single(entry => entry.Id == block.Parent)
            : null;

    /// <summary>The watch names the bottleneck once the network has come to it, and goes on to do so.</summary>
    private async Task<LiveEntry> NamesAsync(TransformBlock<int, int>[] chain, LiveReason reason, int at, Action? step = null)
    {
        ManualTimeProvider time = new();
        using LiveWatch watch = WeirDiagnostics.Watch(new LiveWatchOptions { TimeProvider = time, SamplesAlways = true });
        long began = Stopwatch.GetTimestamp();

        // The clock of the watch is far faster than that of the blocks: what it sees at first is how they come to where they stay.
        for (int same = 0; same < 20; same++)
        {
            Assert.True(Stopwatch.GetElapsedTime(began) < TimeSpan.FromSeconds(30), $"Named was: {Seen(watch)?.Bottleneck}");
            step?.Invoke();
            while (step is not null && chain[0].InputCount > 0)
            {
                await Task.Yield();
            }

            time.Advance(TimeSpan.FromSeconds(2));
            await Task.Yield();
            LiveBottleneck? named = Seen(watch)?.Bottleneck;
            same = named?.Reason == reason && named.Stage == $"{_name}.{at}" ? same : -1;
        }

        GC.KeepAlive(chain);
        return Seen(watch)!;
    }

    /// <summary>A scheduler whose threads are all taken by something else.</summary>
    private sealed class NoThreads : TaskScheduler
    {
        private readonly List<Task> _waiting = [];

        protected override IEnumerable<Task> GetScheduledTasks() => _waiting;

        protected override void QueueTask(Task task)
        {
            lock (_waiting)
            {
                _waiting.Add(task);
            }
        }

        protected override bool TryExecuteTaskInline(Task task, bool taskWasPreviouslyQueued) => false;
    }
}
