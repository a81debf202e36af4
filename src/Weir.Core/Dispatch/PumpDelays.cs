namespace Weir.Core.Dispatch;

/// <content>Items that wait for another attempt. The run does not end while there are any, and their number is bounded.</content>
internal abstract partial class Pump
{
    private int _delayed;
    private int _cancelledItems;
    private int _timedOutItems;

    /// <summary>Whether so many items wait for another attempt that no new item starts, because waiting items are kept in memory.</summary>
    protected bool HasBacklog => Volatile.Read(ref _delayed) >= 1024 + (4 * (long)Limit);

    protected abstract void CloseDelays();

    protected void CountDelayed()
    {
        using (_lock.Hold())
        {
            _delayed++;
        }
    }

    /// <summary>Counts an item that ended because the run was stopped. It is cancelled and has not failed.</summary>
    public void CountStopped() => CountStopped(1);

    /// <summary>Counts an item that passed its time limit, or that of the run.</summary>
    public void CountTimedOut() => Interlocked.Increment(ref _timedOutItems);

    private void CountStopped(int count)
    {
        if (StoppedAs == ItemStatus.Cancelled)
        {
            Interlocked.Add(ref _cancelledItems, count);
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
            _delayed -= waited;
            Past.Unsuccessful += attempted;
        }
    }

    /// <summary>Called when items have come back to the source.</summary>
    protected void OnDue(int count)
    {
        bool finish;
        using (_lock.Hold())
        {
            _delayed -= count;
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
