using System.Threading.Tasks.Dataflow;
using Weir.Core;
using Weir.Core.Threads;
using Weir.Dataflow.Links;
using Weir.Dataflow.Sync;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow.Cores;

/// <content>Offering the head to the links.</content>
internal sealed partial class SourceCore<T>
{
    void IThreadPoolWorkItem.Execute()
    {
        ExecutionContext? context = _context;
        try
        {
            FaultPoint.Pass("SourceCore.Execute", this);
            if (Work.IsIn(context, _options.Scheduler))
            {
                OfferAll();
            }
            else
            {
                ExecutionContext.Run(context!, static source => ((SourceCore<T>)source!).OfferAll(), this);
            }
        }
        catch (Exception e)
        {
            // Offering catches everything, so it has not begun.
            try
            {
                OfferEnded(e);
            }
            catch (Exception again)
            {
                Unattended.TryReport(this, again);
            }
        }
    }

    /// <summary>A work item failed: the block faults. If the item was to look whether this is the end, nobody else does.</summary>
    public void WorkFailed(Exception error)
    {
        AddException(error);
        _host.OutputFailed();
        FinishIfDone();
    }

    /// <summary>The end could not begin: nobody else begins it, so it does here.</summary>
    private void FinishFailed(Exception error)
    {
        AddException(error);
        Finish();
    }

    private void OfferAll()
    {
        int budget = _options.MessagesPerTask;
        try
        {
            bool more = true;
            while (more && budget > 0)
            {
                lock (this)
                {
                    for (int i = 0; more && budget > 0 && i < OffersPerLock; i++)
                    {
                        more = OfferHead(null, linking: false);
                        budget--;
                    }
                }
            }
        }
        catch (Exception e)
        {
            OfferEnded(e);
            return;
        }

        OfferEnded(null);
    }

    /// <summary>The work item ends: another one takes its place if there is more to offer.</summary>
    private void OfferEnded(Exception? failure)
    {
        if (failure is not null)
        {
            AddException(failure);
            _host.OutputFailed();
        }

        LockOwner? key = _stateLock.Enter();
        _offerQueued = false;
        bool again = failure is null && QueueOfferNeedsLock();
        _context = again ? _context : null;
        bool finish = TryFinishNeedsLock();
        _stateLock.Exit(key);
        FinishIf(finish);
        if (again)
        {
            try
            {
                Work.Queue(this, _options.Scheduler, again: true);
            }
            catch (Exception e)
            {
                OfferEnded(e);
            }
        }
    }

    /// <summary>Offers the head to all links in turn, or to one. The caller holds the monitor.</summary>
    /// <returns>Whether the head left, so there may be another one to offer.</returns>
    private bool OfferHead(TargetLink<T>? only, bool linking)
    {
        LockOwner? key = _stateLock.Enter();
        AssertInvariants();
        // Even a block that is about to end offers the head to a new link, as long as it has not ended.
        if (!(linking ? IsHeadFree : MayOffer) || (only is null && _refused))
        {
            _stateLock.Exit(key);
            return false;
        }

        T item = _queue.Peek();
        DataflowMessageHeader header = new(_headId);
        LinkNode<T>? node = only ?? _links.First;
        _offering = true;
        TargetLink<T>? taker = null;
        ReceiveWaiter<T>? after = null;
        bool all = only is null;
        bool onward = all;
        try
        {
            while (true)
            {
                if (node is null)
                {
                    // Targets that were linked while others were asked may stand before them.
                    onward = false;
                    node = FindNewLinkNeedsLock();
                    if (node is null)
                    {
                        break;
                    }
                }

                LinkNode<T> current = node;
                if (current is ReceiveWaiter<T> waiter)
                {
                    // Still inside the lock.
                    node = onward ? _links.After(current) : null;
                    RemoveNeedsLock(waiter);
                    waiter.Next = after;
                    after = waiter;
                    if (waiter.TakesMessage)
                    {
                        waiter.Give(TakeHeadNeedsLock());
                        break;
                    }

                    continue;
                }

                TargetLink<T> link = (TargetLink<T>)current;
                link.AwaitsHead = false;
                _stateLock.Exit(key);
                DataflowMessageStatus status;
                try
                {
                    status = link.Target.OfferMessage(header, item, Owner, consumeToAccept: false);
                }
                finally
                {
                    key = _stateLock.Enter();
                }

                if (status == DataflowMessageStatus.Accepted)
                {
                    taker = link;
                    break;
                }

                node = onward ? _links.After(current) : null;
                if (status == DataflowMessageStatus.DecliningPermanently)
                {
                    RemoveNeedsLock(link);
                }

                if (_reservedFor is not null || _headId != header.Id)
                {
                    break;
                }
            }

            if (taker is not null)
            {
                if (_headId == header.Id)
                {
                    TakeHeadNeedsLock();
                }

                if (taker.CountDown())
                {
                    RemoveNeedsLock(taker);
                }
            }
            else if (_headId == header.Id && _reservedFor is null && all)
            {
                _refused = true;
            }
        }
        finally
        {
            _offering = false;
            after = ServeLateNeedsLock(header.Id, after);
            _stateLock.Exit(key);
            after?.AfterLock();
        }

        if (taker is not null)
        {
            Left(item);
        }

        return taker is not null || _headId != header.Id;
    }

