using System.Diagnostics;
using System.Threading.Tasks.Dataflow;
using Weir.Core;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>A join that makes a tuple of single messages. After the locks are left, it fetches messages if it is not greedy, and ends targets.</summary>
internal abstract class JoinShared(BlockOptions options) : JoinBase<IJoinTarget>(options), IUnattended
{
    /// <summary>
    /// How often a fetch was asked for since the last one ended. While it is not 0, a fetch is queued or at work, and no target may end: the fetch may have
    /// consumed messages of some targets and not yet those of the others. Guarded by the lock.
    /// </summary>
    private int _fetchWanted;
    private bool _ending;

    /// <summary>How many targets have a message. Guarded by the lock.</summary>
    private int _withItems;

    /// <summary>A target declines, so a tuple may take its last message.</summary>
    private volatile bool _declines;

    /// <summary>How many tuples were made. Guarded by the lock.</summary>
    public long MadeNeedsLock => Made;

    /// <summary>Whether messages may be on their way from the sources. Guarded by the lock.</summary>
    public bool IsFetchingNeedsLock => _fetchWanted > 0;

    /// <inheritdoc/>
    /// <remarks>Each message is counted as part of a tuple, or as thrown away, once it is no longer in a queue.</remarks>
    public override BlockSample Sample()
    {
        BlockSample sample = default;
        sample.Processed = Targets.Length * Volatile.Read(ref Made);
        sample.Discarded = Volatile.Read(ref Discarded);
        foreach (IJoinTarget target in Targets)
        {
            sample.Queued += target.CountNow;
        }

        sample.Received = sample.Processed + sample.Discarded + sample.Queued;
        SampleOutput(ref sample);
        return sample;
    }

    /// <summary>Makes tuples while there is a message on each target.</summary>
    public IAfterLock? JoinNeedsLock()
    {
        if (_withItems < Targets.Length)
        {
            return null;
        }

        IAfterLock? after = EmitNeedsLock();
        if (ReferenceEquals(after, NoMemory.Instance))
        {
            return after;
        }

        Volatile.Write(ref Made, Made + 1);
        if (!_declines)
        {
            return after;
        }

        foreach (IJoinTarget target in Targets)
        {
            if (target.IsDeclining && !target.HasItemNeedsLock)
            {
                return after is null ? new Rechecking(this) : new AfterBoth(after, new Rechecking(this));
            }
        }

        return after;
    }

    /// <summary>A target has got its first message.</summary>
    public void OnFilledNeedsLock()
    {
        Listed.Begin(this);
        _withItems++;
    }

    /// <summary>A target has no message any more.</summary>
    public void OnEmptiedNeedsLock() => _withItems--;

    /// <summary>Messages were thrown away, and are in no queue any more.</summary>
    public void OnDiscardedNeedsLock(int count) => Volatile.Write(ref Discarded, Discarded + count);

    /// <summary>A target has begun to decline. Before it looks whether it is empty.</summary>
    public void TargetDeclines() => _declines = true;

    public override void Fault(Exception exception)
    {
        // Once no further tuple can be made it is too late for faults from outside.
        LockOwner? key = StateLock.Enter();
        try
        {
            if (!_ending)
            {
                (Exceptions ??= []).Add(exception);
            }
        }
        finally
        {
            StateLock.Exit(key);
        }

        FailAll();
    }

    /// <summary>A work item failed: the block faults.</summary>
    public void WorkFailed(Exception error)
    {
        Targets[0].FailInside(error);
        FailAll();
    }

    /// <summary>A target declines and has nothing left, so no further tuple can be made: all end.</summary>
    public override void TargetFinished(List<Exception>? exceptions)
    {
        LockOwner? key = StateLock.Enter();
        bool first = !_ending;
        _ending = true;
        bool last = FinishedNeedsLock(key, exceptions);
        StateLock.Exit(key);
        if (first)
        {
            FailAll();
        }

        if (last)
        {
            CompleteOutput();
        }
    }

    public override void OutputLeft(int weight)
    {
        foreach (IJoinTarget target in Targets)
        {
            target.Free(weight, onWorker: false);
        }
    }

