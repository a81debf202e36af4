using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>A join that makes a tuple of lists. As something to do after the locks, it closes all targets.</summary>
internal abstract class BatchedJoinShared : JoinBase<IBatchedJoinTarget>
{
    private readonly Retrying _retrying;
    private readonly long _limit;
    private int _left;
    private long _claimed;

    /// <summary>How many messages the last tuple has, if that are fewer than the others have.</summary>
    private int _rest;

    protected BatchedJoinShared(int batchSize, BlockOptions dataflowBlockOptions)
        : base(dataflowBlockOptions)
    {
        if (batchSize < 1)
        {
            throw new ArgumentOutOfRangeException(nameof(batchSize), "Number must be positive.");
        }

        if (!dataflowBlockOptions.Greedy)
        {
            throw new ArgumentException("Greedy must be true for this dataflow block.", nameof(dataflowBlockOptions));
        }

        if (dataflowBlockOptions.IsBounded)
        {
            throw new ArgumentException("BoundedCapacity must be Unbounded or -1 for this dataflow block.", nameof(dataflowBlockOptions));
        }

        BatchSize = _left = batchSize;
        _retrying = new Retrying(this);
        _limit = Options.MaxGroups > long.MaxValue / batchSize ? long.MaxValue : Options.MaxGroups * batchSize;
    }

    public int BatchSize { get; }

    public bool HasEnoughNeedsLock => Made >= Options.MaxGroups;

    /// <inheritdoc/>
    public override BlockSample Sample()
    {
        // The tuples are read first: a message leaves the present one before it is counted among them.
        BlockSample sample = default;
        long grouped = Volatile.Read(ref Made) * BatchSize;
        sample.Processed = grouped + Volatile.Read(ref _rest);
        sample.Discarded = Volatile.Read(ref Discarded);
        sample.Received = grouped + BatchSize - Volatile.Read(ref _left);
        sample.Queued = Math.Max(0, sample.Received - sample.Processed - sample.Discarded);
        SampleOutput(ref sample);
        return sample;
    }

    /// <summary>One of the messages that all targets together take in their life.</summary>
    /// <returns>Whether there is one to be had.</returns>
    public bool ClaimNeedsLock()
    {
        if (_claimed >= _limit)
        {
            return false;
        }

        _claimed++;
        return true;
    }

    /// <summary>A claimed message could not be had: others may claim it.</summary>
    public IAfterLock ReleaseClaimNeedsLock()
    {
        _claimed--;
        return _retrying;
    }

    /// <summary>One message more.</summary>
    public IAfterLock? CountNeedsLock()
    {
        Listed.Begin(this);
        if (_left > 1)
        {
            _left--;
            return null;
        }

        IAfterLock? after = EmitNeedsLock();
        if (ReferenceEquals(after, NoMemory.Instance))
        {
            return after;
        }

        _left = BatchSize;
        Volatile.Write(ref Made, Made + 1);
        return !HasEnoughNeedsLock ? after : after is null ? this : new AfterBoth(after, this);
    }

    /// <summary>Messages were thrown away.</summary>
    public void OnDiscardedNeedsLock(int count) => Discarded += count;

    /// <summary>Closes all targets.</summary>
    public override void AfterLock() => DeclineAll();

    public override void Fault(Exception exception)
    {
        Targets[0].Fail(exception);
        FailAll();
    }

    /// <summary>A target is closed. After the last one, what has been collected is handed out.</summary>
    public override void TargetFinished(List<Exception>? exceptions)
    {
        IAfterLock? after = null;
        LockOwner? key = StateLock.Enter();
        bool last = FinishedNeedsLock(key, exceptions);
        if (last && Exceptions is null && !Options.Token.IsCancellationRequested && _left < BatchSize && !HasEnoughNeedsLock)
        {
            after = EmitNeedsLock();
            _rest = ReferenceEquals(after, NoMemory.Instance) ? 0 : BatchSize - _left;
        }

        StateLock.Exit(key);
        if (ReferenceEquals(after, NoMemory.Instance))
        {
            after = null;
            Exceptions = [NoMemory.Exception()];
        }

        after?.AfterLock();
        if (last)
        {
            CompleteOutput();
        }
    }

    private sealed class Retrying(BatchedJoinShared join) : IAfterLock
    {
        public void AfterLock()
        {
            foreach (IBatchedJoinTarget target in join.Targets)
            {
                target.Retry();
            }
        }
    }
}

/// <summary>A batched join of two.</summary>
internal sealed class BatchedJoinCore<T1, T2> : BatchedJoinShared
{
    public BatchedJoinCore(ISourceBlock<Tuple<IList<T1>, IList<T2>>> owner, int batchSize, BlockOptions options)
        : base(batchSize, options)
    {
        Source = new SourceCore<Tuple<IList<T1>, IList<T2>>>(owner, this, options);
        Target1 = new BatchedJoinTarget<T1>(this, options);
        Target2 = new BatchedJoinTarget<T2>(this, options);
        Begin(Source, Target1, Target2);
        Target1.ListenToToken();
    }

