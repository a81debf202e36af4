using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading.Tasks.Dataflow;
using Weir.Core;
using Weir.Core.Live;
using Weir.Core.Metering;
using Weir.Core.Threads;
using Weir.Observability;

namespace Weir.Dataflow.Metering;

/// <summary>The instruments of blocks. All but the durations read the blocks' own counts when a listener asks.</summary>
/// <remarks>
/// <para>
/// <b>From a block to a listener.</b> With its first message, a block takes a slot among those under way (<see cref="ListedBlock"/>,
/// <see cref="BlockTotals"/>). It counts in its own fields and reports nothing. When a listener asks, the instruments read the counts of all listed blocks
/// (<see cref="BlockSample"/>), without the blocks' locks, and sum them by name (<see cref="BlockLabel"/>). A block that completes leaves its slot, and its
/// counts go to the sums of those that have ended, in one step.
/// </para>
/// <para>
/// <b>Before anybody listens</b>, none of the instruments exists: <see cref="BlockListeners"/> creates them once there may be a listener. What listeners throw
/// stays here. Their code runs under no lock of a block.
/// </para>
/// <para>
/// <b>Locks.</b> There is one, that of <see cref="BlockTotals"/>. It comes inside any lock of a block, and only counts are read under it.
/// </para>
/// </remarks>
internal static class BlockMeter
{
    private const string Queue = "weir.block.queue";

    private static readonly Meter Meter = new(DiagnosticNames.Library, typeof(BlockMeter).Assembly.GetName().Version?.ToString(3));

    // Null if a listener threw when it was notified of the instrument.
    private static readonly Instrument?[] Instruments =
    [
        SafeCall.Try(static () => Meter.CreateObservableUpDownCounter(
            "weir.blocks.active", static () => Measure(static s => s.Blocks), "{block}", "Blocks that have had a message and are not complete.")),
        SafeCall.Try(static () => Meter.CreateObservableCounter(
            "weir.block.received", static () => Measure(static s => s.Received), "{message}", "Messages that blocks have taken.")),
        SafeCall.Try(static () => Meter.CreateObservableCounter(
            "weir.block.sent", static () => Measure(static s => s.Sent), "{message}", "Results, groups and messages that have left blocks.")),
        SafeCall.Try(static () => Meter.CreateObservableCounter("weir.block.messages", MeasureMessages, "{message}", "What became of the messages of blocks.")),
        SafeCall.Try(static () => Meter.CreateObservableUpDownCounter(
            "weir.block.in_flight", static () => Measure(static s => s.InFlight), "{message}", "Messages inside their call.")),
        SafeCall.Try(static () => Meter.CreateObservableUpDownCounter(
            "weir.block.queued", MeasureQueued, "{message}", "Messages that wait for their call or group, and results that nobody has taken.")),
    ];

    private static readonly Histogram<double>? CallDuration =
        SafeCall.Try(static () => Durations.Create(Meter, "weir.block.duration", "The duration of the calls for single messages."));

    public static bool HasListeners => MeasuresCalls || Array.Exists(Instruments, static instrument => instrument is { Enabled: true });

    /// <summary>Whether somebody wants the duration of each call.</summary>
    public static bool MeasuresCalls => CallDuration is { Enabled: true };

    public static void Call(BlockLabel label, TimeSpan elapsed, Exception? error) => SafeCall.Invoke(
        static call => CallDuration?.Record(call.Seconds, call.Label.With(call.Error is null ? null : DiagnosticNames.ErrorType, call.Error)),
        (Label: label, Seconds: elapsed.TotalSeconds, Error: error?.GetType().FullName));