    /// <summary>A message was postponed, or room came.</summary>
    public override void AfterLock()
    {
        if (!Array.TrueForAll(Targets, static target => target.CanFetch()) || !BeginFetch())
        {
            return;
        }

        try
        {
            if (Options.OnDefaultScheduler)
            {
                ThreadPool.UnsafeQueueUserWorkItem(static join => join.FetchUnattended(), this, preferLocal: false);
            }
            else
            {
                new Task(static join => ((JoinShared)join!).FetchUnattended(), this, TaskCreationOptions.DenyChildAttach).Start(Options.Scheduler);
            }
        }
        catch (Exception e)
        {
            FetchFailed(e);
        }
    }

    /// <summary>Asks for a fetch.</summary>
    /// <returns>Whether the caller has to start it. If not, the one at work looks once more.</returns>
    private bool BeginFetch()
    {
        LockOwner? key = StateLock.Enter();
        bool first = ++_fetchWanted == 1;
        StateLock.Exit(key);
        return first;
    }

    /// <summary>Ends the fetch, unless another was asked for since it looked.</summary>
    /// <param name="seen">How often a fetch had been asked for then. Null to end it anyway.</param>
    private bool TryEndFetch(int? seen)
    {
        LockOwner? key = StateLock.Enter();
        bool ends = seen is null || seen == _fetchWanted;
        _fetchWanted = ends ? 0 : _fetchWanted;
        StateLock.Exit(key);
        if (ends && _declines)
        {
            // A target that was asked to end meanwhile has waited for this.
            RecheckAll();
        }

        return ends;
    }

    private void RecheckAll()
    {
        foreach (IJoinTarget target in Targets)
        {
            target.Recheck();
        }
    }

    private void FetchUnattended() => Unattended.Run(this, static join => join.Fetch(), static (join, error) => join.FetchFailed(error));

    /// <summary>A fetch does not begin: the block faults, and no target waits for the fetch.</summary>
    private void FetchFailed(Exception error)
    {
        WorkFailed(error);
        TryEndFetch(null);
    }

    /// <summary>Reserves one message on each target and takes them, or releases those that it got. Ends when a target has none.</summary>
    private void Fetch()
    {
        int seen;
        do
        {
            seen = Volatile.Read(ref _fetchWanted);
            try
            {
                while (Array.TrueForAll(Targets, static target => target.CanFetch()))
                {
                    FetchOne();
                }
            }
            catch (Exception e)
            {
                Targets[0].FailInside(e);
                FailAll();
                ReleaseAll();
            }
        }
        while (!TryEndFetch(seen));
    }

    private void FetchOne()
    {
        int reserved = 0;
        while (reserved < Targets.Length && Targets[reserved].TryReserve())
        {
            reserved++;
        }

        if (reserved < Targets.Length)
        {
            // Those that are released offer again.
            while (reserved > 0)
            {
                Targets[--reserved].ReleaseReserved();
            }

            return;
        }

        Array.ForEach(Targets, static target => target.ConsumeReserved());
        Array.ForEach(Targets, static target => target.StoreConsumed());
    }

    /// <summary>The join has failed: what it has reserved is somebody else's.</summary>
    private void ReleaseAll()
    {
        foreach (IJoinTarget target in Targets)
        {
            try
            {
                target.ReleaseReserved();
            }
            catch (Exception)
            {
                // The join has failed with what came first.
            }
        }
    }

    /// <summary>Lets targets see that the last of their messages has gone into a tuple.</summary>
    private sealed class Rechecking(JoinShared join) : IAfterLock
    {
        public void AfterLock() => join.RecheckAll();
    }
}

