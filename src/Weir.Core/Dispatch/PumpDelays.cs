namespace Weir.Core.Dispatch;

/// <content>Items that wait for another attempt. The run does not end while there are any, and their number is bounded.</content>
internal abstract partial class Pump
{
    /// <summary>Whether so many items wait for another attempt that no new item starts, because waiting items are kept in memory.</summary>
    protected bool HasBacklog => _counts.Delayed >= 1024 + (4 * (long)Limit);

    protected abstract void CloseDelays();

    protected void CountDelayed()
    {
        using (_lock.Hold())
        {
            _counts.AddDelayedNeedsLock(1);
        }
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
        using (_lock.Hold())
        {
            _counts.AddDelayedNeedsLock(-waited);
            _counts.PastNeedsLock.Unsuccessful += attempted;
        }
    }

    /// <summary>Called when items have come back to the source.</summary>
    protected void OnDue(int count)
    {
        bool finish;
        using (_lock.Hold())
        {
            _counts.AddDelayedNeedsLock(-count);
            _throttled = false;
            finish = TryFinishNeedsLock();
        }

        if (finish)
        {
            FinishOnThePool();
        }

        while (count-- > 0 && AddQueued(urgent: IsGuarded))
        {
        }
    }
}
