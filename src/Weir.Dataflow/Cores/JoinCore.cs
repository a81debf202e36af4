using System.Diagnostics;
using System.Threading.Tasks.Dataflow;
using Weir.Core;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>The core of a JoinBlock: makes a tuple of one message of each target.</summary>
/// <remarks>
/// <para>
/// <b>Locks</b>, the outer one first: the input lock of a target, the <i>join lock</i> (<c>StateLock</c> here), the state lock of the output. The queues of all
/// targets, and what this class counts, are under the join lock; a tuple is made and added to the output under it. A plain target, which is greedy, unbounded
/// and makes any number of tuples, takes the join lock alone.
/// </para>
/// <para>
/// <b>Greedy.</b> Each target accepts what is offered. The message that fills the last empty queue makes a tuple.
/// </para>
/// <para>
/// <b>Not greedy.</b> Messages stay in their sources. When each target has been offered one, a work item <i>fetches</i>: it reserves one message on each
/// target, consumes them all if it got all, and else releases those that it got, which are then offered again. A source of this library offers its next
/// message while it is consumed from, so the fetch goes on with that one, up to MaxMessagesPerTask tuples in a work item. Who asks for a fetch counts
/// <c>_fetchWanted</c> up; the first one starts it, and it ends only when nobody has asked since it looked. This object, as <see cref="IAfterLock"/>, asks for a
/// fetch.
/// </para>
/// <para>
/// <b>The end.</b> A target is drained when it declines, its queue is empty and nobody fetches. If one target has ended, no further tuple can be made, so all
/// end, and what they have is discarded. When the last has ended, the output completes. A tuple may take the last message of a target that declines without
/// that target's lock; whoever makes it has all targets look once more (<see cref="Rechecking"/>).
/// </para>
/// </remarks>
internal abstract class JoinCore(BlockOptions options) : JoinBase<IJoinTarget>(options), IUnattended
{
    // Under the join lock.

    /// <summary>
    /// How often a fetch was asked for since the last one ended. While it is not 0, a fetch is queued or at work, and no target may end: the fetch may have
    /// consumed messages of some targets and not yet those of the others. The fetch reads it without the lock.
    /// </summary>
    private long _fetchWanted;

    /// <summary>A target has ended, so all do.</summary>
    private bool _ending;

    /// <summary>How many targets have a message.</summary>
    private int _withItems;

    // Atomic: set once, before the target that declines looks whether its queue is empty.

    /// <summary>A target declines, so a tuple may take its last message.</summary>
    private volatile bool _declines;

    /// <summary>How many tuples were made.</summary>
    public long MadeNeedsLock => Made;

    /// <summary>Whether a fetch is wanted or at work, so that messages may be on their way from their sources.</summary>
    public bool IsFetchingNeedsLock => _fetchWanted > 0;

    // What targets say, under the join lock.

    /// <summary>A target has got its first message.</summary>
    public void OnFilledNeedsLock()
    {
        Listed.Begin(this);
        _withItems++;
    }

    /// <summary>Makes a tuple if there is a message on each target.</summary>
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

    /// <summary>A target has no message any more.</summary>
    public void OnEmptiedNeedsLock() => _withItems--;

    /// <summary>Messages were discarded, and are in no queue any more.</summary>
    public void OnDiscardedNeedsLock(int count) => Volatile.Write(ref Discarded, Discarded + count);

    /// <summary>A target has begun to decline. Before it looks whether it is empty.</summary>
    public void TargetDeclines() => _declines = true;

    // Fetching, if the block is not greedy.

    /// <summary>A message was postponed, or room came: fetches, if each target has been offered a message.</summary>
    public override void AfterLock()
    {
        if (Array.TrueForAll(Targets, static target => target.CanFetch()) && BeginFetch())
        {
            QueueFetch(preferLocal: true);
        }
    }

    /// <summary>Queues the work item that fetches. The caller has begun the fetch.</summary>
    /// <param name="preferLocal">Whether this thread, if it is the pool's, should do it next: it has just noted an offer, and has nothing else to do.</param>
    private void QueueFetch(bool preferLocal)
    {
        try
        {
            if (Options.OnDefaultScheduler)
            {
                ThreadPool.UnsafeQueueUserWorkItem(static join => join.FetchUnattended(), this, preferLocal);
            }
            else
            {
                new Task(static join => ((JoinCore)join!).FetchUnattended(), this, TaskCreationOptions.DenyChildAttach).Start(Options.Scheduler);
            }
        }
        catch (Exception e)
        {
            FetchFailed(e);
        }
    }