/// <summary>What the targets of a join of any kind share: the lock over what they hold, the output, and an end that is that of all.</summary>
/// <typeparam name="TTarget">What a target can do.</typeparam>
internal abstract class JoinBase<TTarget> : IJoin, IOutputHost, IMeteredBlock, IAfterLock
    where TTarget : class, IJoinedTarget
{
    /// <summary>It comes after the targets' own locks.</summary>
    public BiasedLock StateLock;

    /// <summary>How many tuples were made. Guarded by the lock.</summary>
    protected long Made;
    protected long Discarded;
    protected ListedBlock Listed;
    private int _finished;

    protected JoinBase(BlockOptions options)
    {
        Options = options;
        BlockListeners.Look();
    }

    public BlockOptions Options { get; }

    public bool IsCompleted => Output.IsCompleted;

    Type IMeteredBlock.Type => Output.Block.GetType();

    string? IMeteredBlock.Name => Options.GivenName(Output.Block);

    protected TTarget[] Targets { get; private set; } = [];

    protected List<Exception>? Exceptions { get; set; }

    private IOutputSide Output { get; set; } = null!;

    public abstract void AfterLock();

    public abstract BlockSample Sample();

    /// <summary>What a target's ToString says.</summary>
    public string NameOf(IJoinedTarget target) => $"Target{Array.IndexOf(Targets, target) + 1} of {Output.Block}";

    /// <summary>Takes no more messages, and fails if there is an exception.</summary>
    public void End(Exception? exception)
    {
        if (exception is null)
        {
            DeclineAll();
        }
        else
        {
            Fault(exception);
        }
    }

    public abstract void Fault(Exception exception);

    public void FailAll()
    {
        foreach (TTarget target in Targets)
        {
            target.Fail(null);
        }
    }

    public void Cancelled()
    {
        FailAll();
        Output.Reconsider();
    }

    /// <inheritdoc/>
    public abstract void TargetFinished(List<Exception>? exceptions);

    public virtual void OutputLeft(int weight)
    {
    }

    void IOutputHost.OutputFailed() => FailAll();

    void IOutputHost.OutputCompleted()
    {
        foreach (TTarget target in Targets)
        {
            target.StopListeningToToken();
        }

        Listed.End(this);
    }

    /// <summary>The parts of the block. Its constructor says this last.</summary>
    protected void Begin(IOutputSide output, params TTarget[] targets) => (Output, Targets) = (output, targets);

    protected void SampleOutput(ref BlockSample sample) => Output.Sample(ref sample);

    protected void CompleteOutput() => Output.Complete(Exceptions);

    /// <summary>A target has ended. If there is no memory for its exceptions, leaves the lock and throws.</summary>
    /// <returns>Whether it was the last one.</returns>
    protected bool FinishedNeedsLock(LockOwner? key, List<Exception>? exceptions)
    {
        try
        {
            if (exceptions is not null)
            {
                (Exceptions ??= []).AddRange(exceptions);
            }
        }
        catch
        {
            StateLock.Exit(key);
            throw;
        }

        return ++_finished == Targets.Length;
    }

    /// <summary>Makes a tuple of what the targets have. Throws nothing.</summary>
    /// <returns>What has to be done once no lock is held; <see cref="NoMemory"/> if the targets still have it.</returns>
    protected IAfterLock? EmitNeedsLock()
    {
        IAfterLock? after;
        try
        {
            after = AddTupleNeedsLock();
        }
        catch (OutOfMemoryException)
        {
            return NoMemory.Instance;
        }

        if (!ReferenceEquals(after, NoMemory.Instance))
        {
            foreach (TTarget target in Targets)
            {
                target.TakenNeedsLock();
            }
        }

        return after;
    }

    /// <summary>Hands out a tuple of what the targets have. They are told afterwards.</summary>
    protected abstract IAfterLock? AddTupleNeedsLock();

    protected void DeclineAll()
    {
        foreach (TTarget target in Targets)
        {
            target.Decline();
        }
    }
}

/// <summary>A join of two.</summary>
internal sealed class JoinCore<T1, T2> : JoinShared
{
    public JoinCore(ISourceBlock<Tuple<T1, T2>> owner, BlockOptions options)
        : base(options)
    {
        Source = new SourceCore<Tuple<T1, T2>>(owner, this, options);
        Target1 = new JoinTarget<T1>(this, options);
        Target2 = new JoinTarget<T2>(this, options);
        Begin(Source, Target1, Target2);
        Target1.ListenToToken();
    }

