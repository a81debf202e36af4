namespace Weir.Core.Dispatch;

/// <summary>The pauses of a run whose pauses somebody wants to know of. Changed under the run's lock only.</summary>
internal sealed class PauseState
{
    private Pump.PauseHook? _lastHook;
    private long _pausedAt;

    /// <summary>
    /// Whether reading pauses. Workers read it without the lock at each claim: one that misses a pause that has just begun has claimed before it.
    /// </summary>
    public volatile bool IsPaused;

    public long Throttles { get; private set; }

    public long Drains { get; private set; }

    public void BeginNeedsLock(long nextIndex)
    {
        IsPaused = true;
        Throttles++;
        _pausedAt = nextIndex;
    }

    /// <summary>Ends the pause, if items that were not read before it were claimed, up to an index.</summary>
    public bool TryEndNeedsLock(long end)
    {
        if (!IsPaused || end <= _pausedAt)
        {
            return false;
        }

        IsPaused = false;
        Drains++;
        return true;
    }

    /// <summary>Takes the place of a hook's call in the queue. The hook itself is called later, under no lock.</summary>
    public Pump.PauseHook QueueNeedsLock(Pump run, Func<long, ValueTask> hook) => _lastHook = new Pump.PauseHook(run, hook, _lastHook);
}