    /// <summary>Serves the receivers that came while the last targets were asked, if none of these took the head: nothing else brings it.</summary>
    /// <param name="id">The number of the head that was offered.</param>
    /// <param name="after">Those that have been served, or null.</param>
    /// <returns>All that have been served, or null.</returns>
    private ReceiveWaiter<T>? ServeLateNeedsLock(long id, ReceiveWaiter<T>? after)
    {
        LinkNode<T>? next;
        for (LinkNode<T>? node = _links.First; node is not null && _headId == id && _reservedFor is null; node = next)
        {
            next = node.Next;
            if (node is ReceiveWaiter<T> waiter)
            {
                RemoveNeedsLock(waiter);
                waiter.Next = after;
                after = waiter;
                if (waiter.TakesMessage)
                {
                    waiter.Give(TakeHeadNeedsLock());
                }
            }
        }

        return after;
    }

    public IDisposable LinkTo(ITargetBlock<T> target, DataflowLinkOptions linkOptions)
    {
        ArgumentNullException.ThrowIfNull(target);
        ArgumentNullException.ThrowIfNull(linkOptions);
        if (!_completion.IsCompleted)
        {
            lock (this)
            {
                if (TryLink(target, linkOptions, out TargetLink<T>? only) is { } link)
                {
                    OfferToNewLink(link, only);
                    return new Unlinker(Owner, target, () => Unlink(link));
                }
            }
        }

        if (linkOptions.PropagateCompletion)
        {
            Protocol.PropagateOnceComplete(_completion.Task, target);
        }

        return Unlinker.Nothing;
    }

    /// <summary>A link that was added while the head was being offered, and has not been asked.</summary>
    private TargetLink<T>? FindNewLinkNeedsLock()
    {
        for (LinkNode<T>? node = _newcomers ? _links.First : null; node is not null; node = node.Next)
        {
            if (node is TargetLink<T> { AwaitsHead: true } link)
            {
                return link;
            }
        }

        _newcomers = false;
        return null;
    }

    /// <summary>Adds a target to the list, unless the block has ended.</summary>
    /// <param name="target">The target.</param>
    /// <param name="linkOptions">How it is linked.</param>
    /// <param name="only">The link, if all others have refused the head already.</param>
    private TargetLink<T>? TryLink(ITargetBlock<T> target, DataflowLinkOptions linkOptions, out TargetLink<T>? only)
    {
        only = null;
        LockOwner? key = _stateLock.Enter();
        try
        {
            if (_finishing)
            {
                return null;
            }

            ITargetBlock<T> offered = _links.Find(target) is null ? target : new PassThrough<T>(Owner, target, null);
            TargetLink<T> link = new(offered, linkOptions) { AwaitsHead = _offering };
            AddNeedsLock(link, linkOptions.Append);
            _newcomers |= _offering;
            only = _refused ? link : null;
            return link;
        }
        finally
        {
            _stateLock.Exit(key);
        }
    }

    private void OfferToNewLink(TargetLink<T> link, TargetLink<T>? only)
    {
        long head = Volatile.Read(ref _headId);
        try
        {
            OfferHead(only, linking: true);
        }
        catch (Exception)
        {
            // The caller gets the exception. The target stays linked, and is asked again when something changes.
            LockOwner? key = _stateLock.Enter();
            _refused |= _headId == head && _links.First == link && link.Next is null;
            _stateLock.Exit(key);
            throw;
        }
        finally
        {
            LockOwner? key = _stateLock.Enter();
            bool offer = QueueOfferNeedsLock();
            bool finish = TryFinishNeedsLock();
            _stateLock.Exit(key);
            FinishIf(finish);
            if (offer)
            {
                AfterLock();
            }
        }
    }

    private void Unlink(TargetLink<T> link)
    {
        lock (this)
        {
            LockOwner? key = _stateLock.Enter();
            RemoveNeedsLock(link);
            _stateLock.Exit(key);
        }
    }
}