    private static List<Measurement<long>> MeasureMessages()
    {
        List<Measurement<long>> measurements = [];
        foreach ((BlockLabel label, BlockSample sum) in BlockTotals.Sum())
        {
            long failed = 0;
            foreach ((string error, long count) in sum.Failed ?? [])
            {
                failed += count;
                measurements.Add(new(count, label.WithOutcome("failed", error)));
            }

            measurements.Add(new(Math.Max(0, sum.Processed - failed - sum.Cancelled), label.WithOutcome("succeeded", null)));
            measurements.Add(new(sum.Cancelled, label.WithOutcome("cancelled", null)));
            measurements.Add(new(sum.Discarded, label.WithOutcome("discarded", null)));
        }

        return measurements;
    }

    private static List<Measurement<long>> MeasureQueued() =>
    [
        .. Measure(static s => s.Queued, Queue, "input"),
        .. Measure(static s => s.Output, Queue, "output"),
    ];

    private static List<Measurement<long>> Measure(Func<BlockSample, long> read, string? key = null, string? value = null) =>
        [.. BlockTotals.Sum().Select(sum => new Measurement<long>(read(sum.Value), sum.Key.With(key, value)))];
}

/// <summary>What tells blocks apart in metrics: their kind and name.</summary>
internal sealed record BlockLabel(string Kind, string? Name)
{
    private const string KindTag = "weir.block.type";
    private const string NameTag = "weir.block.name";

    /// <summary>The label under which the blocks of too many names are counted together, with the tag that OpenTelemetry has for it.</summary>
    public static BlockLabel Overflow { get; } = new("overflow", null);

    /// <summary>The label of a block.</summary>
    public static BlockLabel Of(IMeteredBlock block) => new(KindOf(block.Block), block.Name);

    /// <summary>What kind of block it is.</summary>
    public static string KindOf(object block) => block.GetType().Name.Split('`')[0];

    public KeyValuePair<string, object?>[] Tags { get; } = (Kind, Name) switch
    {
        ("overflow", _) => [new("otel.metric.overflow", true)],
        (_, null) => [new(KindTag, Kind)],
        _ => [new(KindTag, Kind), new(NameTag, Name)],
    };

    /// <summary>The tags, and one more after them.</summary>
    public KeyValuePair<string, object?>[] With(string? key, object? value) => key is null ? Tags : [.. Tags, new(key, value)];

    /// <summary>The tags, the outcome and what was thrown.</summary>
    public KeyValuePair<string, object?>[] WithOutcome(string outcome, string? error) => error is null
        ? With(DiagnosticNames.Outcome, outcome)
        : [.. Tags, new(DiagnosticNames.Outcome, outcome), new(DiagnosticNames.ErrorType, error)];

    public bool Equals(BlockLabel? other) => other is not null && Kind == other.Kind && Name == other.Name;

    public override int GetHashCode() => HashCode.Combine(Kind, Name);
}

/// <summary>Whether anybody listens to blocks.</summary>
internal static class BlockListeners
{
    private static readonly ListenerDetector Detector = new(DiagnosticNames.ListenersAssembly, Prepare, WatchTime.For(TimeProvider.System));

    private static volatile bool _isReady;

    /// <summary>Whether somebody wants the duration of each call. False until <see cref="Look"/> found that somebody may listen.</summary>
    public static bool WantsCalls
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _isReady && AskForCalls();
    }

    /// <summary>Whether somebody counts blocks.</summary>
    public static bool IsMetered => _isReady && AskForMeter();

    /// <summary>Creates what can be listened to, once somebody may listen. That runs listeners' code: not under a lock.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void Look()
    {
        if (!_isReady && Detector.IsPossible)
        {
            Prepare();
        }
    }

    // Separate methods, because to compile them loads the assembly that listeners need, and then there may be some.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool AskForCalls() => BlockMeter.MeasuresCalls;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool AskForMeter() => BlockMeter.HasListeners;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Prepare()
    {
        _ = BlockMeter.HasListeners;
        _isReady = true;
    }
}

/// <summary>The counts of one block, or the sums of several.</summary>
internal struct BlockSample
{
    /// <summary>Messages that the block has accepted.</summary>
    public long Received;