    public SourceCore<Tuple<IList<T1>, IList<T2>>> Source { get; }

    public BatchedJoinTarget<T1> Target1 { get; }

    public BatchedJoinTarget<T2> Target2 { get; }

    protected override IAfterLock? AddTupleNeedsLock() => Source.Add(Tuple.Create(Target1.BeginTakeNeedsLock(), Target2.BeginTakeNeedsLock()));
}

/// <summary>A batched join of three.</summary>
internal sealed class BatchedJoinCore<T1, T2, T3> : BatchedJoinShared
{
    public BatchedJoinCore(ISourceBlock<Tuple<IList<T1>, IList<T2>, IList<T3>>> owner, int batchSize, BlockOptions options)
        : base(batchSize, options)
    {
        Source = new SourceCore<Tuple<IList<T1>, IList<T2>, IList<T3>>>(owner, this, options);
        Target1 = new BatchedJoinTarget<T1>(this, options);
        Target2 = new BatchedJoinTarget<T2>(this, options);
        Target3 = new BatchedJoinTarget<T3>(this, options);
        Begin(Source, Target1, Target2, Target3);
        Target1.ListenToToken();
    }

    public SourceCore<Tuple<IList<T1>, IList<T2>, IList<T3>>> Source { get; }

    public BatchedJoinTarget<T1> Target1 { get; }

    public BatchedJoinTarget<T2> Target2 { get; }

    public BatchedJoinTarget<T3> Target3 { get; }

    protected override IAfterLock? AddTupleNeedsLock() =>
        Source.Add(Tuple.Create(Target1.BeginTakeNeedsLock(), Target2.BeginTakeNeedsLock(), Target3.BeginTakeNeedsLock()));
}

/// <summary>One of the targets of a batched join. Its list is guarded by the join's lock, which comes after its own.</summary>
internal sealed class BatchedJoinTarget<T>(BatchedJoinShared join, BlockOptions options) : JoinedTarget<T>(options), IBatchedJoinTarget
{
    private readonly BatchedJoinShared _join = join;
    private List<T> _items = [];
    private List<T>? _next;

    protected override IJoin Owner => _join;

    /// <summary>The list so far. The target owns it until <see cref="TakenNeedsLock"/>, which cannot fail.</summary>
    public IList<T> BeginTakeNeedsLock()
    {
        _next ??= [];
        return _items;
    }

    public override void TakenNeedsLock()
    {
        _items = _next!;
        _next = null;
    }

    /// <inheritdoc/>
    public override void Show(BlockView view)
    {
        base.Show(view);
        view.Input = _items.ToArray();
    }

    void IBatchedJoinTarget.Retry() => Retry();

    protected override IAfterLock? StoreNeedsLock(T item)
    {
        LockOwner? key = _join.StateLock.Enter();
        IAfterLock? after = StoreInJoinNeedsLock(item);
        bool enough = _join.HasEnoughNeedsLock;
        _join.StateLock.Exit(key);
        if (enough)
        {
            CompleteNeedsLock(null, discard: false, always: false);
        }

        return after;
    }

    private IAfterLock? StoreInJoinNeedsLock(T item)
    {
        if (_items.Count < _items.Capacity || TryGrow())
        {
            _items.Add(item);
            IAfterLock? after = _join.CountNeedsLock();
            if (ReferenceEquals(after, NoMemory.Instance))
            {
                _items.RemoveAt(_items.Count - 1);
            }

            return after;
        }

        return NoMemory.Instance;
    }

    private bool TryGrow()
    {
        try
        {
            MemoryPoint.Pass(typeof(BatchedJoinTarget<T>));
            _items.EnsureCapacity(_items.Count + 1);
            return true;
        }
        catch (OutOfMemoryException)
        {
            return false;
        }
    }

    protected override bool ClaimNeedsLock()
    {
        LockOwner? key = _join.StateLock.Enter();
        bool claimed = _join.ClaimNeedsLock();
        _join.StateLock.Exit(key);
        return claimed;
    }

    protected override IAfterLock? ReleaseClaimNeedsLock()
    {
        LockOwner? key = _join.StateLock.Enter();
        IAfterLock after = _join.ReleaseClaimNeedsLock();
        _join.StateLock.Exit(key);
        return after;
    }

    protected override void DiscardNeedsLock()
    {
        LockOwner? key = _join.StateLock.Enter();
        _join.OnDiscardedNeedsLock(_items.Count);
        _items.Clear();
        _join.StateLock.Exit(key);
    }

    protected override bool IsDrainedNeedsLock() => true;

    /// <summary>The callback of the token failed, which is that of the whole join.</summary>
    public override void WorkFailed(Exception error)
    {
        base.WorkFailed(error);
        _join.FailAll();
    }
}

/// <summary>A target of a batched join.</summary>
internal interface IBatchedJoinTarget : IJoinedTarget
{
    /// <summary>Takes what it postponed, if that is allowed now.</summary>
    void Retry();
}
