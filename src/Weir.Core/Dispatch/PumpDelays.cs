namespace Weir.Core.Dispatch;

/// <content>Items that wait for another attempt: the run is not over while there are any, and they have a bound.</content>
internal abstract partial class Pump
{
    private int _delayed;

    /// <summary>Whether so many items wait for another attempt that no new one is started: what waits is kept in memory.</summary>
    protected bool HasBacklog => Volatile.Read(ref _delayed) >= 1024 + (4 * (long)Limit);

    protected abstract void CloseDelays();

    protected void CountDelayed()
    {
        using (_gate.Hold())
        {
            _delayed++;
        }
    }

    /// <summary>Told when items have come back to the source.</summary>
    protected void OnDue(int count)
    {
        bool finish;
        using (_gate.Hold())
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
