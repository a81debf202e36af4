using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Links;
using Weir.Dataflow.Sync;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow.Cores;

/// <content>What is said to sources: consuming what they offered, and letting go what is not wanted.</content>
internal abstract partial class TargetCore<T>
{
    /// <summary>Consumes and stores a message whose place is taken already; gives the place back if that fails.</summary>
    /// <param name="messageHeader">Which message.</param>
    /// <param name="source">Its source.</param>
    /// <param name="offered">Whether this is from within the offer, and counted as a transfer.</param>
    private bool TryConsume(DataflowMessageHeader messageHeader, ISourceBlock<T> source, bool offered)
    {
        T? value;
        bool consumed;
        try
        {
            value = source.ConsumeMessage(messageHeader, Self, out consumed);
        }
        catch
        {
            // A source that throws has given no message.
            Consumed(default, consumed: false, offered);
            throw;
        }

        Consumed(value, consumed, offered);
        return consumed;
    }

    private void Consumed(T? value, bool consumed, bool offered)
    {
        LockOwner? key = StateLock.Enter();
        _transfers -= offered ? 1 : 0;
        IAfterLock? after = consumed ? StoreConsumedNeedsLock(value!) : NotConsumedNeedsLock();
        IAfterLock? other = ReferenceEquals(after, NoMemory.Instance) ? NotConsumedNeedsLock() : null;
        bool pull = offered && StartPullNeedsLock();
        bool finish = _declining && TryFinishNeedsLock();
        StateLock.Exit(key);
        other?.AfterLock();
        try
        {
            after?.AfterLock();
        }
        finally
        {
            FinishIf(finish);
            if (pull)
            {
                QueuePull();
            }
        }
    }

    private IAfterLock? NotConsumedNeedsLock()
    {
        AddUsedNeedsLock(-1);
        return _isLimited ? ReleaseClaimNeedsLock() : null;
    }

    /// <summary>Stores what was consumed, unless the block has failed or was cancelled meanwhile.</summary>
    private IAfterLock? StoreConsumedNeedsLock(T value) =>
        _declining && (_exceptions is not null || Options.Token.IsCancellationRequested) ? null : StoreNeedsLock(value);

    private void DeclineAllPostponed()
    {
        PostponedNode<T>? node;
        do
        {
            LockOwner? key = StateLock.Enter();
            node = _postponed?.RemoveFirst();
            StateLock.Exit(key);
            DeclinePostponed(node);
        }
        while (node is not null);
    }

    /// <summary>Tells a postponed source that its message is not wanted: a reservation that is released makes it look elsewhere.</summary>
    protected void DeclinePostponed(PostponedNode<T>? node)
    {
        if (node is SendWaiter<T> waiter)
        {
            waiter.Finish(accepted: false);
        }
        else if (node is PostponedOffer<T> offer)
        {
            try
            {
                if (offer.Source.ReserveMessage(offer.Header, Self))
                {
                    offer.Source.ReleaseReservation(offer.Header, Self);
                }
            }
            catch (Exception e)
            {
                LockOwner? key = StateLock.Enter();
                try
                {
                    (_exceptions ??= []).Add(e);
                }
                finally
                {
                    StateLock.Exit(key);
                }
            }
        }
    }
}
