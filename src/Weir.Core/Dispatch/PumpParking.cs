using Weir.Core.Metering;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <content>Calls that have suspended and hold no worker. The run does not end before they have.</content>
internal abstract partial class Pump
{
    private ParkedCount _parked;

    /// <summary>Whether all items may be in flight at once, so that a call that suspends needs no worker.</summary>
    public bool Parks;

    /// <summary>Adds calls that a worker has parked, before it leaves or waits for a thread.</summary>
    public void AddParked(int count) => _parked.Add(count);

    /// <summary>Records the end of a parked call. Nothing of the call or its run may be used after that, unless the run waits for something else.</summary>
    public abstract void EndParked(ParkedCall call);

    /// <summary>The end of a parked call could not be recorded: the run fails, and does not wait for it.</summary>
    public abstract void LoseParked(ParkedCall call, Exception error);

    /// <summary>Counts a parked call that has succeeded, or whose run fails without its outcome, and ends the run if it was the last one.</summary>
    protected void ParkedSucceeded(bool isOnOwnThread)
    {
        if (!_parked.EndOne())
        {
            return;
        }

        try
        {
            FaultPoint.Pass("Pump.ParkedSucceeded", this);
            FinishIfDone(isOnOwnThread);
        }
        catch (Exception e)
        {
            // There is no memory to wait for the lock with.
            EngineFailed(e);
            FinishIfDone(isOnOwnThread);
        }
    }

    private void FinishIfDone(bool isOnOwnThread)
    {
        bool finish;
        using (_lock.Hold())
        {
            finish = TryFinishNeedsLock();
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
            using (_lock.Hold())
            {
                PumpWorker worker = TakeIdleNeedsLock();
                _live++;
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
        using (_lock.Hold())
        {
            _counts.PastNeedsLock.Abandoned++;
            _workers.AddNeedsLock(worker);
            _live++;
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

        bool finish;
        using (_lock.Hold())
        {
            ref RunSample past = ref _counts.PastNeedsLock;
            past.Unsuccessful += abandoned;
            past.Abandoned += abandoned;
            _parked.Remove(abandoned);
            finish = TryFinishNeedsLock();
        }

        if (finish)
        {
            QueueFinish();
        }
    }
}