    /// <summary>Messages whose call has ended in any way. In a block without calls: those that it has passed on, or made part of a group.</summary>
    public long Processed;

    /// <summary>Messages that were discarded before that, because the block failed, was cancelled, or has no partners for them.</summary>
    public long Discarded;

    /// <summary>Messages that wait for their call or their group.</summary>
    public long Queued;

    /// <summary>Messages inside their call.</summary>
    public long InFlight;

    /// <summary>Results that nobody has taken.</summary>
    public long Output;

    /// <summary>Results that have left.</summary>
    public long Sent;

    /// <summary>Blocks under way.</summary>
    public long Blocks;

    /// <summary>The parts of <see cref="Processed"/> whose call did not succeed, by what it threw; null for cancelled ones.</summary>
    public Dictionary<string, long>? Failed;

    public long Cancelled;

    /// <summary>Counts are read while messages move. This keeps those that only grow from becoming smaller.</summary>
    public void NotBefore(in BlockSample last)
    {
        Received = Math.Max(Received, last.Received);
        Processed = Math.Max(Processed, last.Processed);
        Discarded = Math.Max(Discarded, last.Discarded);
        Sent = Math.Max(Sent, last.Sent);
    }

    public void Add(in BlockSample other)
    {
        Received += other.Received;
        Processed += other.Processed;
        Discarded += other.Discarded;
        Queued += other.Queued;
        InFlight += other.InFlight;
        Output += other.Output;
        Sent += other.Sent;
        Blocks += other.Blocks;
        Cancelled += other.Cancelled;
        foreach ((string type, long count) in other.Failed ?? [])
        {
            Failed ??= new(StringComparer.Ordinal);
            Failed[type] = Failed.GetValueOrDefault(type) + count;
        }
    }

    /// <summary>Nothing is under way any more.</summary>
    public void End() => Queued = InFlight = Output = Blocks = 0;
}

/// <summary>The blocks under way, and the sums of those that have ended, by name. Thread-safe; runs no code of the user's.</summary>
/// <remarks>
/// A block knows the number of its slot, and nothing else: an object for each block would make all of them larger. It passes itself along too, so that a slot
/// that another block has by now is left alone.
/// </remarks>
internal static class BlockTotals
{
    /// <summary>How many labels are kept. Further ones are counted together, so that names that never repeat do not fill the memory.</summary>
    private const int MostLabels = 1000;
    private const int FewBlocks = 64;

    private static readonly Lock Lock = new();

    // Under the lock.

    /// <summary>The sums of the blocks that have ended.</summary>
    private static readonly Dictionary<BlockLabel, BlockSample> Ended = [];

    /// <summary>The slots. The first is nobody's, so that 0 is none.</summary>
    private static Entry[] _entries = new Entry[FewBlocks];

    /// <summary>How many slots have been taken at some time.</summary>
    private static int _used = 1;

    /// <summary>Which of them are free. It has room for all, so that to free a slot needs no memory.</summary>
    private static Stack<int> _free = new(FewBlocks);

    private static bool _isRead;

    /// <summary>At so many blocks, those are looked for that were collected before they completed.</summary>
    private static int _sweepAt = FewBlocks;

    private static int Count => _used - 1 - _free.Count;

    /// <summary>A block accepts its first message. The caller may hold the block's lock.</summary>
    /// <returns>The number of its slot.</returns>
    public static int Begin(IMeteredBlock block)
    {
        lock (Lock)
        {
            if (!_isRead)
            {
                // Its own lock is taken for a moment, under which nothing is called.
                _isRead = true;
                LiveSource.Add(new LiveBlocks());
            }

            if (Count >= _sweepAt)
            {
                SweepNeedsLock();
            }

            // What needs memory comes first.
            if (_free.Count == 0 && _used == _entries.Length)
            {
                GrowNeedsLock();
            }

            Entry entry = new(block);
            int slot = _free.TryPop(out int free) ? free : _used++;
            _entries[slot] = entry;
            return slot;
        }
    }

