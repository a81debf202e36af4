namespace Weir.Core.Dispatch;

/// <content>Tells the user that reading pauses and resumes: alternately, and one hook after the other.</content>
internal abstract partial class Pump
{
    private PauseState? _pauses;

    /// <summary>Records that reading pauses.</summary>
    /// <returns>The hook's call, once for each pause; otherwise null.</returns>
    public PauseHook? Pause()
    {
        if (_pauses is not { IsPaused: false } pauses || HasBacklog)
        {
            return null;
        }

        using (_lock.Hold())
        {
            if (pauses.IsPaused || IsOver || !IsAtCeiling)
            {
                return null;
            }

            pauses.BeginNeedsLock(NextIndex);
            return Settings.OnThrottle is { } hook ? pauses.QueueNeedsLock(this, hook) : null;
        }
    }

    /// <summary>Records that items up to an index were claimed. Items that were read before the pause and given back do not end it.</summary>
    /// <returns>The hook's call, once for each pause; otherwise null.</returns>
    public PauseHook? Resume(long end)
    {
        if (_pauses is not { IsPaused: true } pauses)
        {
            return null;
        }

        using (_lock.Hold())
        {
            return pauses.TryEndNeedsLock(end) && Settings.OnDrain is { } hook ? pauses.QueueNeedsLock(this, hook) : null;
        }
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
