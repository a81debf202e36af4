using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Links;
using Weir.Dataflow.Sync;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow.Cores;

/// <content>Making a message the current one, and offering it to the links.</content>
internal sealed partial class BroadcastCore<T>
{
    private const int OffersPerLock = 16;

    protected override bool Process(T item, long id)
    {
        lock (Source)
        {
            if (!TryPublish(item, id))
            {
                return false;
            }
        }

        Free(1, here: true);
        return true;
    }

    protected override bool ProcessAll(InputQueue<T> queue, ReadOnlySpan<T> items, ref int budget)
    {
        if (IsBounded || budget < items.Length)
        {
            return base.ProcessAll(queue, items, ref budget);
        }

        // Handles several messages each time the monitor is taken. Nothing is freed or queued meanwhile.
        budget -= items.Length;
        while (!items.IsEmpty && !IsDropped)
        {
            ReadOnlySpan<T> some = items[..Math.Min(items.Length, OffersPerLock)];
            items = items[some.Length..];
            lock (Source)
            {
                foreach (ref readonly T slot in some)
                {
                    T item = slot;
                    if (IsDropped)
                    {
                        break;
                    }

                    queue.Take(in slot);
                    if (!TryPublish(item, queue.ReadCount - 1))
                    {
                        return false;
                    }
                }
            }
        }

        return true;
    }

    /// <summary>Publishes, unless a reservation of the current message holds this one back.</summary>
    private bool TryPublish(T item, long id)
    {
        if (_reservedFor is null)
        {
            Publish(item);
        }
        else if (!IsDropped)
        {
            _held = item;
            _heldId = id;
            _hasHeld = true;
            return false;
        }
        else
        {
            DiscardTaken();
        }

        return true;
    }

    private void Publish(T item)
    {
        Source.SetNeedsLock(item);
        _currentId++;
        try
        {
            // A target that is linked from within an offer gets the message when it is linked.
            long last = Source.Links.Highest;
            LinkNode<T>? next;
            for (LinkNode<T>? node = Source.Links.First; node is not null && node.Order <= last && _reservedFor is null; node = next)
            {
                if (node is TargetLink<T> link)
                {
                    Offer(link.Target, link);
                    next = Source.Links.After(node);
                }
                else
                {
                    next = Source.Links.After(node);
                    Source.Links.Remove(node);
                    Source.GiveTo((ReceiveWaiter<T>)node);
                }
            }
        }
        catch (Exception e)
        {
            Complete(e, drop: true, always: true);
        }
    }

    private void Offer(ITargetBlock<T> target, TargetLink<T>? link)
    {
        // No copy is made for a target that may not take it.
        if (link?.Direct is { IsDeclining: false } direct
            && (!Source.Clones || !direct.IsBounded)
            && direct.TryAcceptDirect(Source.Copy(Source.Value!), _id, out IAfterLock? after))
        {
            after?.AfterLock();
            return;
        }

        DataflowMessageStatus status = target.OfferMessage(
            new DataflowMessageHeader(_currentId), Source.Value!, _owner, consumeToAccept: Source.Clones);
        if (link is null)
        {
            return;
        }

        // With a cloning function the target has consumed, which has counted.
        if (status == DataflowMessageStatus.DecliningPermanently
            || (status == DataflowMessageStatus.Accepted && !Source.Clones && link.CountDown()))
        {
            Source.Links.Remove(link);
        }
    }
}
