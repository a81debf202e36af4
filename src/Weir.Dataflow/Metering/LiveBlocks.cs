using System.Threading.Tasks.Dataflow;
using Weir.Core.Live;
using Weir.Dataflow.Links;
using Weir.Observability;

namespace Weir.Dataflow.Metering;

/// <summary>Reads the blocks under way and what they are linked with, for snapshots: an entry for each block, and one for each network of them.</summary>
internal sealed class LiveBlocks : LiveSource
{
    public override void Read(LiveReading reading)
    {
        // Which block each one knows. Those without a message are found by the links to them.
        Dictionary<object, Node> nodes = new(ReferenceEqualityComparer.Instance);
        Queue<Node> queue = new();
        foreach ((IMeteredBlock block, BlockSample sample, long since) in BlockTotals.UnderWay())
        {
            Node node = new(block.Block) { Metered = block, Sample = sample, Since = reading.At(TimeProvider.System, since) };
            if (nodes.TryAdd(block.Block, node))
            {
                queue.Enqueue(node);
            }
        }

        while (queue.TryDequeue(out Node? node))
        {
            foreach (object target in node.Metered?.LinkedNow ?? [])
            {
                object block = BlockOf(target);
                if (!nodes.TryGetValue(block, out Node? fed))
                {
                    nodes[block] = fed = new Node(block);
                }

                node.Feeds.Add(fed.Id);
                node.JoinWith(fed);
            }
        }

        foreach (IGrouping<Node, Node> network in nodes.Values.GroupBy(static node => node.Network).ToList())
        {
            Add(reading, [.. network.OrderBy(static node => LiveIds.NumberOf(node.Id))]);
        }
    }

    public override void Sample(Action<string, StageSample> add)
    {
        foreach ((IMeteredBlock block, BlockSample sample, _) in BlockTotals.UnderWay())
        {
            if (LiveIds.Known(block.Block) is { } id)
            {
                add(id, StageOf(block, sample));
            }
        }
    }

    private static StageSample StageOf(IMeteredBlock block, in BlockSample sample)
    {
        bool isFull = block.Capacity is { } capacity && sample.Queued + sample.InFlight + sample.Output >= capacity;
        if (block.Parallelism is not { } parallelism)
        {
            // It makes no calls: it only keeps messages.
            return new StageSample(0, isFull && sample.Output > 0 ? StageRest.Output : StageRest.Source, 0, HasOutput: sample.Output > 0);
        }

        long workers = parallelism == int.MaxValue ? Math.Max(1, sample.InFlight) : parallelism;
        StageRest rest = isFull && sample.Output > 0 ? StageRest.Output
            : isFull && block.Capacity < workers && sample.Queued == 0 ? StageRest.Bound
            : sample.Queued > 0 ? StageRest.Pool
            : StageRest.Source;
        return new StageSample(Math.Min(1, sample.InFlight / (double)workers), rest, workers, HasOutput: sample.Output > 0);
    }

    protected override IEnumerable<object> Targets() => BlockTotals.UnderWay().Select(static known => (object)known.Block.Block);

    private static object BlockOf(object target)
    {
        while (target is IStandsForBlock part)
        {
            target = part.Block;
        }

        return target;
    }

    private static void Add(LiveReading reading, Node[] blocks)
    {
        string id = $"network-{LiveIds.NumberOf(blocks[0].Id)}";
        foreach (Node block in blocks)
        {
            reading.Entries.Add(block.Show(id));
        }

        reading.Entries.Add(new LiveEntry
        {
            Id = id,
            Kind = LiveKind.Network,
            Type = blocks.Length == 1 ? "1 block" : $"{blocks.Length} blocks",
            State = blocks.Any(static block => block.IsBusy) ? LiveState.Running : LiveState.Idle,
            Since = blocks.Min(static block => block.Since),
            InFlight = blocks.Sum(static block => block.Sample.InFlight),
            Waiting = blocks.Sum(static block => block.Sample.Queued),
            Output = blocks.Sum(static block => block.Sample.Output),
        });
    }

    /// <summary>A block, and the network that it is in.</summary>
    private sealed class Node(object block)
    {
        private Node? _joined;

        public string Id { get; } = LiveIds.Of(LiveKind.Block, block);

        /// <summary>What counts its messages; null if it has had none, or is no block of this library.</summary>
        public IMeteredBlock? Metered { get; init; }

        public BlockSample Sample { get; init; }

        public DateTimeOffset? Since { get; init; }

        public List<string> Feeds { get; } = [];

        public bool IsBusy => Sample.InFlight + Sample.Queued + Sample.Output > 0;

        /// <summary>One block of the network, which all of its blocks agree on.</summary>
        public Node Network => _joined is null ? this : _joined = _joined.Network;

        public void JoinWith(Node other)
        {
            if (other.Network != Network)
            {
                other.Network._joined = Network;
            }
        }

        public LiveEntry Show(string network)
        {
            long failed = Sample.Failed?.Values.Sum() ?? 0;
            return new LiveEntry
            {
                Id = Id,
                Kind = LiveKind.Block,
                Type = BlockLabel.KindOf(block),
                Name = Metered?.Name,
                State = IsBusy ? LiveState.Running : LiveState.Idle,
                Parent = network,
                Since = Since,
                Done = Math.Max(0, Sample.Processed - failed - Sample.Cancelled),
                Failed = failed,
                Cancelled = Sample.Cancelled + Sample.Discarded,
                InFlight = Sample.InFlight,
                Waiting = Sample.Queued,
                Output = Sample.Output,
                Limit = Metered?.Parallelism is { } limit and not int.MaxValue ? limit : null,
                Capacity = Metered?.Capacity,
                Feeds = Feeds,
            };
        }
    }
}
