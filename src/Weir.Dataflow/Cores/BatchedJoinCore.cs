using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>The core of a BatchedJoinBlock: makes a tuple of lists, one for each target, of as many messages together as the batch size.</summary>
/// <remarks>
/// <para>
/// <b>Locks</b> are those of <see cref="JoinCore"/>: the input lock of a target, then the join lock, then the state lock of the output. It is always greedy and
/// unbounded, so nothing is fetched.
/// </para>
/// <para>
/// <b>MaxNumberOfGroups.</b> A message is claimed before it is accepted or consumed, from the number that all targets together accept in the block's life. If a
/// claimed message could not be consumed, all targets try once more what they have postponed (<see cref="Retrying"/>). After the last tuple, all targets
/// decline: this object, as <see cref="IAfterLock"/>, sees to that.
/// </para>
/// <para>
/// <b>The end.</b> When the last target has ended, what was collected becomes the last tuple, and the output completes.
/// </para>
/// </remarks>
internal abstract class BatchedJoinCore : JoinBase<IBatchedJoinTarget>
{
    // Immutable.
    private readonly Retrying _retrying;

    /// <summary>How many messages all targets together accept.</summary>
    private readonly long _limit;

    // Under the join lock. Listeners read without it.

    /// <summary>How many messages the next tuple still needs.</summary>
    private int _missing;

    /// <summary>How many messages were accepted, or claimed in order to be.</summary>
    private long _claimed;

    /// <summary>How many messages the last tuple has, if it has fewer than the others.</summary>
    private int _remainder;

    protected BatchedJoinCore(int batchSize, BlockOptions dataflowBlockOptions)
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

        BatchSize = _missing = batchSize;
        _retrying = new Retrying(this);
        _limit = Options.MaxGroups > long.MaxValue / batchSize ? long.MaxValue : Options.MaxGroups * batchSize;
    }

    public int BatchSize { get; }

    public bool HasEnoughNeedsLock => Made >= Options.MaxGroups;

    /// <inheritdoc/>
    public override BlockSample Sample()
    {
        // The tuples are read first: a message leaves the present tuple before it counts among those that were made.
        BlockSample sample = default;
        long grouped = Volatile.Read(ref Made) * BatchSize;
        sample.Processed = grouped + Volatile.Read(ref _remainder);
        sample.Discarded = Volatile.Read(ref Discarded);
        sample.Received = grouped + BatchSize - Volatile.Read(ref _missing);
        sample.Queued = Math.Max(0, sample.Received - sample.Processed - sample.Discarded);
        SampleOutput(ref sample);
        return sample;
    }

    /// <summary>Claims one of the messages that all targets together accept.</summary>
    /// <returns>Whether there was one left.</returns>
    public bool ClaimNeedsLock()
    {
        if (_claimed >= _limit)
        {
            return false;
        }

        _claimed++;
        return true;
    }

    /// <summary>A claimed message could not be consumed: another one may be.</summary>
    public IAfterLock ReleaseClaimNeedsLock()
    {
        _claimed--;
        return _retrying;
    }

    /// <summary>A message was stored. Makes a tuple if it is the last that was missing.</summary>
    public IAfterLock? CountNeedsLock()
    {
        Listed.Begin(this);
        if (_missing > 1)
        {
            _missing--;
            return null;
        }

        IAfterLock? after = EmitNeedsLock();
        if (ReferenceEquals(after, NoMemory.Instance))
        {
            return after;
        }

        _missing = BatchSize;
        Volatile.Write(ref Made, Made + 1);
        return !HasEnoughNeedsLock ? after : after is null ? this : new AfterBoth(after, this);
    }

    /// <summary>Messages were discarded.</summary>
    public void OnDiscardedNeedsLock(int count) => Discarded += count;

    /// <summary>After the last tuple: all targets decline.</summary>
    public override void AfterLock() => DeclineAll();

    public override void Fault(Exception exception)
    {
        Targets[0].Fail(exception);
        FailAll();
    }

    /// <inheritdoc/>
    /// <remarks>After the last target, what was collected becomes a tuple.</remarks>
    public override void TargetFinished(List<Exception>? exceptions)
    {
        IAfterLock? after = null;
        LockOwner? key = StateLock.Enter();
        bool last = FinishedNeedsLock(key, exceptions);
        if (last && Exceptions is null && !Options.Token.IsCancellationRequested && _missing < BatchSize && !HasEnoughNeedsLock)
        {
            after = EmitNeedsLock();
            _remainder = ReferenceEquals(after, NoMemory.Instance) ? 0 : BatchSize - _missing;
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

    /// <summary>Has all targets try once more what they have postponed.</summary>
    private sealed class Retrying(BatchedJoinCore join) : IAfterLock
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

/// <summary>The core of a BatchedJoinBlock with two targets.</summary>
internal sealed class BatchedJoinCore<T1, T2> : BatchedJoinCore
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

/// <summary>The core of a BatchedJoinBlock with three targets.</summary>
internal sealed class BatchedJoinCore<T1, T2, T3> : BatchedJoinCore
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

/// <summary>A target of a BatchedJoinBlock.</summary>
internal sealed class BatchedJoinTarget<T>(BatchedJoinCore join, BlockOptions options) : JoinedTarget<T>(options), IBatchedJoinTarget
{
    private readonly BatchedJoinCore _join = join;

    // Under the join lock: the list that is being filled, and the next one, which exists before the first goes into a tuple.
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

/// <summary>A target of a BatchedJoinBlock, whatever its messages.</summary>
internal interface IBatchedJoinTarget : IJoinedTarget
{
    /// <summary>Takes what the target has postponed, if it may be accepted now.</summary>
    void Retry();
}
