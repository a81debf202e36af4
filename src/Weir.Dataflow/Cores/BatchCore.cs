using System.Diagnostics.CodeAnalysis;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Links;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>What a BatchBlock does: fills an array and hands it to the output.</summary>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "The timer ends with the block's completion.")]
internal sealed partial class BatchCore<T> : TargetCore<T>, IOutputHost<T[]>
{
    private readonly IPropagatorBlock<T, T[]> _owner;
    private readonly BatchTimer? _timer;

    /// <summary>Whether a message needs nothing but its place in the batch.</summary>
    private readonly bool _isPlain;
    private T[]? _batch;
    private int _filled;
    private long _made;

    /// <summary>Messages that are being consumed, and have a place in one of the groups that are left.</summary>
    private int _claimed;

    /// <summary>The last group was asked for while messages of it were being consumed.</summary>
    private bool _delayed;

    public BatchCore(IPropagatorBlock<T, T[]> owner, int batchSize, BlockOptions options, TimeSpan? flushAfter, TimeProvider? timeProvider)
        : base(options)
    {
        if (batchSize < 1)
        {
            throw new ArgumentOutOfRangeException(nameof(batchSize), "Number must be positive.");
        }

        if (batchSize > options.Capacity)
        {
            throw new ArgumentOutOfRangeException(nameof(batchSize), "Number must be no greater than the value specified in BoundedCapacity.");
        }

        if (flushAfter is { } time)
        {
            if (time <= TimeSpan.Zero)
            {
                throw new ArgumentOutOfRangeException(nameof(flushAfter), "The time must be positive.");
            }

            _timer = new BatchTimer(this.Flush, time, timeProvider!);
        }

        _owner = owner;
        _isPlain = options is { IsBounded: false, Greedy: true, MaxGroups: long.MaxValue };
        BatchSize = batchSize;
        Source = new SourceCore<T[]>(owner, this, options);
        ListenToToken();
    }

    public int BatchSize { get; }

    public SourceCore<T[]> Source { get; }

    protected override ITargetBlock<T> Self => _owner;

    protected override bool TakesOffersNeedsLock => Options.Greedy;

    int IOutputHost<T[]>.Weigh(T[] item) => item.Length;

    void IOutputHost<T[]>.OutputLeft(int weight) => Free(weight, here: false);

    void IOutputHost<T[]>.OutputFailed() => Complete(null, drop: true);

    void IOutputHost<T[]>.OutputCompleted()
    {
        StopListening();
        _timer?.Dispose();
    }

    public override bool Post(T item)
    {
        if (!_isPlain)
        {
            return base.Post(item);
        }

        GateOwner? key = Gate.Enter();
        if (IsDecliningNeedsLock)
        {
            Gate.Exit(key);
            return false;
        }

        IAfterLock? after = StoreNeedsLock(item);
        Gate.Exit(key);
        after?.AfterLock();
        return true;
    }

    /// <summary>Makes a batch of what there is.</summary>
    public void Trigger()
    {
        GateOwner? key = Gate.Enter();
        IAfterLock? after = null;
        if (!IsDeclining)
        {
            if (Options.Greedy)
            {
                // With nothing to make a batch of, a bounded block lets the request stand until room comes, as Microsoft's do.
                _triggered = IsBounded && _filled == 0;
                after = MakePartNeedsLock();
            }
            else
            {
                _triggered = true;
                after = PostponedNewNeedsLock();
            }
        }

        Leave(key, after);
    }

    protected override IAfterLock? StoreNeedsLock(T item)
    {
        T[] batch = _batch ??= new T[BatchSize];
        batch[_filled++] = item;
        _claimed -= _claimed > 0 ? 1 : 0;
        if (_filled == batch.Length || (_delayed && _claimed == 0))
        {
            return MakePartNeedsLock();
        }

        // The clock is the user's: it is asked once the gate is left.
        return _filled == 1 ? _timer : null;
    }

    protected override bool ClaimNeedsLock()
    {
        long groups = Options.MaxGroups - _made;
        if (groups <= int.MaxValue && (groups * BatchSize) - _filled - _claimed <= 0)
        {
            return false;
        }

        _claimed++;
        return true;
    }

    protected override IAfterLock? UnclaimNeedsLock() => --_claimed == 0 && _delayed ? MakePartNeedsLock() : null;

    protected override void DropNeedsLock()
    {
        _batch = null;
        _filled = 0;
    }

    protected override bool IsDrainedNeedsLock() => !_fetching;

    protected override void Cancelled()
    {
        base.Cancelled();
        Source.Reconsider();
    }

    protected override void Finished(List<Exception>? exceptions)
    {
        GateOwner? key = Gate.Enter();
        IAfterLock? after = exceptions is null && !Options.Token.IsCancellationRequested ? MakePartNeedsLock() : null;
        Gate.Exit(key);
        after?.AfterLock();
        Source.Complete(exceptions);
    }

    /// <summary>The timer: the batch that was begun when it was set, if it is still being filled.</summary>
    private void Flush()
    {
        GateOwner? key = Gate.Enter();
        Leave(key, IsDeclining ? null : MakePartNeedsLock());
    }

    private IAfterLock? MakePartNeedsLock()
    {
        if (_filled == 0)
        {
            return null;
        }

        T[] batch = _batch!;
        if (_filled < batch.Length && _claimed > 0 && _made + 1 >= Options.MaxGroups)
        {
            _delayed = true;
            return null;
        }

        if (_filled < batch.Length)
        {
            batch = batch[.._filled];
        }

        _batch = null;
        _filled = 0;
        return HandOutNeedsLock(batch);
    }

    private IAfterLock? HandOutNeedsLock(T[] batch)
    {
        _triggered &= !IsPullingNeedsLock;
        if (++_made >= Options.MaxGroups)
        {
            CompleteNeedsLock(null, drop: false, always: false);
        }

        return Source.Add(batch);
    }
}
