using System.Threading.Tasks.Dataflow;
using Weir.Core;
using Weir.Dataflow.Links;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <content>
/// The non-greedy way: messages stay in their sources until there are enough to reserve a whole batch. The block tries this when an offer or room comes,
/// never in a loop: a source whose message was gone is forgotten until it offers again, and the offer behind it takes its place.
/// </content>
internal sealed partial class BatchCore<T> : IAfterLock
{
    private bool _fetching;

    /// <summary>A smaller batch was requested when there were no messages. It is made of the first ones that come.</summary>
    private bool _triggered;

    protected override bool TakesByPullNeedsLock => _triggered;

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
        return MakePartOrFailNeedsLock();
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
            Leave(key, after);
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
        IAfterLock? after = HandOutNeedsLock(batch);
        Volatile.Write(ref _grouped, _grouped + (ReferenceEquals(after, NoMemory.Instance) ? 0 : batch.Length));
        AddUsedNeedsLock(batch.Length);
        Leave(key, after);
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
        Complete(exception, drop: true, always: true);
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
        Leave(key, null);
    }
}
