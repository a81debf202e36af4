using System.Diagnostics;
using Weir.Core.Metering;
using Weir.Core.Sinks;

namespace Weir.Core.Dispatch;

/// <content>
/// What ends without a worker of its own: parked calls, which the run waits for, and items that are given up, which it does not, one by one or all together
/// because the run has to end now.
/// </content>
internal abstract partial class Pump
{
    /// <summary>Whether a failure has stopped the run.</summary>
    public bool HasFailed => _stop.HasFailed;

    /// <summary>The status of an item that ends because the run's token was cancelled.</summary>
    public ItemStatus StoppedAs => _stop.As;

    /// <summary>The error of such an item.</summary>
    public Exception? StoppedError => _stop.Error;

    /// <summary>Cancels the items' own tokens when the run stops, or at once if it has.</summary>
    public void AddTokens(ItemTokens tokens) => _stop.Add(tokens);

    /// <summary>
    /// Ends the run without waiting for running items: each of them gets <paramref name="status"/>, and no other item runs.
    /// Only for guarded runs.
    /// </summary>
    public void Abort(ItemStatus status, Exception? error)
    {
        if (TryStop(by: null, status, error, out bool finish))
        {
            // User code may take long to react to its cancelled token, and nobody waits for it here.
            _stop.CancelTokens(later: true);
            if (finish)
            {
                QueueFinish();
            }
        }

        if (!AbandonAll(status, error))
        {
            // A worker was between two items and had not yet seen that the run has ended. It sees this before its next item, or is caught in that item.
            new AbandonTimer(this, status, error).Wait();
        }
    }

    /// <summary>
    /// A new worker that replaces an orphan. It counts as the orphan did, so the run waits for it. The run forgets the orphan, which may live as long
    /// as the call that it waits for: an endless run may have any number of them.
    /// </summary>
    public PumpWorker CreateSuccessor(PumpWorker orphan)
    {
        PumpWorker successor = CreateWorker();
        lock (_lock)
        {
            ref RunSample past = ref _counts.PastNeedsLock;
            orphan.AddTo(ref past);
            past.InFlight = 0;
            past.Abandoned++;
            _workers.ForgetNeedsLock(orphan);
            _workers.JoinNeedsLock(successor);
        }

        return successor;
    }

    /// <summary>An item was given up and then nobody could take its worker's place: the run fails, and does not wait for it.</summary>
    public void LoseOrphan(Exception error)
    {
        EngineFailed(error);
        EndAbandoned(isOrphan: false);
    }

    private void EndAbandoned(bool isOrphan)
    {
        lock (_lock)
        {
            if (isOrphan)
            {
                _counts.PastNeedsLock.Abandoned++;
            }

            _workers.LeaveNeedsLock();
        }

        FinishIfDone();
    }

    /// <summary>The same for a parked call.</summary>
    public void LoseGivenUp(Exception error)
    {
        EngineFailed(error);
        _parked.Remove(1);
        FinishIfDone();
    }

