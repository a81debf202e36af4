namespace Weir.Core.Dispatch;

/// <content>Tells the user that reading pauses and resumes: alternately, and one hook after the other.</content>
internal abstract partial class Pump
{
    private volatile bool _paused;
    private long _pausedAt;
    private PauseHook? _lastPauseHook;
    private long _throttles;
    private long _drains;

    protected bool WatchesPauses => Settings.WatchesPauses;

    /// <summary>Records that reading pauses.</summary>
    /// <returns>The hook's call, once for each pause; otherwise null.</returns>
    public PauseHook? Pause()
    {
        if (!WatchesPauses || _paused || HasBacklog)
        {
            return null;
        }

        using (_lock.Hold())
        {
            if (_paused || _over || !IsAtCeiling)
            {
                return null;
            }

            _paused = true;
            _throttles++;
            _pausedAt = NextIndex;
            return Settings.OnThrottle is { } hook ? QueueHookNeedsLock(hook) : null;
        }
    }

    /// <summary>Records that items up to an index were claimed. Items that were read before the pause and given back do not end it.</summary>
    /// <returns>The hook's call, once for each pause; otherwise null.</returns>
    public PauseHook? Resume(long end)
    {
        if (!_paused)
        {
            return null;
        }

        using (_lock.Hold())
        {
            if (!_paused || end <= _pausedAt)
            {
                return null;
            }

            _paused = false;
            _drains++;
            return Settings.OnDrain is { } hook ? QueueHookNeedsLock(hook) : null;
        }
    }

    // Only the place in the queue is taken under the lock. The hook itself runs later, under no lock.
    private PauseHook QueueHookNeedsLock(Func<long, ValueTask> hook)
    {
        PauseHook call = new(this, hook, _lastPauseHook);
        _lastPauseHook = call;
        return call;
    }

    private async Task CallPauseHookAsync(Func<long, ValueTask> hook)
    {
        try
        {
            await hook(NextIndex).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            HookFailed(e);
        }
    }

    /// <summary>A call to a hook that has its place in the queue.</summary>
    internal sealed class PauseHook(Pump run, Func<long, ValueTask> hook, PauseHook? before)
    {
        private readonly TaskCompletionSource _done = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private PauseHook? _before = before;

        /// <summary>Calls the hook once the one before it has ended. Called once.</summary>
        public async Task RunAsync()
        {
            if (_before is { } before)
            {
                await before._done.Task.ConfigureAwait(false);
                _before = null;
            }

            try
            {
                await run.CallPauseHookAsync(hook).ConfigureAwait(false);
            }
            finally
            {
                _done.SetResult();
            }
        }
    }
}
