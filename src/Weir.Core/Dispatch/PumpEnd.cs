using Weir.Core.Sinks;

namespace Weir.Core.Dispatch;

/// <content>What makes a run fail, and how it ends.</content>
internal abstract partial class Pump
{
    /// <summary>The failures of the run, made at the first one.</summary>
    public FailureLog Failures
    {
        get
        {
            lock (_gate)
            {
                return _failures ??= new FailureLog(_settings.ErrorMode);
            }
        }
    }

    /// <summary>The user's sequence threw: the run ends in every mode. What it throws after a stop is its answer to the cancelled token.</summary>
    public void SourceFailed(Exception error)
    {
        if (_over)
        {
            return;
        }

        Failures.AddSource(error);
        Stop();
    }

    /// <summary>A hook that belongs to no item threw.</summary>
    public void HookFailed(Exception error)
    {
        if (!_over && Failures.AddItem(-1, error))
        {
            Stop();
        }
    }

    /// <summary>Whether the run ends with this change. Workers that wait for a thread hold no item, so the run does not wait for them.</summary>
    private bool TryFinishNeedsLock()
    {
        if (_finished || _live > _queued || !(_over || (IsExhausted && _delayed == 0)))
        {
            return false;
        }

        _finished = true;
        return true;
    }

    private async Task FinishAsync(bool inline)
    {
        StallWatch.Remove(this);
        _callerToken.Unregister();
        _otherCallerToken.Unregister();
        try
        {
            ValueTask disposing = DisposeSourceAsync();
            if (!disposing.IsCompletedSuccessfully)
            {
                await disposing.ConfigureAwait(false);
            }
        }
        catch (Exception e)
        {
            if (!_over)
            {
                Failures.AddSource(e);
            }
        }

        CloseDelays();
        for (PumpWorker? worker = _created; worker is not null; worker = worker.NextCreated)
        {
            worker.Retire();
        }

        // The awaiting code may run right here, which a pool thread that was started for this run and has nothing left to do can afford.
        // A thread that came by to complete an item, or to cancel, cannot.
        if (inline && _settings.Executor == PoolExecutor.Instance)
        {
            CompleteRun();
        }
        else
        {
            ThreadPool.UnsafeQueueUserWorkItem(static pump => pump.CompleteRun(), this, preferLocal: false);
        }
    }

    private void CompleteRun()
    {
        CancellationToken? cancelledBy = _cancelledBy;
        Complete(cancelledBy, _failures);
    }
}
