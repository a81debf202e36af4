using System.Diagnostics.CodeAnalysis;
using System.Threading.Tasks.Dataflow;
using Weir.Core;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>The core of a BatchBlock: collects messages into arrays and gives these to the output.</summary>
/// <remarks>
/// <para>
/// <b>Locks.</b> Everything here is under the input lock. A batch is added to the output under it, so the output's state lock comes inside.
/// </para>
/// <para>
/// <b>Greedy.</b> An accepted message goes into the array. A full array is the batch. A batch that is asked for earlier (by a trigger, the timer or the end) is
/// a copy of what is there: a partial batch.
/// </para>
/// <para>
/// <b>Not greedy.</b> Messages stay in their sources until there are enough for a whole batch. When an offer or room comes and there may be enough, a work item
/// <i>fetches</i>; <c>_fetching</c> says that there is one. It takes as many offers out of the list as a batch needs, reserves each, and consumes them all if
/// it got enough, or else releases them. A source of this library offers its next message while it is consumed from, so the fetch goes on with that one, up to
/// MaxMessagesPerTask batches in a work item. It never fetches the same offer again: a source whose message was gone is forgotten until it offers again, and
/// the offer behind it is used instead.
/// </para>
/// <para>
/// <b>MaxNumberOfGroups.</b> A message is claimed before it is accepted or consumed, so that no more are accepted than the last group has room for. While
/// claimed messages are being consumed, a last group that is asked for is delayed until they are here.
/// </para>
/// <para>
/// <b>The end.</b> The input is drained when nobody fetches. What is left is then the last, partial batch.
/// </para>
/// </remarks>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "The timer ends with the block's completion.")]
internal sealed class BatchCore<T> : TargetCore<T>, IOutputHost, IMeteredBlock, IAfterLock
{
    /// <summary>How long the first array is. A batch may be triggered long before it has its size, so arrays grow.</summary>
    private const int LeastLength = 1024;

    // Immutable.
    private readonly IPropagatorBlock<T, T[]> _owner;
    private readonly BatchTimer? _timer;

    /// <summary>Whether the block is greedy, unbounded and makes any number of groups: then a message only has to be stored.</summary>
    private readonly bool _isPlain;

    // Under the input lock.

    /// <summary>The array that is being filled, and how many messages it has. Listeners read the count without the lock.</summary>
    private T[]? _batch;
    private int _filled;

    /// <summary>How long the next batch's array is at first: as long as the last batch was, and a little more.</summary>
    private long _firstLength = LeastLength;

    /// <summary>How many batches were made.</summary>
    private long _made;

    /// <summary>How many messages are claimed and not here yet.</summary>
    private int _claimed;

    /// <summary>The last group was asked for while messages of it were being consumed.</summary>
    private bool _delayed;

    /// <summary>A work item that fetches is queued or running. It alone reserves and consumes.</summary>
    private bool _fetching;

    /// <summary>A partial batch was asked for when there were no messages. It is made of the first ones that come.</summary>
    private bool _triggered;

    private ListedBlock _listed;

    /// <summary>How many messages are in batches that were made, and how many were discarded. Listeners read both without the lock.</summary>
    private long _grouped;
    private long _discarded;

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
            if (time <= TimeSpan.Zero || time > BatchTimer.Longest)
            {
                throw new ArgumentOutOfRangeException(nameof(flushAfter), time, "The time must be positive and at most 4294967294 ms, which is 49.7 days.");
            }

