using System.Diagnostics.CodeAnalysis;
using System.Threading.Tasks.Dataflow;
using Weir.Core;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>What a BatchBlock does: fills an array and hands it to the output.</summary>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "The timer ends with the block's completion.")]
internal sealed partial class BatchCore<T> : TargetCore<T>, IOutputHost, IMeteredBlock, IAfterLock
{
    private const int LeastLength = 1024;

    private readonly IPropagatorBlock<T, T[]> _owner;
    private readonly BatchTimer? _timer;

    /// <summary>Whether a message needs nothing but its place in the batch.</summary>
    private readonly bool _isPlain;
    private T[]? _batch;
    private int _filled;

    /// <summary>How long the next batch's array is at first.</summary>
    private long _begin = LeastLength;
    private long _made;

    /// <summary>Messages that are being consumed, and have a place in one of the groups that are left.</summary>
    private int _claimed;

    /// <summary>The last group was asked for while messages of it were being consumed.</summary>
    private bool _delayed;
    private ListedBlock _listed;

    /// <summary>How many messages have become part of a batch, and how many were thrown away. Each is counted once it is no longer in the array.</summary>
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

    protected override bool AcceptsOffersNeedsLock => Options.Greedy;

    Type IMeteredBlock.Type => _owner.GetType();

    string? IMeteredBlock.Name => Options.GivenName(_owner);

    bool IOutputHost.CountsItems => true;

    void IOutputHost.OutputLeft(int weight) => Free(weight, onWorker: false);

    void IOutputHost.OutputFailed() => Complete(null, discard: true);

    void IOutputHost.OutputCompleted()
    {
        StopListening();
        _timer?.Dispose();
        _listed.End(this);
    }

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

    /// <summary>A message that begins or fills an array, or that the block declines. Leaves the lock.</summary>
    private bool PostFirstOrLast(LockOwner? key, T item)
    {
        bool declines = IsDecliningNeedsLock;
        IAfterLock? after = declines ? null : StoreNeedsLock(item);
        StateLock.Exit(key);
        after?.AfterLock();
        return !declines;
    }