    public SourceCore<Tuple<T1, T2>> Source { get; }

    public JoinTarget<T1> Target1 { get; }

    public JoinTarget<T2> Target2 { get; }

    protected override IAfterLock? AddTupleNeedsLock()
    {
        Tuple<T1, T2> tuple = Tuple.Create(Target1.PeekNeedsLock(), Target2.PeekNeedsLock());

        // Under the join's lock, so one at a time; but from there, a bounded join must not be told that a tuple left.
        return Options.IsBounded ? Source.Add(tuple) : Source.AddSerial(tuple);
    }
}

/// <summary>A join of three.</summary>
internal sealed class JoinCore<T1, T2, T3> : JoinShared
{
    public JoinCore(ISourceBlock<Tuple<T1, T2, T3>> owner, BlockOptions options)
        : base(options)
    {
        Source = new SourceCore<Tuple<T1, T2, T3>>(owner, this, options);
        Target1 = new JoinTarget<T1>(this, options);
        Target2 = new JoinTarget<T2>(this, options);
        Target3 = new JoinTarget<T3>(this, options);
        Begin(Source, Target1, Target2, Target3);
        Target1.ListenToToken();
    }

    public SourceCore<Tuple<T1, T2, T3>> Source { get; }

    public JoinTarget<T1> Target1 { get; }

    public JoinTarget<T2> Target2 { get; }

    public JoinTarget<T3> Target3 { get; }

    protected override IAfterLock? AddTupleNeedsLock()
    {
        Tuple<T1, T2, T3> tuple = Tuple.Create(Target1.PeekNeedsLock(), Target2.PeekNeedsLock(), Target3.PeekNeedsLock());

        // Under the join's lock, so one at a time; but from there, a bounded join must not be told that a tuple left.
        return Options.IsBounded ? Source.Add(tuple) : Source.AddSerial(tuple);
    }
}

/// <summary>One of the targets of a join. Its queue is guarded by the join's lock, which comes after its own.</summary>
internal sealed class JoinTarget<T> : JoinedTarget<T>, IJoinTarget
{
    private readonly JoinShared _join;
    private MessageQueue<T> _queue;
    private long _claimed;
    private PostponedOffer<T>? _fetched;
    private T? _item;

    /// <summary>The join has failed: a message that was being consumed meanwhile is thrown away too. Guarded by the join's lock.</summary>
    private bool _discards;

    /// <summary>Whether a message that is not to be consumed needs nothing but its place in the queue.</summary>
    private readonly bool _isPlain;

    public JoinTarget(JoinShared join, BlockOptions options)
        : base(options)
    {
        _join = join;
        _isPlain = options is { IsBounded: false, Greedy: true, MaxGroups: long.MaxValue };
    }

    bool IJoinTarget.HasItemNeedsLock => _queue.Count > 0;

    int IJoinTarget.CountNow => _queue.Count;

    protected override IJoin Owner => _join;

    protected override bool AcceptsOffersNeedsLock => Options.Greedy;

    public T PeekNeedsLock() => _queue.Peek();

    public override void TakenNeedsLock()
    {
        _queue.Dequeue();
        if (_queue.Count == 0)
        {
            _join.OnEmptiedNeedsLock();
        }
    }

    public override DataflowMessageStatus OfferMessage(
        DataflowMessageHeader messageHeader, T messageValue, ISourceBlock<T>? source, bool consumeToAccept)
    {
        if (!_isPlain || consumeToAccept || !messageHeader.IsValid)
        {
            return base.OfferMessage(messageHeader, messageValue, source, consumeToAccept);
        }

        // The join's lock is enough: who ends this target says so first, and then looks under that lock whether the queue is empty.
        LockOwner? key = _join.StateLock.Enter();
        if (IsDeclining)
        {
            _join.StateLock.Exit(key);
            return DataflowMessageStatus.DecliningPermanently;
        }

        IAfterLock? after = StoreInJoinNeedsLock(messageValue);
        _join.StateLock.Exit(key);
        after?.AfterLock();
        return DataflowMessageStatus.Accepted;
    }

