using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Links;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <content>
/// The non-greedy way: messages stay in their sources until there are enough of them to reserve a whole batch. It is tried when an offer comes or
/// room does, never in a loop: a source whose message was gone is forgotten until it offers again.
/// </content>
internal sealed partial class BatchCore<T> : IAfterLock
{
    private bool _fetching;

    /// <summary>A smaller batch was asked for when there was nothing to make it of.</summary>
    private bool _triggered;

    public void AfterLock()
    {
        try
        {
            if (Options.OnDefaultScheduler)
            {
                ThreadPool.UnsafeQueueUserWorkItem(static core => core.Fetch(), this, preferLocal: false);
            }
            else
            {
                new Task(static core => ((BatchCore<T>)core!).Fetch(), this, TaskCreationOptions.DenyChildAttach).Start(Options.Scheduler);
            }
        }
        catch (Exception e)
        {
            EndFetch(e);
        }
    }

    protected override IAfterLock? PostponedNewNeedsLock()
    {
        if (_fetching || Options.Greedy || !CanFetchNeedsLock())
        {
            return null;
        }

        _fetching = true;
        return this;
    }

    protected override IAfterLock? RoomCameNeedsLock()
    {
        if (!Options.Greedy)
        {
            return PostponedNewNeedsLock();
        }

        if (!_triggered || IsDeclining)
        {
            return null;
        }

        _triggered = _filled == 0 && !IsPullingNeedsLock;
        return MakePartNeedsLock();
    }

    private bool CanFetchNeedsLock()
    {
        int count = PostponedNeedsLock?.Count ?? 0;
        int room = IsBounded ? Options.Capacity - UsedNeedsLock : int.MaxValue;
        return !IsDeclining && count > 0 && (_triggered ? room > 0 : count >= BatchSize && room >= BatchSize);
    }

    private void Fetch()
    {
        try
        {
            while (true)
            {
                List<PostponedOffer<T>> offers = [];
                GateOwner? key = Gate.Enter();
                AssertInvariants();
                bool part = _triggered;
                if (!CanFetchNeedsLock())
                {
                    _fetching = false;
                    Leave(key, null);
                    return;
                }

                _triggered = false;
                int most = IsBounded ? Math.Min(BatchSize, Options.Capacity - UsedNeedsLock) : BatchSize;
                while (offers.Count < most && PostponedNeedsLock!.RemoveFirst() is { } node)
                {
                    offers.Add((PostponedOffer<T>)node);
                }

                Gate.Exit(key);
                FetchFrom(offers, part);
            }
        }
        catch (Exception e)
        {
            EndFetch(e);
        }
    }

    private void FetchFrom(List<PostponedOffer<T>> offers, bool part)
    {
        offers.RemoveAll(offer => !offer.Source.ReserveMessage(offer.Header, _owner));
        if (offers.Count == 0 || (!part && offers.Count < BatchSize))
        {
            // Those that were reserved offer again on their release, and are postponed again.
            offers.ForEach(offer => offer.Source.ReleaseReservation(offer.Header, _owner));
            return;
        }

        T[] batch = new T[offers.Count];
        for (int i = 0; i < batch.Length; i++)
        {
            batch[i] = offers[i].Source.ConsumeMessage(offers[i].Header, _owner, out bool consumed)!;
            if (!consumed)
            {
                throw new InvalidOperationException("The target failed to consume a message it had successfully reserved.");
            }
        }

        GateOwner? key = Gate.Enter();
        AddUsedNeedsLock(batch.Length);
        Leave(key, HandOutNeedsLock(batch));
    }

    private void EndFetch(Exception exception)
    {
        GateOwner? key = Gate.Enter();
        _fetching = false;
        CompleteNeedsLock(exception, drop: true, always: true);
        Leave(key, null);
    }
}