            _timer = new BatchTimer(this, this.Flush, time, timeProvider!);
        }

        _owner = owner;
        _isPlain = options is { IsBounded: false, Greedy: true, MaxGroups: long.MaxValue };
        BatchSize = batchSize;
        Source = new SourceCore<T[]>(owner, this, options);
        BlockListeners.Look();
        ListenToToken();
    }

    public int BatchSize { get; }

    public SourceCore<T[]> Source { get; }

    protected override ITargetBlock<T> Self => _owner;

    // The timer's clock is the user's.
    public override bool OnlyNotesOffers => !Options.Greedy && _timer is null;

    protected override bool AcceptsOffersNeedsLock => Options.Greedy;

    protected override bool OnlyPullAcceptsNeedsLock => _triggered;

    // Messages come.

    public override bool Post(T item)
    {
        if (!_isPlain)
        {
            return base.Post(item);
        }

        LockOwner? key = StateLock.Enter();
        int filled = _filled;
        if (_batch is { } batch && filled > 0 && (uint)filled < (uint)(batch.Length - 1) && !IsDecliningNeedsLock)
        {
            batch[filled] = item;
            _filled = filled + 1;
            StateLock.Exit(key);
            return true;
        }

        return PostFirstOrLast(key, item);
    }

    /// <summary>A message that begins or fills an array, or that the block declines. Exits the lock.</summary>
    private bool PostFirstOrLast(LockOwner? key, T item)
    {
        bool declines = IsDecliningNeedsLock;
        IAfterLock? after = declines ? null : StoreNeedsLock(item);
        StateLock.Exit(key);
        after?.AfterLock();
        return !declines;
    }

    protected override IAfterLock? StoreNeedsLock(T item)
    {
        int filled = _filled;
        T[]? batch = _batch;
        if (batch is null || filled == batch.Length)
        {
            _listed.Begin(this);
            batch = TryGrow();
            if (batch is null)
            {
                return NoMemory.Instance;
            }
        }

        batch[filled++] = item;
        int claimed = _claimed - (_claimed > 0 ? 1 : 0);
        IAfterLock? after = null;
        if (filled == BatchSize || (_delayed && claimed == 0))
        {
            after = MakeBatchNeedsLock(filled, claimed);
            if (ReferenceEquals(after, NoMemory.Instance))
            {
                return after;
            }
        }
        else
        {
            _filled = filled;

            // The clock is the user's: it is read once no lock is held.
            after = filled == 1 ? _timer : null;
        }

        _claimed = claimed;
        return after;
    }

    /// <summary>An array for the batch, or a longer one. Null if there is no memory for it.</summary>
    private T[]? TryGrow()
    {
        T[]? batch = _batch is null
            ? TryCopy([], 0, (int)Math.Min(BatchSize, _firstLength))
            : TryCopy(_batch, _batch.Length, _batch.Length > BatchSize / 2 ? BatchSize : _batch.Length * 2);
        _batch = batch ?? _batch;
        return batch;
    }

    private T[]? TryCopy(T[] items, int count, int length)
    {
        try
        {
            MemoryPoint.Pass(this);
            T[] copy = new T[length];
            Array.Copy(items, copy, count);
            return copy;
        }
        catch (OutOfMemoryException)
        {
            return null;
        }
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

    protected override IAfterLock? ReleaseClaimNeedsLock() => --_claimed == 0 && _delayed ? MakeBatchOrFailNeedsLock() : null;

    // Batches are made.

    /// <summary>Makes a batch of what there is.</summary>
    public void Trigger()
    {
        LockOwner? key = StateLock.Enter();
        IAfterLock? after = null;
        if (!IsDeclining)
        {
            if (Options.Greedy)
            {
                // With nothing to make a batch of, a bounded block remembers the trigger until room comes, as Microsoft's do.
                _triggered = IsBounded && _filled == 0;
                after = MakeBatchNeedsLock();
            }
            else
            {
                _triggered = true;
                after = BeginFetchNeedsLock();
            }
        }

        ExitAndRun(key, after);
    }

    /// <summary>The time of the first message is up: makes a batch of what is there, or of what waits in its sources.</summary>
    private void Flush()
    {
        LockOwner? key = StateLock.Enter();
        IAfterLock? after = null;
        if (!IsDeclining && Options.Greedy)
        {
            after = MakeBatchOrFailNeedsLock();
        }
        else if (!IsDeclining && PostponedNeedsLock is { Count: > 0 })
        {
            _triggered = true;
            after = BeginFetchNeedsLock();
        }

        ExitAndRun(key, after);
    }

    private IAfterLock? MakeBatchNeedsLock() => _filled == 0 ? null : MakeBatchNeedsLock(_filled, _claimed);

    /// <summary>Makes a batch that no caller has asked for. If there is no memory for it, the block fails, because no caller can be told.</summary>
    private IAfterLock? MakeBatchOrFailNeedsLock()
    {
        IAfterLock? after = MakeBatchNeedsLock();
        if (!ReferenceEquals(after, NoMemory.Instance))
        {
            return after;
        }

        CompleteNeedsLock(NoMemory.Exception(), discard: true, always: true);
        return null;
    }

    /// <summary>Makes a batch of the first messages of the array, or changes nothing if there is no memory for it.</summary>
    private IAfterLock? MakeBatchNeedsLock(int filled, int claimed)
    {
        T[] batch = _batch!;
        if (filled < BatchSize && claimed > 0 && _made + 1 >= Options.MaxGroups)
        {
            _filled = filled;
            _delayed = true;
            return null;
        }

        if (filled < batch.Length)
        {
            batch = TryCopy(batch, filled, filled)!;
            if (batch is null)
            {
                return NoMemory.Instance;
            }
        }

        IAfterLock? after = EmitNeedsLock(batch);
        if (ReferenceEquals(after, NoMemory.Instance))
        {
            return after;
        }

        _batch = null;
        _filled = 0;
        Volatile.Write(ref _grouped, _grouped + filled);
        _firstLength = Math.Max(LeastLength, filled + (filled / 8L));
        return after;
    }

    private IAfterLock? EmitNeedsLock(T[] batch)
    {
        IAfterLock? after = Source.Add(batch);
        if (ReferenceEquals(after, NoMemory.Instance))
        {
            return after;
        }

        _triggered &= !IsPullingNeedsLock;
        if (++_made >= Options.MaxGroups)
        {
            CompleteNeedsLock(null, discard: false, always: false);
        }

        return after;
    }

    // Fetching, if the block is not greedy.

    // If the block is not greedy, a sender that waits is a source like any other: its message is reserved with those of the others.
    public override Task<bool> SendAsync(T item, CancellationToken cancellationToken) =>
        Options.Greedy ? base.SendAsync(item, cancellationToken) : DataflowBlock.SendAsync(Self, item, cancellationToken);

    public override ValueTask<bool> SendValueAsync(T item, CancellationToken cancellationToken) =>
        Options.Greedy ? base.SendValueAsync(item, cancellationToken) : new(SendAsync(item, cancellationToken));

    protected override IAfterLock? OnPostponedNeedsLock()
    {
        if (Options.Greedy)
        {
            return null;
        }

        BatchCore<T>? fetch = BeginFetchNeedsLock();
        return PostponedNeedsLock!.Count > 1 || _timer is null ? fetch : fetch is null ? _timer : new AfterBoth(_timer, fetch);
    }

    protected override IAfterLock? OnRoomNeedsLock()
    {
        if (!Options.Greedy)
        {
            return BeginFetchNeedsLock();
        }

        if (!_triggered || IsDeclining)
        {
            return null;
        }

        _triggered = _filled == 0 && !IsPullingNeedsLock;
        return MakeBatchOrFailNeedsLock();
    }

    private BatchCore<T>? BeginFetchNeedsLock()
    {
        if (_fetching || !CanFetchNeedsLock())
        {
            return null;
        }

        _fetching = true;
        return this;
    }

    private bool CanFetchNeedsLock()
    {
        int count = PostponedNeedsLock?.Count ?? 0;
        int room = IsBounded ? Options.Capacity - UsedNeedsLock : int.MaxValue;
        return !IsDeclining && count > 0 && (_triggered ? room > 0 : count >= BatchSize && room >= BatchSize);
    }

    public void AfterLock() => QueueFetch(preferLocal: true);

    /// <summary>Queues the work item that fetches. The caller has begun the fetch.</summary>
    /// <param name="preferLocal">Whether this thread, if it is the pool's, should do it next: it has just noted an offer, and has nothing else to do.</param>
    private void QueueFetch(bool preferLocal)
    {
        try
        {
            if (Options.OnDefaultScheduler)
            {
                ThreadPool.UnsafeQueueUserWorkItem(static core => core.FetchUnattended(), this, preferLocal);
            }
            else
            {
                new Task(static core => ((BatchCore<T>)core!).FetchUnattended(), this, TaskCreationOptions.DenyChildAttach).Start(Options.Scheduler);
            }
        }
        catch (Exception e)
        {
            EndFetch(e, [], 0);
        }
    }

    private void FetchUnattended() => Unattended.Run(this, static core => core.Fetch(), static (core, error) => core.EndFetch(error, [], 0));

    private void Fetch()
    {
        List<PostponedOffer<T>?> offers = [];
        int tried = 0;
        int budget = Options.MessagesPerTask;
        try
        {
            bool any = false;
            while (TryTakeOffers(offers, any, out bool part))
            {
                any = true;
                FetchFrom(offers, part, ref tried);
                offers.Clear();
                tried = 0;
                if (--budget == 0 && _timer is null)
                {
                    // With a timer, sources do not offer while they are consumed from, so the fetch ends soon, and then starts the time of what is left.
                    QueueFetch(preferLocal: false);
                    return;
                }
            }
        }
        catch (Exception e)
        {
            EndFetch(e, offers, tried);
        }
    }

    /// <summary>Takes the offers that can become a batch now out of the list. If there are too few, the fetch ends.</summary>
    /// <param name="offers">Where they go.</param>
    /// <param name="any">Whether this fetch has made a batch before. If so, the time of the messages that are left starts now.</param>
    /// <param name="part">Whether a partial batch was asked for.</param>
    private bool TryTakeOffers(List<PostponedOffer<T>?> offers, bool any, out bool part)
    {
        IAfterLock? after = null;
        LockOwner? key = StateLock.Enter();
        try
        {
            AssertInvariants();
            part = _triggered;
            if (!CanFetchNeedsLock())
            {
                _fetching = false;
                after = any && PostponedNeedsLock is { Count: > 0 } ? _timer : null;
                return false;
            }

            _triggered = false;
            int most = IsBounded ? Math.Min(BatchSize, Options.Capacity - UsedNeedsLock) : BatchSize;
            while (offers.Count < most && PostponedNeedsLock!.First is { } node)
            {
                offers.Add((PostponedOffer<T>)node);
                PostponedNeedsLock.Remove(node);
            }

            return true;
        }
        finally
        {
            ExitAndRun(key, after);
        }
    }

    /// <summary>Makes a batch of offers.</summary>
    /// <param name="offers">The offers. One that was reserved stays here until it is consumed or released; one that was refused does not.</param>
    /// <param name="part">Whether the batch may be partial.</param>
    /// <param name="tried">How many of them their sources were asked to reserve.</param>
    private void FetchFrom(List<PostponedOffer<T>?> offers, bool part, ref int tried)
    {
        int reserved = 0;
        int wanted = offers.Count;

        // For each message that is gone, another offer is tried. If the reserved ones were released instead, they would be offered again behind what the same
        // senders have sent meanwhile.
        for (; tried < offers.Count || (reserved < wanted && TryTakeOffer(offers)); tried++)
        {
            PostponedOffer<T> offer = offers[tried]!;
            offers[tried] = null;
            if (offer.Source.ReserveMessage(offer.Header, _owner))
            {
                offers[tried] = offer;
                reserved++;
            }
        }

        if (reserved == 0 || (!part && reserved < BatchSize))
        {
            // On their release, those that were reserved are offered again, and postponed again.
            for (int i = 0; i < offers.Count; i++)
            {
                Release(offers, i);
            }

            return;
        }

        T[] batch = new T[reserved];
        int filled = 0;
        for (int i = 0; i < offers.Count; i++)
        {
            if (offers[i] is not { } offer)
            {
                continue;
            }

            offers[i] = null;
            batch[filled++] = offer.Source.ConsumeMessage(offer.Header, _owner, out bool consumed)!;
            if (!consumed)
            {
                throw Protocol.NotConsumed();
            }
        }

        LockOwner? key = StateLock.Enter();
        _listed.Begin(this);
        IAfterLock? after = EmitNeedsLock(batch);
        Volatile.Write(ref _grouped, _grouped + (ReferenceEquals(after, NoMemory.Instance) ? 0 : batch.Length));
        AddUsedNeedsLock(batch.Length);
        ExitAndRun(key, after);
    }

    private bool TryTakeOffer(List<PostponedOffer<T>?> offers)
    {
        LockOwner? key = StateLock.Enter();
        try
        {
            if (IsDeclining || PostponedNeedsLock!.First is not { } node)
            {
                return false;
            }

            offers.Add((PostponedOffer<T>)node);
            PostponedNeedsLock.Remove(node);
            return true;
        }
        finally
        {
            StateLock.Exit(key);
        }
    }

    private void Release(List<PostponedOffer<T>?> offers, int index)
    {
        if (offers[index] is { } offer)
        {
            offers[index] = null;
            offer.Source.ReleaseReservation(offer.Header, _owner);
        }
    }

    /// <summary>A source or the scheduler threw: the block fails, and no sender goes on waiting.</summary>
    private void EndFetch(Exception exception, List<PostponedOffer<T>?> offers, int tried)
    {
        Complete(exception, discard: true, always: true);
        for (int i = 0; i < offers.Count; i++)
        {
            try
            {
                if (i >= tried)
                {
                    DeclinePostponed(offers[i]);
                }
                else
                {
                    Release(offers, i);
                }
            }
            catch (Exception)
            {
                // The block has failed with what came first.
            }
        }

        LockOwner? key = StateLock.Enter();
        _fetching = false;
        ExitAndRun(key, null);
    }

    // The end.

    protected override void DiscardNeedsLock()
    {
        int filled = _filled;
        _batch = null;
        _filled = 0;
        Volatile.Write(ref _discarded, _discarded + filled);
    }

    protected override bool IsDrainedNeedsLock() => !_fetching;

    protected override void Cancelled()
    {
        base.Cancelled();
        Source.Reconsider();
    }

    protected override void Finished(List<Exception>? exceptions)
    {
        LockOwner? key = StateLock.Enter();
        IAfterLock? after = exceptions is null && !Options.Token.IsCancellationRequested ? MakeBatchNeedsLock() : null;
        StateLock.Exit(key);
        if (ReferenceEquals(after, NoMemory.Instance))
        {
            after = null;
            exceptions = [NoMemory.Exception()];
        }

        after?.AfterLock();
        Source.Complete(exceptions);
    }

    void IOutputHost.OutputLeft(int weight) => Free(weight, onWorker: false);

    void IOutputHost.OutputFailed() => Complete(null, discard: true);

    void IOutputHost.OutputCompleted()
    {
        StopListening();
        _timer?.Dispose();
        _listed.End(this);
    }

    bool IOutputHost.CountsItems => true;

    // For listeners and debuggers.

    IDataflowBlock IMeteredBlock.Block => _owner;

    string? IMeteredBlock.Name => Options.GivenName(_owner);

    int? IMeteredBlock.Capacity => Options.Bound;

    object[] IMeteredBlock.LinkedNow => Source.LinkedNow;

    BlockSample IMeteredBlock.Sample()
    {
        BlockSample sample = default;
        sample.Processed = Volatile.Read(ref _grouped);
        sample.Discarded = Volatile.Read(ref _discarded);
        sample.Queued = Volatile.Read(ref _filled);
        sample.Received = sample.Processed + sample.Discarded + sample.Queued;
        Source.Sample(ref sample);
        return sample;
    }

    /// <inheritdoc/>
    public override void Show(BlockView view)
    {
        base.Show(view);
        view.BatchSize = BatchSize;
    }
}

