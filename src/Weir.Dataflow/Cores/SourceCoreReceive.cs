using Weir.Dataflow.Sync;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow.Cores;

/// <content>Waiting for a message.</content>
internal sealed partial class SourceCore<T>
{
    /// <inheritdoc/>
    public override void GiveUp(ReceiveWaiter<T> waiter, bool timedOut, CancellationToken token)
    {
        LockOwner? key = _stateLock.Enter();
        bool removed = RemoveNeedsLock(waiter);
        waiter.IsGivenUp = true;
        _stateLock.Exit(key);
        if (removed)
        {
            waiter.GiveUp(timedOut, token);
        }
    }

    /// <inheritdoc/>
    public override void OnTakenByWaiter(T item) => Left(item);

    /// <inheritdoc/>
    public override bool IsReceivable()
    {
        LockOwner? key = _stateLock.Enter();
        bool receivable = _queue.Count > 0 && _reservedFor is null && !_offering;
        _stateLock.Exit(key);
        return receivable;
    }

    /// <inheritdoc/>
    public override void Enlist(ReceiveWaiter<T> waiter, CancellationToken cancellationToken)
    {
        LockOwner? key = _stateLock.Enter();
        AssertInvariants();
        if (waiter.IsGivenUp)
        {
            _stateLock.Exit(key);
            waiter.GiveUp(timedOut: !cancellationToken.IsCancellationRequested, cancellationToken);
            return;
        }

        if (_queue.Count > 0 && _reservedFor is null && !_offering)
        {
            bool finish = false;
            if (waiter.TakesMessage)
            {
                waiter.Give(TakeHeadNeedsLock());
                finish = TryFinishNeedsLock();
            }

            _stateLock.Exit(key);
            FinishIf(finish);
            waiter.AfterLock();
            return;
        }

        if (_finishing)
        {
            _stateLock.Exit(key);
            waiter.SourceEnded();
            return;
        }

        AddNeedsLock(waiter, append: true);
        _stateLock.Exit(key);
    }
}