    /// <inheritdoc/>
    public override void Show(BlockView view)
    {
        base.Show(view);
        view.Input = _queue.ToArray();
    }

    void IJoinTarget.FailInside(Exception exception) => Complete(exception, discard: true, always: true);

    bool IJoinTarget.CanFetch()
    {
        LockOwner? key = StateLock.Enter();
        bool can = !IsDeclining && PostponedNeedsLock is { Count: > 0 } && (!IsBounded || UsedNeedsLock < Options.Capacity);
        StateLock.Exit(key);
        return can;
    }

    bool IJoinTarget.TryReserve()
    {
        // If a message is gone, the one behind it takes its turn. If the fetch were given up instead, messages that other targets have reserved would be
        // released, and offered again behind what the same senders have sent meanwhile.
        while (true)
        {
            LockOwner? key = StateLock.Enter();
            PostponedOffer<T>? offer = IsDeclining ? null : (PostponedOffer<T>?)PostponedNeedsLock?.RemoveFirst();
            StateLock.Exit(key);
            if (offer is null)
            {
                return false;
            }

            if (offer.Source.ReserveMessage(offer.Header, this))
            {
                _fetched = offer;
                return true;
            }
        }
    }

    void IJoinTarget.ReleaseReserved()
    {
        if (_fetched is { } offer)
        {
            _fetched = null;
            offer.Source.ReleaseReservation(offer.Header, this);
        }
    }

    void IJoinTarget.ConsumeReserved()
    {
        PostponedOffer<T> offer = _fetched!;
        _fetched = null;
        _item = offer.Source.ConsumeMessage(offer.Header, this, out bool consumed);
        if (!consumed)
        {
            throw Protocol.NotConsumed();
        }
    }

    /// <summary>Puts what was consumed into the queue, from where the join takes it like any other.</summary>
    void IJoinTarget.StoreConsumed()
    {
        LockOwner? key = StateLock.Enter();
        T item = _item!;
        _item = default;
        ExitAndRun(key, AcceptNeedsLock(item));
    }

    protected override IAfterLock? StoreNeedsLock(T item)
    {
        LockOwner? key = _join.StateLock.Enter();
        IAfterLock? after = StoreInJoinNeedsLock(item);
        bool enough = _join.MadeNeedsLock + _queue.Count >= Options.MaxGroups;
        _join.StateLock.Exit(key);
        if (enough)
        {
            CompleteNeedsLock(null, discard: false, always: false);
        }

        return after;
    }

    private IAfterLock? StoreInJoinNeedsLock(T item)
    {
        if (_discards)
        {
            _join.OnDiscardedNeedsLock(1);
            return null;
        }

        if (!_queue.TryEnqueue(item))
        {
            return NoMemory.Instance;
        }

        if (_queue.Count == 1)
        {
            _join.OnFilledNeedsLock();
        }

        IAfterLock? after = _join.JoinNeedsLock();
        if (ReferenceEquals(after, NoMemory.Instance))
        {
            // No tuple could be made before, so it is the only message of this target.
            TakenNeedsLock();
        }

        return after;
    }

    // One for each tuple that will be made.
    protected override bool ClaimNeedsLock()
    {
        if (_claimed >= Options.MaxGroups)
        {
            return false;
        }

        _claimed++;
        return true;
    }

    protected override IAfterLock? ReleaseClaimNeedsLock()
    {
        _claimed--;
        return null;
    }

    protected override IAfterLock? OnPostponedNeedsLock() => Options.Greedy ? null : _join;

    protected override IAfterLock? OnRoomNeedsLock() => OnPostponedNeedsLock();

    protected override void DeclinedNeedsLock() => _join.TargetDeclines();

    protected override void DiscardNeedsLock()
    {
        LockOwner? key = _join.StateLock.Enter();
        _discards = true;
        if (_queue.Count > 0)
        {
            int discarded = _queue.Count;
            _join.OnEmptiedNeedsLock();
            _queue.Clear();
            _join.OnDiscardedNeedsLock(discarded);
        }

        _join.StateLock.Exit(key);
    }

