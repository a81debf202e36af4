namespace Weir.Core.Dispatch;

/// <summary>
/// The pauses of a run's reading, if somebody wants to know of them. They begin and end alternately, and one hook follows the other. Changed under the run's
/// lock only.
/// </summary>
internal sealed class PauseState
{
    private Hook? _lastHook;
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
    public Hook QueueNeedsLock(Pump run, Func<long, ValueTask> hook) => _lastHook = new Hook(run, hook, _lastHook);

    /// <summary>A call to a hook that has its place in the queue.</summary>
    internal sealed class Hook(Pump run, Func<long, ValueTask> hook, Hook? before)
    {
        private readonly TaskCompletionSource _done = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private Hook? _before = before;

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
                await hook(run.NextIndex).ConfigureAwait(false);
            }
            catch (Exception e)
            {
                run.HookFailed(e);
            }
            finally
            {
                _done.SetResult();
            }
        }
    }
}
