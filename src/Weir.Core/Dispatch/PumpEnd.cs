using Weir.Core.Sinks;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <content>What makes a run fail, and how it ends.</content>
internal abstract partial class Pump
{
    /// <summary>The failures of the run, made at the first one.</summary>
    public FailureLog Failures
    {
        get
        {
            using (_gate.Hold())
            {
                return _failures ??= new FailureLog(_settings.ErrorMode);
            }
        }
    }

    /// <summary>Whether a failure has stopped the run.</summary>
    public bool HasFailed => _over && _cancelledBy is null && _failures?.Single is not null;

    /// <summary>What an item ended as that answers to the run's cancelled token.</summary>
    public ItemStatus StoppedAs { get; private set; }

    /// <summary>The error of such an item.</summary>
    public Exception? StoppedError { get; private set; }

    /// <summary>What went wrong outside of user code, and has to reach whoever waits for the run.</summary>
    private Exception? _broken;
    private int _sourceFailed;

    /// <summary>The user's sequence threw: the run ends in every mode. What it throws after a stop is its answer to the cancelled token.</summary>
    public void SourceFailed(Exception error)
    {
        // Who reads next before the run stops may be told of the same failure once more.
        if (_over || Interlocked.Exchange(ref _sourceFailed, 1) != 0)
        {
            return;
        }

        Failures.AddSource(error);
        Stop();
    }

    /// <summary>The engine itself failed, which it should not: the run fails in every mode and at any time, rather than to end as if nothing had happened.</summary>
    public void EngineFailed(Exception error)
    {
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

    private bool TryStop(CancellationToken? by, ItemStatus status, Exception? error, out bool finish)
    {
        using (_gate.Hold())
        {
            AssertInvariants();
            finish = false;
            if (_over || _finished)
            {
                return false;
            }

            _cancelledBy = by;
            StoppedAs = status;
            StoppedError = error;
            _over = true;
            finish = TryFinishNeedsLock();
            return true;
        }
    }

    /// <summary>Ends the run from a thread that belongs to somebody else: the source's own code does not run there.</summary>
    private void FinishOnThePool()
    {
        if (SpareThreads.IsCurrent)
        {
            FinishSoon();
        }
        else
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }

    /// <summary>The same for a run that somebody has ended, and so perhaps because its items hold all threads of the pool.</summary>
    private void FinishSoon() => UrgentWork.Queue(this);

    void IThreadPoolWorkItem.Execute()
    {
        if (Context is { } context)
        {
            ExecutionContext.Run(context, static pump => ((Pump)pump!).Finish(), this);
        }
        else
        {
            Finish();
        }
    }

    private void Unlink()
    {
        StallWatch.Remove(this);
        _callerToken.Unregister();
        _otherCallerToken.Unregister();
    }

    /// <summary>Ends the run. Never throws: whatever goes wrong here reaches whoever waits for the run.</summary>
    private void Finish()
    {
        try
        {
            Unlink();
            ValueTask disposing = default;
            try
            {
                disposing = DisposeSourceAsync();
            }
            catch (Exception e)
            {
                DisposalFailed(e);
            }

            if (!disposing.IsCompletedSuccessfully)
            {
                _ = FinishAsync(disposing);
                return;
            }

            Close();
        }
        catch (Exception e)
        {
            // No user code gets here, but that of a clock, and there may be no memory.
            _broken ??= e;
        }

        SayEnd();
    }

    /// <summary>The same when the source takes its time. Apart, because a run of a list would pay for the state machine.</summary>
    private async Task FinishAsync(ValueTask disposing)
    {
        try
        {
            try
            {
                await disposing.ConfigureAwait(false);
            }
            catch (Exception e)
            {
                DisposalFailed(e);
            }

            Close();
        }
        catch (Exception e)
        {
            _broken ??= e;
        }

        SayEnd();
    }

    private void DisposalFailed(Exception error)
    {
        if (!_over)
        {
            Failures.AddSource(error);
        }
    }

    private void Close()
    {
        CloseDelays();
        for (PumpWorker? worker = _created; worker is not null; worker = worker.NextCreated)
        {
            worker.Retire();
        }

        _settings.OnEnd?.Invoke();
    }

    private void SayEnd()
    {
        // The awaiting code may run right here, which a pool thread that was started for this run and has nothing left to do can afford.
        // A dedicated thread cannot.
        if (_settings.Executor.MayRunHere || SpareThreads.IsCurrent)
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
        if (_broken is null || _cancelledBy is not null || _failures?.Single is not null)
        {
            try
            {
                Complete(_cancelledBy, _failures);
                return;
            }
            catch (Exception e)
            {
                _broken = e;
            }
        }

        CompleteBroken(_broken);
    }
}