    /// <summary>Asks for a fetch.</summary>
    /// <returns>Whether the caller has to start it. If not, the fetch at work looks once more.</returns>
    private bool BeginFetch()
    {
        LockOwner? key = StateLock.Enter();
        bool first = ++_fetchWanted == 1;
        StateLock.Exit(key);
        return first;
    }

    /// <summary>Fetches one tuple's messages after the other, until a target has been offered none. After MaxMessagesPerTask, a new work item goes on.</summary>
    private void Fetch()
    {
        int budget = Options.MessagesPerTask;
        long seen;
        do
        {
            seen = Volatile.Read(ref _fetchWanted);
            try
            {
                while (Array.TrueForAll(Targets, static target => target.CanFetch()))
                {
                    if (budget-- == 0)
                    {
                        QueueFetch(preferLocal: false);
                        return;
                    }

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

    /// <summary>Reserves one message on each target and consumes them, or releases those that it got.</summary>
    private void FetchOne()
    {
        int reserved = 0;
        while (reserved < Targets.Length && Targets[reserved].TryReserve())
        {
            reserved++;
        }

        if (reserved < Targets.Length)
        {
            // Messages that are released are offered again.
            while (reserved > 0)
            {
                Targets[--reserved].ReleaseReserved();
            }

            return;
        }

        Array.ForEach(Targets, static target => target.ConsumeReserved());
        Array.ForEach(Targets, static target => target.StoreConsumed());
    }

    /// <summary>Ends the fetch, unless another was asked for since it looked.</summary>
    /// <param name="seen">How often a fetch had been asked for then. Null to end it anyway.</param>
    private bool TryEndFetch(long? seen)
    {
        LockOwner? key = StateLock.Enter();
        bool ends = seen is null || seen == _fetchWanted;
        _fetchWanted = ends ? 0 : _fetchWanted;
        StateLock.Exit(key);
        if (ends && _declines)
        {
            // A target that was to end meanwhile has waited for the fetch.
            RecheckAll();
        }

        return ends;
    }

    private void FetchUnattended() => Unattended.Run(this, static join => join.Fetch(), static (join, error) => join.FetchFailed(error));

    /// <summary>The fetch does not begin: the block faults, and no target waits for the fetch any more.</summary>
    private void FetchFailed(Exception error)
    {
        WorkFailed(error);
        TryEndFetch(null);
    }

    /// <summary>The join has failed: what it has reserved goes back to its sources.</summary>
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

    // The end.

    public override void Fault(Exception exception)
    {
        // Once no further tuple can be made, it is too late for faults from outside.
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

    /// <inheritdoc/>
    /// <remarks>No further tuple can be made, so all targets end.</remarks>
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

    private void RecheckAll()
    {
        foreach (IJoinTarget target in Targets)
        {
            target.Recheck();
        }
    }

    // For listeners.

    /// <inheritdoc/>
    /// <remarks>A message counts as part of a tuple, or as discarded, once it is in no queue any more.</remarks>
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

    /// <summary>Has all targets look whether they end, after a tuple has taken the last message of one that declines.</summary>
    private sealed class Rechecking(JoinCore join) : IAfterLock
    {
        public void AfterLock() => join.RecheckAll();
    }
}

/// <summary>What joins of any kind have: targets with one lock over their messages, an output, and one end for all.</summary>
/// <typeparam name="TTarget">What a target can do.</typeparam>
internal abstract class JoinBase<TTarget> : IJoin, IOutputHost, IMeteredBlock, IAfterLock
    where TTarget : class, IJoinedTarget
{
    /// <summary>The join lock, which comes inside the targets' input locks.</summary>
    public BiasedLock StateLock;

    // Under the join lock.

    /// <summary>How many tuples were made, and how many messages were discarded. Listeners read without the lock.</summary>
    protected long Made;
    protected long Discarded;
    protected ListedBlock Listed;

    /// <summary>How many targets have ended.</summary>
    private int _finished;

    protected JoinBase(BlockOptions options)
    {
        Options = options;
        BlockListeners.Look();
    }

    public BlockOptions Options { get; }

    public bool IsCompleted => Output.IsCompleted;

    /// <summary>The block, of which the targets are parts.</summary>
    public IDataflowBlock Block => Output.Block;

    string? IMeteredBlock.Name => Options.GivenName(Output.Block);

    int? IMeteredBlock.Capacity => Options.Bound;

    object[] IMeteredBlock.LinkedNow => Output.LinkedNow;

    protected TTarget[] Targets { get; private set; } = [];

    protected List<Exception>? Exceptions { get; set; }

    private IOutputSide Output { get; set; } = null!;

    /// <summary>Sets the parts of the block. Its constructor does this last.</summary>
    protected void Begin(IOutputSide output, params TTarget[] targets) => (Output, Targets) = (output, targets);

    /// <summary>What a target's ToString says.</summary>
    public string NameOf(IJoinedTarget target) => $"Target{Array.IndexOf(Targets, target) + 1} of {Output.Block}";

    /// <summary>Makes a tuple of what the targets have. Throws nothing.</summary>
    /// <returns>The work to do once no lock is held; <see cref="NoMemory"/> if the targets still have their messages.</returns>
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

    /// <summary>Adds a tuple of what the targets have to the output. The targets learn of it afterwards.</summary>
    protected abstract IAfterLock? AddTupleNeedsLock();

    /// <summary>Accepts no more messages, and fails if there is an exception.</summary>
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

    protected void DeclineAll()
    {
        foreach (TTarget target in Targets)
        {
            target.Decline();
        }
    }

    public void Cancelled()
    {
        FailAll();
        Output.Reconsider();
    }

    /// <inheritdoc/>
    public abstract void TargetFinished(List<Exception>? exceptions);

    /// <summary>A target has ended. If there is no memory for its exceptions, exits the lock and throws.</summary>
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

    protected void CompleteOutput() => Output.Complete(Exceptions);

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

    public abstract void AfterLock();

    public abstract BlockSample Sample();

    protected void SampleOutput(ref BlockSample sample) => Output.Sample(ref sample);
}

/// <summary>The core of a JoinBlock with two targets.</summary>
internal sealed class JoinCore<T1, T2> : JoinCore
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

        // Under the join lock, so one at a time. But AddSerial may tell a bounded block that an output has left, and that takes input locks.
        return Options.IsBounded ? Source.Add(tuple) : Source.AddSerial(tuple);
    }
}

/// <summary>The core of a JoinBlock with three targets.</summary>
internal sealed class JoinCore<T1, T2, T3> : JoinCore
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

        // Under the join lock, so one at a time. But AddSerial may tell a bounded block that an output has left, and that takes input locks.
        return Options.IsBounded ? Source.Add(tuple) : Source.AddSerial(tuple);
    }
}

/// <summary>A target of a JoinBlock.</summary>
internal sealed class JoinTarget<T> : JoinedTarget<T>, IJoinTarget
{
    // Immutable.
    private readonly JoinCore _join;