    /// <summary>A block is complete. It counts among those that have ended if anybody reads it, or has done so.</summary>
    public static void End(int slot, IMeteredBlock block, bool isMetered)
    {
        lock (Lock)
        {
            if (IsOfNeedsLock(slot, block))
            {
                EndNeedsLock(slot, isMetered);
                ForgetSlotsNeedsLock();
            }
        }
    }

    /// <summary>
    /// The sums by label. One that has no block at present is zero rather than absent, so that nobody takes its last value for the present one.
    /// </summary>
    public static Dictionary<BlockLabel, BlockSample> Sum()
    {
        Dictionary<BlockLabel, BlockSample> sums;
        lock (Lock)
        {
            SweepNeedsLock();
            for (int slot = 1; slot < _used; slot++)
            {
                // A block that is collected at this moment has been read by nobody, or has a label.
                if (_entries[slot].Block is { } block)
                {
                    _ = LabelNeedsLock(ref _entries[slot], block);
                }
            }

            sums = new(Ended);
            for (int slot = 1; slot < _used; slot++)
            {
                ref Entry entry = ref _entries[slot];
                if (entry.Known is { Label: { } label } record)
                {
                    Add(sums, label, record.Read(entry.Block));
                }
            }
        }

        return sums;
    }

    /// <summary>The blocks under way, with their counts and when their first message came.</summary>
    public static List<(IMeteredBlock Block, BlockSample Sample, long Since)> UnderWay()
    {
        List<(IMeteredBlock, BlockSample, long)> blocks;
        lock (Lock)
        {
            blocks = new(Count);
            for (int slot = 1; slot < _used; slot++)
            {
                ref Entry entry = ref _entries[slot];
                if (entry.Block is { } block)
                {
                    blocks.Add((block, entry.Known is { } known ? known.Read(block) : block.Sample(), entry.Since));
                }
            }
        }

        return blocks;
    }

    /// <summary>A call of a block has failed.</summary>
    /// <param name="slot">The block's slot.</param>
    /// <param name="block">The block.</param>
    /// <param name="error">What it threw; null if it was cancelled.</param>
    public static void Failed(int slot, IMeteredBlock block, Exception? error)
    {
        string? type = error is null ? null : error.GetType().FullName ?? error.GetType().Name;
        lock (Lock)
        {
            if (IsOfNeedsLock(slot, block))
            {
                (_entries[slot].Known ??= new Record()).Failed(type);
            }
        }
    }

    /// <summary>The label under which the block is counted; null if it is not.</summary>
    public static BlockLabel? LabelOf(int slot, IMeteredBlock block)
    {
        lock (Lock)
        {
            return IsOfNeedsLock(slot, block) ? LabelNeedsLock(ref _entries[slot], block) : null;
        }
    }

    private static bool IsOfNeedsLock(int slot, IMeteredBlock block) => slot < _used && ReferenceEquals(_entries[slot].Block, block);

    private static BlockLabel LabelNeedsLock(ref Entry entry, IMeteredBlock block)
    {
        Record record = entry.Known ??= new Record();
        if (record.Label is not { } label)
        {
            label = BlockLabel.Of(block);
            record.Label = label = Ended.ContainsKey(label) || Ended.Count < MostLabels ? label : BlockLabel.Overflow;
            Ended.TryAdd(label, default);
        }

        return label;
    }

    private static void SweepNeedsLock()
    {
        for (int slot = 1; slot < _used; slot++)
        {
            if (_entries[slot] is { IsTaken: true, Block: null })
            {
                EndNeedsLock(slot, isMetered: false);
            }
        }

        ForgetSlotsNeedsLock();
        _sweepAt = Math.Max(FewBlocks, 2 * Count);
    }

