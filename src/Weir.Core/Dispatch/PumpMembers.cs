namespace Weir.Core.Dispatch;

/// <content>The workers of a run: they come, wait for a thread and leave.</content>
internal abstract partial class Pump
{
    /// <summary>
    /// Returns a worker for the current thread to run, if the run can use one more. Called after a turn was given up or items were given back, which are full
    /// fences.
    /// </summary>
    public PumpWorker? TryAdd()
    {
        if (IsOver || Volatile.Read(ref _live) >= Volatile.Read(ref _limit) || IsBusy || IsExhausted)
        {
            return null;
        }

        using (_lock.Hold())
        {
            return AddNeedsLock(queued: false);
        }
    }

    /// <summary>Starts one more worker on another thread, if the run can use it.</summary>
    /// <param name="urgent">Whether it is needed even while abandoned calls hold all threads.</param>
    public bool AddQueued(bool urgent = false)
    {
        PumpWorker? worker;
        using (_lock.Hold())
        {
            worker = AddNeedsLock(queued: true);
        }

        if (worker is null)
        {
            return false;
        }

        Queue(worker, urgent);
        return true;
    }

    /// <summary>Counts a worker that returns its thread to the executor between two items.</summary>
    public void Requeue(PumpWorker worker)
    {
        using (_lock.Hold())
        {
            worker.IsQueued = true;
            _queued++;
        }

        Queue(worker, urgent: false);
    }

    /// <summary>Whether the run of a queued worker still exists.</summary>
    public bool TryEnter(PumpWorker worker)
    {
        PumpWorker? next;
        using (_lock.Hold())
        {
            if (_finished)
            {
                return false;
            }

            worker.IsQueued = false;
            _queued--;
            AssertInvariants();
            next = AddWantedNeedsLock();
        }

        if (next is not null)
        {
            Settings.Executor.QueueWhileBlocked(next);
        }

        return true;
    }

    /// <summary>Lets a worker leave, unless its reason no longer holds. The last worker to leave ends the run.</summary>
    public bool TryLeave(PumpWorker worker, LeaveReason reason)
    {
        bool finish;
        using (_lock.Hold())
        {
            AssertInvariants();

            // First, and with a full fence: a thread that removes the reason afterwards reads this number and sees that a worker is missing.
            Interlocked.Decrement(ref _live);
            if (!IsOver && !MayLeaveNeedsLock(reason))
            {
                Interlocked.Increment(ref _live);
                return false;
            }

            if (_live <= _limit && IsLent)
            {
                TakeBack();
            }

            _workers.RestNeedsLock(worker);
            finish = TryFinishNeedsLock();
        }

        if (finish)
        {
            FinishOn(worker.IsOnOwnThread);
        }

        return true;
    }

    /// <summary>Whether the reason of a worker that is no longer counted still holds.</summary>
    private bool MayLeaveNeedsLock(LeaveReason reason)
    {
        switch (reason)
        {
            case LeaveReason.Busy:
                return IsBusy;
            case LeaveReason.WaitsForTurn when IsBusy:
                _waitingReaders.AddNeedsLock();
                return true;
            case LeaveReason.TooMany:
                // The items that were given back are for this worker, if it can have the place of a reading worker.
                return _live >= _limit && !(_live == _limit && (IsLent || (HasStash && TryLend())));
            case LeaveReason.Throttled when IsAtCeiling:
                return _throttled = true;
            case LeaveReason.Paused:
                return IsHeldNeedsLock;
            default:
                return reason == LeaveReason.Exhausted && IsExhausted;
        }
    }

    private PumpWorker? AddNeedsLock(bool queued)
    {
        AssertInvariants();
        if (IsOver || _finished || _live > _limit || IsBusy || IsExhausted || IsHeldNeedsLock)
        {
            return null;
        }

        if (IsAtCeiling && _pauses is not { IsPaused: false })
        {
            _throttled = true;
            return null;
        }

        if (_live == _limit && !(HasStash && TryLend()))
        {
            return null;
        }

        PumpWorker worker = TakeIdleNeedsLock();
        _live++;
        if (queued)
        {
            worker.IsQueued = true;
            _queued++;
        }

        return worker;
    }

    private PumpWorker TakeIdleNeedsLock()
    {
        if (_workers.TakeIdleNeedsLock() is { } idle)
        {
            return idle;
        }

        PumpWorker worker = CreateWorker();
        _workers.AddNeedsLock(worker);
        return worker;
    }
}