    /// <summary>Whether the target is greedy, unbounded and part of a join of any number of tuples: then a message only has to be stored.</summary>
    private readonly bool _isPlain;

    // Under the join lock.
    private MessageQueue<T> _queue;

    /// <summary>The join has failed: a message that was being consumed meanwhile is discarded too.</summary>
    private bool _discards;

    // Under the input lock.

    /// <summary>How many messages were accepted, or claimed in order to be.</summary>
    private long _claimed;

    // Of the work item that fetches: what it has reserved, and what it has consumed.
    private PostponedOffer<T>? _fetched;
    private T? _item;

    public JoinTarget(JoinCore join, BlockOptions options)
        : base(options)
    {
        _join = join;
        _isPlain = options is { IsBounded: false, Greedy: true, MaxGroups: long.MaxValue };
    }

    bool IJoinTarget.HasItemNeedsLock => _queue.Count > 0;

    int IJoinTarget.CountNow => _queue.Count;

    protected override IJoin Owner => _join;

    public override bool OnlyNotesOffers => !Options.Greedy;

    protected override bool AcceptsOffersNeedsLock => Options.Greedy;

    public override DataflowMessageStatus OfferMessage(
        DataflowMessageHeader messageHeader, T messageValue, ISourceBlock<T>? source, bool consumeToAccept)
    {
        if (!_isPlain || consumeToAccept || !messageHeader.IsValid)
        {
            return base.OfferMessage(messageHeader, messageValue, source, consumeToAccept);
        }

        // The join lock is enough: who ends this target sets IsDeclining first, and then looks under the join lock whether the queue is empty.
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

    public T PeekNeedsLock() => _queue.Peek();

    public override void TakenNeedsLock()
    {
        _queue.Dequeue();
        if (_queue.Count == 0)
        {
            _join.OnEmptiedNeedsLock();
        }
    }

    // A target claims one message for each tuple that will be made.
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

    bool IJoinTarget.CanFetch()
    {
        LockOwner? key = StateLock.Enter();
        bool can = !IsDeclining && PostponedNeedsLock is { Count: > 0 } && (!IsBounded || UsedNeedsLock < Options.Capacity);
        StateLock.Exit(key);
        return can;
    }

    bool IJoinTarget.TryReserve()
    {
        // If a message is gone, the offer behind it is tried. If the fetch were given up instead, messages that other targets have reserved would be released,
        // and offered again behind what the same senders have sent meanwhile.
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

    /// <summary>Accepts what was consumed, like a message that was offered.</summary>
    void IJoinTarget.StoreConsumed()
    {
        LockOwner? key = StateLock.Enter();
        T item = _item!;
        _item = default;
        ExitAndRun(key, AcceptNeedsLock(item));
    }

    void IJoinTarget.FailInside(Exception exception) => Complete(exception, discard: true, always: true);

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

    /// <inheritdoc/>
    public override void Show(BlockView view)
    {
        base.Show(view);
        view.Input = _queue.ToArray();
    }
}

/// <summary>A target of a join of any kind: a block of its own towards sources, whose end is that of the join.</summary>
[DebuggerDisplay("{DebuggerDisplay,nq}")]
[DebuggerTypeProxy(typeof(BlockView))]
internal abstract class JoinedTarget<T>(BlockOptions options) : TargetCore<T>(options), ITargetBlock<T>, IJoinedTarget, IStandsForBlock
{
    Task IDataflowBlock.Completion =>
        throw new NotSupportedException("This member is not supported on this dataflow block: its completion is that of the join.");

    protected override ITargetBlock<T> Self => this;

    protected abstract IJoin Owner { get; }

    object IStandsForBlock.Block => Owner.Block;

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
    /// <summary>The block.</summary>
    IDataflowBlock Block { get; }

    /// <summary>Whether the block is complete.</summary>
    bool IsCompleted { get; }

    /// <summary>What a target's ToString says.</summary>
    string NameOf(IJoinedTarget target);

    void Fault(Exception exception);

    void Cancelled();

    /// <summary>The input of a target has ended.</summary>
    void TargetFinished(List<Exception>? exceptions);
}

/// <summary>A target of a JoinBlock, whatever its messages.</summary>
internal interface IJoinTarget : IJoinedTarget
{
    bool HasItemNeedsLock { get; }

    /// <summary>How many messages wait, read without a lock.</summary>
    int CountNow { get; }

    bool IsDeclining { get; }

    void FailInside(Exception exception);

    void Recheck();

    void Free(int count, bool onWorker);

    /// <summary>Whether the target has been offered a message that it may accept.</summary>
    bool CanFetch();

    /// <summary>Reserves the first of the messages that were offered and are still there.</summary>
    bool TryReserve();

    /// <summary>Releases what is reserved, if anything is.</summary>
    void ReleaseReserved();

    void ConsumeReserved();

    void StoreConsumed();
}

/// <summary>A target of a join of any kind, whatever its messages.</summary>
internal interface IJoinedTarget
{
    /// <summary>Declines, and discards what the target has.</summary>
    void Fail(Exception? exception);

    /// <summary>Declines. What the target has may still go into tuples.</summary>
    void Decline();

    /// <summary>What the target gave to a tuple is the tuple's. Under the join lock.</summary>
    void TakenNeedsLock();

    void StopListeningToToken();
}