    /// <summary>Makes a batch of what there is.</summary>
    public void Trigger()
    {
        LockOwner? key = StateLock.Enter();
        IAfterLock? after = null;
        if (!IsDeclining)
        {
            if (Options.Greedy)
            {
                // With nothing to make a batch of, a bounded block lets the request stand until room comes, as Microsoft's do.
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

            // The clock is the user's: it is asked once the lock is left.
            after = filled == 1 ? _timer : null;
        }

        _claimed = claimed;
        return after;
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

    /// <summary>The timer: the batch that was begun when it was set, if it is still being filled, or what waits in its sources since then.</summary>
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

    /// <summary>For batches that no caller asked for, so that no caller can be told that there is no memory.</summary>
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

    private IAfterLock? MakeBatchNeedsLock() => _filled == 0 ? null : MakeBatchNeedsLock(_filled, _claimed);

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
        _begin = Math.Max(LeastLength, filled + (filled / 8L));
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

    /// <summary>
    /// An array for the batch, or a longer one. A batch may be triggered long before it has its size, so it is made for as many as the last one had,
    /// and grows.
    /// </summary>
    private T[]? TryGrow()
    {
        T[]? batch = _batch is null
            ? TryCopy([], 0, (int)Math.Min(BatchSize, _begin))
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

    // <content>
    // The non-greedy way: messages stay in their sources until there are enough to reserve a whole batch. The block tries this when an offer or room comes,
    // never in a loop: a source whose message was gone is forgotten until it offers again, and the offer behind it takes its place.
    // </content>

    private bool _fetching;

    /// <summary>A smaller batch was requested when there were no messages. It is made of the first ones that come.</summary>
    private bool _triggered;

    protected override bool OnlyPullAcceptsNeedsLock => _triggered;

    // Here, a waiting send is a source like any other: its message is reserved with those of the others.
    public override Task<bool> SendAsync(T item, CancellationToken cancellationToken) =>
        Options.Greedy ? base.SendAsync(item, cancellationToken) : DataflowBlock.SendAsync(Self, item, cancellationToken);

    public override ValueTask<bool> SendValueAsync(T item, CancellationToken cancellationToken) =>
        Options.Greedy ? base.SendValueAsync(item, cancellationToken) : new(SendAsync(item, cancellationToken));

    public void AfterLock()
    {
        try
        {
            if (Options.OnDefaultScheduler)
            {
                ThreadPool.UnsafeQueueUserWorkItem(static core => core.FetchUnattended(), this, preferLocal: false);
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

    protected override IAfterLock? OnPostponedNeedsLock()
    {
        if (Options.Greedy)
        {
            return null;
        }

        BatchCore<T>? fetch = BeginFetchNeedsLock();
        return PostponedNeedsLock!.Count > 1 || _timer is null ? fetch : fetch is null ? _timer : new AfterBoth(_timer, fetch);
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

    private bool CanFetchNeedsLock()
    {
        int count = PostponedNeedsLock?.Count ?? 0;
        int room = IsBounded ? Options.Capacity - UsedNeedsLock : int.MaxValue;
        return !IsDeclining && count > 0 && (_triggered ? room > 0 : count >= BatchSize && room >= BatchSize);
    }

    private void FetchUnattended() => Unattended.Run(this, static core => core.Fetch(), static (core, error) => core.EndFetch(error, [], 0));

    private void Fetch()
    {
        List<PostponedOffer<T>?> offers = [];
        int tried = 0;
        try
        {
            bool any = false;
            while (TryTakeOffers(offers, any, out bool part))
            {
                any = true;
                FetchFrom(offers, part, ref tried);
                offers.Clear();
                tried = 0;
            }
        }
        catch (Exception e)
        {
            EndFetch(e, offers, tried);
        }
    }

    /// <summary>Takes the offers that can become a batch now. If there are too few, the fetch ends.</summary>
    /// <param name="offers">Where they go.</param>
    /// <param name="any">Whether this fetch has taken others. If so, the time of those that are left starts.</param>
    /// <param name="part">Whether they may be fewer than the batch size.</param>
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

    /// <summary>Makes a batch. A reserved offer stays in the list until it is consumed or released; a refused one does not.</summary>
    private void FetchFrom(List<PostponedOffer<T>?> offers, bool part, ref int tried)
    {
        int reserved = 0;
        int wanted = offers.Count;

        // If reserved messages were released because one is gone, although there are more, they would be offered again behind what the same senders have
        // sent meanwhile.
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
            // Those that were reserved offer again on their release, and are postponed again.
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

    /// <summary>A source or the scheduler threw: the block fails, and no sender is left waiting.</summary>
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
}

/// <summary>Tells when the first message of a batch has waited long enough.</summary>
internal sealed class BatchTimer : IAfterLock, IUnattended, IDisposable
{
    /// <summary>The longest time that a timer accepts.</summary>
    public static readonly TimeSpan Longest = TimeSpan.FromMilliseconds(uint.MaxValue - 1);

    private readonly IUnattended _block;
    private readonly Action _flush;
    private readonly TimeSpan _after;
    private readonly TimeProvider _timeProvider;
    private readonly ITimer _timer;
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

    /// <summary>A batch has got its first message.</summary>
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
            // The clock is the user's, and the message is stored: the block faults, as when the timer fails. If this threw, who has just sent it, or taken
            // the batch before, would not come to tell the senders that wait, and the block would take nothing any more.
            WorkFailed(e);
        }
    }

    /// <summary>The timer failed: the block faults.</summary>
    public void WorkFailed(Exception error) => _block.WorkFailed(error);

    /// <summary>The block has ended, and has its outcome. Throws nothing: the timer may be the user's, and who waits for the end has yet to be told.</summary>
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
        // It was set again after it fired: the time of that batch is not up yet.
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