/// <summary>Calls its block when the first message of a batch has waited long enough.</summary>
internal sealed class BatchTimer : IAfterLock, IUnattended, IDisposable
{
    /// <summary>The longest time that a timer accepts.</summary>
    public static readonly TimeSpan Longest = TimeSpan.FromMilliseconds(uint.MaxValue - 1);

    private readonly IUnattended _block;
    private readonly Action _flush;
    private readonly TimeSpan _after;
    private readonly TimeProvider _timeProvider;
    private readonly ITimer _timer;

    /// <summary>When the newest batch got its first message. Written by who brought that message, read by the timer.</summary>
    private long _begun;

    public BatchTimer(IUnattended block, Action flush, TimeSpan after, TimeProvider timeProvider)
    {
        _block = block;
        _flush = flush;
        _after = after;
        _timeProvider = timeProvider;
        _timer = timeProvider.CreateTimer(
            static timer => Unattended.Run((BatchTimer)timer!, static timer => timer.Fire()), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    /// <summary>A batch has got its first message: its time starts.</summary>
    public void AfterLock()
    {
        try
        {
            // Before the timer is set: a timer that fires late then sees the time of the newest batch. With an older time, it would end that batch too early.
            Volatile.Write(ref _begun, _timeProvider.GetTimestamp());
            _timer.Change(_after, Timeout.InfiniteTimeSpan);
        }
        catch (Exception e)
        {
            // The clock is the user's, and the message is stored: the block faults, as when the timer fails. If this threw, its caller, who may be about to
            // serve the senders that wait, would not come to it, and the block would accept nothing any more.
            WorkFailed(e);
        }
    }

    /// <summary>The timer failed: the block faults.</summary>
    public void WorkFailed(Exception error) => _block.WorkFailed(error);

    /// <summary>The block ends. Throws nothing: the timer may be the user's, and the block has yet to complete.</summary>
    public void Dispose()
    {
        try
        {
            _timer.Dispose();
        }
        catch (Exception)
        {
            // See above.
        }
    }

    private void Fire()
    {
        // If a batch began after the timer had fired, its time is not up yet.
        TimeSpan left = _after - _timeProvider.GetElapsedTime(Volatile.Read(ref _begun));
        if (left > TimeSpan.FromMilliseconds(1))
        {
            _timer.Change(left, Timeout.InfiniteTimeSpan);
        }
        else
        {
            _flush();
        }
    }
}