    private static void EndNeedsLock(int slot, bool isMetered)
    {
        ref Entry entry = ref _entries[slot];
        IMeteredBlock? block = entry.Block;
        if (isMetered && block is not null)
        {
            _ = LabelNeedsLock(ref entry, block);
        }

        if (entry.Known is { Label: { } label } record)
        {
            // In one hold of the lock with the leaving of its slot, so that a counter never decreases.
            BlockSample sample = record.Read(block);
            sample.End();
            Add(Ended, label, sample);
        }

        entry.Free();
        _free.Push(slot);
    }

    private static void GrowNeedsLock()
    {
        int length = checked(_entries.Length * 2);
        _free.EnsureCapacity(length);
        Array.Resize(ref _entries, length);
    }

    /// <summary>When the last of many blocks has ended, the long arrays go.</summary>
    private static void ForgetSlotsNeedsLock()
    {
        if (_entries.Length > FewBlocks && Count == 0)
        {
            try
            {
                (_entries, _free) = (new Entry[FewBlocks], new Stack<int>(FewBlocks));
                _used = 1;
                _sweepAt = FewBlocks;
            }
            catch (OutOfMemoryException)
            {
                // They stay.
            }
        }
    }

    private static void Add(Dictionary<BlockLabel, BlockSample> sums, BlockLabel label, in BlockSample sample)
    {
        // A new sum, because those that are read must not share a dictionary with those that grow.
        BlockSample sum = default;
        sum.Add(sums.GetValueOrDefault(label));
        sum.Add(sample);
        sums[label] = sum;
    }

    /// <summary>A slot for a block under way, which does not keep the block alive. A struct, because each block that is used has one.</summary>
    private struct Entry(IMeteredBlock block)
    {
        private GCHandle _block = GCHandle.Alloc(block, GCHandleType.Weak);

        /// <summary>When it was taken.</summary>
        public long Since { get; } = TimeProvider.System.GetTimestamp();

        /// <summary>What is known of the block. Null as long as nobody asks and no call fails.</summary>
        public Record? Known { get; set; }

        /// <summary>Whether the slot is taken, perhaps by a block that was collected.</summary>
        public readonly bool IsTaken => _block.IsAllocated;

        /// <summary>The block, unless it was collected.</summary>
        public readonly IMeteredBlock? Block => _block.IsAllocated ? (IMeteredBlock?)_block.Target : null;

        /// <summary>Frees the slot.</summary>
        public void Free()
        {
            _block.Free();
            Known = null;
        }
    }

    /// <summary>What is known of a block that somebody has read, or whose calls have failed. Under the lock.</summary>
    private sealed class Record
    {
        private BlockSample _last;
        private Dictionary<string, long>? _failed;
        private long _cancelled;

        /// <summary>The label under which the block is counted, once somebody has read it.</summary>
        public BlockLabel? Label { get; set; }

        /// <summary>A call has failed.</summary>
        /// <param name="error">The type of what it threw; null if it was cancelled: its message has no result, and the block goes on.</param>
        public void Failed(string? error)
        {
            if (error is null)
            {
                _cancelled++;
            }
            else
            {
                _failed ??= new(StringComparer.Ordinal);
                _failed[error] = _failed.GetValueOrDefault(error) + 1;
            }
        }

        /// <summary>The counts. If the block was collected, those that were read last.</summary>
        public BlockSample Read(IMeteredBlock? block)
        {
            if (block is null)
            {
                _last.End();
                return _last;
            }

            BlockSample sample = block.Sample();
            sample.NotBefore(_last);
            sample.Blocks = 1;
            sample.Cancelled = _cancelled;
            sample.Failed = _failed;
            _last = sample;
            return sample;
        }
    }
}

/// <summary>A block whose counts can be read at any time, without a lock.</summary>
internal interface IMeteredBlock
{
    /// <summary>The block, as its users have it.</summary>
    IDataflowBlock Block { get; }

    /// <summary>The name that its options give it, or null.</summary>
    string? Name { get; }

    /// <summary>How many messages it takes at most; null for any number.</summary>
    int? Capacity { get; }

    /// <summary>How many calls it may make at once; null if it makes none.</summary>
    int? Parallelism => null;