    /// <summary>Whether an item was given up, so that nobody waits for its call any more. For the call, whose token is cancelled.</summary>
    /// <remarks>Such a token tells it while the run goes on. A run that has stopped cancels those of all items, and may still wait for this one.</remarks>
    public bool HasGivenUp(long index)
    {
        if (!IsGuarded)
        {
            return false;
        }

        if (!IsOver || HasEnded)
        {
            return true;
        }

        for (PumpWorker? worker = _workers.First; worker is not null; worker = worker.NextCreated)
        {
            if (worker.IsInCallOf(index))
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>Gives up the items of all workers, and all parked calls.</summary>
    /// <returns>Whether the run has ended.</returns>
    public bool AbandonAll(ItemStatus status, Exception? error)
    {
        // A run that ended by itself gives away what its workers have. One that is over, and has not ended, keeps it.
        if (HasFinished)
        {
            return true;
        }

        for (PumpWorker? worker = _workers.First; worker is not null; worker = worker.NextCreated)
        {
            bool isOrphan = true;
            bool abandoned = true;
            try
            {
                abandoned = worker.TryAbandon(status, error, out isOrphan);
            }
            catch (Exception e)
            {
                // The item was taken from its worker, but then there was no memory to record it or no thread to replace the worker's. It will no longer end by
                // itself.
                _stop.Break(e);
                worker.TellParked();
            }

            if (abandoned)
            {
                EndAbandoned(isOrphan);
            }

            AbandonParkedOf(worker, status, error);
        }

        return HasFinished;
    }

    private bool HasFinished
    {
        get
        {
            lock (_lock)
            {
                return _finished;
            }
        }
    }

    /// <summary>Adds calls that a worker has parked, before it leaves or waits for a thread.</summary>
    public void AddParked(int count) => _parked.Add(count);

    /// <summary>Records the end of a parked call.</summary>
    /// <param name="index">The index of its item.</param>
    /// <param name="call">The call, which has ended.</param>
    /// <param name="isOnOwnThread">Whether this thread was started for the run.</param>
    public abstract void EndParked(long index, Task call, bool isOnOwnThread);

    /// <summary>The end of a parked call could not be recorded: the run fails, and does not wait for it.</summary>
    public abstract void LoseParked(long index, Task call, Exception error);

    /// <summary>Counts a parked call that has succeeded, or whose run fails without its outcome, and ends the run if it was the last one.</summary>
    protected void ParkedSucceeded(bool isOnOwnThread)
    {
        if (!_parked.EndOne())
        {
            return;
        }

        bool finish;
        try
        {
            FaultPoint.Pass("Pump.ParkedSucceeded", this);
            finish = TryFinish();
        }
        catch (Exception e)
        {
            // There is no memory to wait for the lock with.
            EngineFailed(e);
            finish = TryFinish();
        }

        if (finish)
        {
            FinishOn(isOnOwnThread);
        }
    }

    /// <summary>A worker for the failure of a parked call, which then no longer counts; null if there is no memory for one, and the run fails.</summary>
    protected PumpWorker? TryTakeOverParked(Exception failure)
    {
        try
        {
            FaultPoint.Pass("Pump.TakeOverParked", this);
            lock (_lock)
            {
                PumpWorker worker = TakeIdleNeedsLock();
                _workers.AddNeedsLock();
                _parked.Remove(1);
                return worker;
            }
        }
        catch (Exception e)
        {
            EngineFailed(new AggregateException(failure, e));
            return null;
        }
    }

    /// <summary>A new worker that records that a parked call was given up. The call no longer counts, and the worker does.</summary>
    public PumpWorker CreateForParked()
    {
        PumpWorker worker = CreateWorker();
        lock (_lock)
        {
            _counts.PastNeedsLock.Abandoned++;
            _workers.JoinNeedsLock(worker);
            _workers.AddNeedsLock();
            _parked.Remove(1);
            return worker;
        }
    }

    private void AbandonParkedOf(PumpWorker worker, ItemStatus status, Exception? error)
    {
        int abandoned = 0;
        try
        {
            worker.AbandonParked(status, error, ref abandoned);
        }
        catch (Exception e)
        {
            // As for the items of workers.
            _stop.Break(e);
        }

        if (abandoned == 0)
        {
            return;
        }

        if (status == ItemStatus.TimedOut)
        {
            _counts.AddTimedOut(abandoned);
        }

        lock (_lock)
        {
            ref RunSample past = ref _counts.PastNeedsLock;
            past.Unsuccessful += abandoned;
            past.Abandoned += abandoned;
            _parked.Remove(abandoned);
        }

        FinishIfDone();
    }

    /// <summary>Counts an item that ended because the run was stopped. It is cancelled and has not failed.</summary>
    public void CountStopped() => CountStopped(1);

    /// <summary>Counts an item that passed its time limit, or that of the run.</summary>
    public void CountTimedOut() => _counts.AddTimedOut(1);

    private void CountStopped(int count)
    {
        if (StoppedAs == ItemStatus.Cancelled)
        {
            _counts.AddCancelled(count);
        }
    }

    /// <summary>Called when the run was stopped while items waited for another attempt.</summary>
    /// <param name="waited">How many waited.</param>
    /// <param name="attempted">How many of these, and of the due items, had been attempted, and so have ended.</param>
    protected void EndDelayed(int waited, int attempted)
    {
        CountStopped(attempted);
        lock (_lock)
        {
            _counts.AddDelayedNeedsLock(-waited);
            _counts.PastNeedsLock.Unsuccessful += attempted;
        }
    }

    /// <summary>The error of an item that has passed its time limit. It names the item where no list of failures or outcomes does.</summary>
    public Exception ItemTimedOut(long index) => TimeLimit.OfItem(Settings.PerItemTimeout!.Value, Settings.ErrorMode == ErrorMode.FailFast ? index : null);

    /// <summary>The item of a parked call was given up. What the call still brings is observed and discarded.</summary>
    public abstract void GiveUpParked(long index, Task call);

    /// <summary>Records the outcome of an item that ended without a result.</summary>
    public abstract void EndUnsuccessful(long index, ItemStatus status, Exception? error);

    /// <summary>The error of an attempt that has passed its own time limit.</summary>
    public abstract Exception AttemptTimedOut(int attempt);

    [Conditional("DEBUG")]
    private void AssertInvariants()
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "The state of a run is read and changed under its lock.");
        _workers.AssertInvariants();
    }
}