    protected override bool IsDrainedNeedsLock()
    {
        LockOwner? key = _join.StateLock.Enter();
        bool drained = _queue.Count == 0 && !_join.IsFetchingNeedsLock;
        _join.StateLock.Exit(key);
        return drained;
    }

    protected override void FaultJoin(Exception exception)
    {
        if (IsDeclining)
        {
            _join.FailAll();
        }
        else
        {
            _join.Fault(exception);
        }
    }
}

/// <summary>One of the targets of a join of any kind. What it holds is guarded by the join's lock, which comes after its own.</summary>
[DebuggerDisplay("{DebuggerDisplay,nq}")]
[DebuggerTypeProxy(typeof(BlockView))]
internal abstract class JoinedTarget<T>(BlockOptions options) : TargetCore<T>(options), ITargetBlock<T>, IJoinedTarget
{
    Task IDataflowBlock.Completion =>
        throw new NotSupportedException("This member is not supported on this dataflow block: its completion is that of the join.");

    protected override ITargetBlock<T> Self => this;

    protected abstract IJoin Owner { get; }

    private string DebuggerDisplay => new BlockView(this).ToString();

    public abstract void TakenNeedsLock();

    public virtual DataflowMessageStatus OfferMessage(
        DataflowMessageHeader messageHeader, T messageValue, ISourceBlock<T>? source, bool consumeToAccept) =>
        Offer(messageHeader, messageValue, source, consumeToAccept);

    /// <inheritdoc/>
    public override void Show(BlockView view)
    {
        base.Show(view);
        view.IsCompleted = Owner.IsCompleted;
    }

    /// <inheritdoc/>
    public override string ToString() => Owner.NameOf(this);

    void IDataflowBlock.Complete() => Complete(null, discard: false);

    void IDataflowBlock.Fault(Exception exception)
    {
        ArgumentNullException.ThrowIfNull(exception);
        FaultJoin(exception);
    }

    void IJoinedTarget.Fail(Exception? exception) => Complete(exception, discard: true);

    void IJoinedTarget.Decline() => Complete(null, discard: false);

    protected virtual void FaultJoin(Exception exception) => Owner.Fault(exception);

    protected override void Cancelled() => Owner.Cancelled();

    protected override void Finished(List<Exception>? exceptions) => Owner.TargetFinished(exceptions);
}

/// <summary>A join of any kind, as its targets see it.</summary>
internal interface IJoin
{
    /// <summary>Whether the block is complete.</summary>
    bool IsCompleted { get; }

    /// <summary>What a target's ToString says.</summary>
    string NameOf(IJoinedTarget target);

    void Fault(Exception exception);

    /// <summary>All targets decline, and throw away what they have.</summary>
    void FailAll();

    void Cancelled();

    /// <summary>A target declines and has ended.</summary>
    void TargetFinished(List<Exception>? exceptions);
}

/// <summary>A target of a join that makes a tuple of single messages.</summary>
internal interface IJoinTarget : IJoinedTarget
{
    bool HasItemNeedsLock { get; }

    /// <summary>How many messages wait, read without a lock.</summary>
    int CountNow { get; }

    bool IsDeclining { get; }

    void FailInside(Exception exception);

    void Recheck();

    void Free(int count, bool onWorker);

    bool CanFetch();

    bool TryReserve();

    /// <summary>Releases what is reserved, if anything is.</summary>
    void ReleaseReserved();

    void ConsumeReserved();

    void StoreConsumed();
}

/// <summary>A target of a join of any kind, whatever its messages.</summary>
internal interface IJoinedTarget
{
    /// <summary>Declines and throws away what the target has.</summary>
    void Fail(Exception? exception);

    /// <summary>Declines, and keeps what the target has.</summary>
    void Decline();

    /// <summary>What a tuple was made of is the tuple's. Under the join's lock.</summary>
    void TakenNeedsLock();

    void StopListeningToToken();
}