    /// <summary>The linked targets, read without a lock; those of a block that gives copies only if it lists them.</summary>
    object[] LinkedNow => [];

    BlockSample Sample();
}

/// <summary>A block that sends to each of its targets by itself.</summary>
internal interface IReliableSource
{
    /// <summary>The linked targets.</summary>
    object[] LinkedNow { get; }
}

/// <summary>The slot of a block among those under way. The block takes it with its first message, and leaves it when it is complete.</summary>
internal struct ListedBlock
{
    private int _slot;

    /// <summary>A message comes. Called under the block's lock. Throws nothing, and runs no listener's code.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Begin(IMeteredBlock block)
    {
        if (_slot == 0)
        {
            _slot = Enter(block);
        }
    }

    /// <summary>The block is complete, and its counts do not change any more.</summary>
    public readonly void End(IMeteredBlock block)
    {
        if (_slot != 0)
        {
            BlockTotals.End(_slot, block, BlockListeners.IsMetered);
        }
    }

    /// <summary>A call of the block has failed, or was cancelled if there is no error.</summary>
    public readonly void Failed(IMeteredBlock block, Exception? error)
    {
        if (_slot != 0)
        {
            BlockTotals.Failed(_slot, block, error);
        }
    }

    /// <summary>The label under which the block is counted; null if it is not.</summary>
    public readonly BlockLabel? Label(IMeteredBlock block) => _slot == 0 ? null : BlockTotals.LabelOf(_slot, block);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Enter(IMeteredBlock block)
    {
        try
        {
            return BlockTotals.Begin(block);
        }
        catch (OutOfMemoryException)
        {
            // The message matters more than its count.
            return 0;
        }
    }
}

/// <summary>Tells listeners how long each call of a block took. A block has one from when somebody asks for that.</summary>
/// <remarks>
/// A message is known by its number. What its call threw is noted on the thread that has seen it, because that thread then reports the end.
/// </remarks>
internal sealed class CallWatch(BlockLabel label)
{
    [ThreadStatic]
    private static Exception? _error;

    private readonly ConcurrentDictionary<long, long> _began = new();

    /// <summary>The call of a message begins on this thread.</summary>
    /// <returns>What <see cref="Exit"/> restores.</returns>
    public Exception? Begin(long id)
    {
        _began[id] = Stopwatch.GetTimestamp();
        return Enter();
    }

    /// <summary>This thread deals with the result of a call that has ended, perhaps inside a call of another block.</summary>
    /// <returns>What <see cref="Exit"/> restores.</returns>
    public static Exception? Enter()
    {
        Exception? outer = _error;
        _error = null;
        return outer;
    }

    /// <summary>The call that this thread deals with has failed.</summary>
    public static void Failed(Exception error) => _error = error;

    /// <summary>This thread is through with a message, whose call has ended or is pending.</summary>
    public void Exit(long id, bool isDone, Exception? outer)
    {
        if (isDone && _began.TryRemove(id, out long began))
        {
            BlockMeter.Call(label, Stopwatch.GetElapsedTime(began), _error);
        }

        _error = outer;
    }
}

/// <summary>A target that stands for a block, or is a part of one.</summary>
internal interface IStandsForBlock
{
    /// <summary>The block, which may stand for another one.</summary>
    object Block { get; }
}

/// <summary>Reads the blocks under way and what they are linked with, for snapshots: an entry for each block, and one for each network of them.</summary>
internal sealed class LiveBlocks : LiveSource
{
    public override void Read(LiveReading reading)
    {
        // Which block each one knows. Those without a message are found by the links to them.
        List<(IMeteredBlock, BlockSample, long)> underWay = BlockTotals.UnderWay();
        Dictionary<object, Node> nodes = new(underWay.Count, ReferenceEqualityComparer.Instance);
        Queue<Node> queue = new(underWay.Count);
        foreach ((IMeteredBlock block, BlockSample sample, long since) in underWay)
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
