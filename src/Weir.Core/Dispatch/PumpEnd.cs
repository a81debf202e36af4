using Weir.Core.Sinks;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <content>What makes a run fail, and how it ends.</content>
internal abstract partial class Pump
{
    /// <summary>The failures of the run, created for the first one.</summary>
    public FailureLog Failures
    {
        get
        {
            lock (_lock)
            {
                return _stop.FailuresNeedsLock(Settings.ErrorMode);
            }
        }
    }

    /// <summary>Stops the run because the caller asked for it.</summary>
    public void Cancel(CancellationToken by) => Stop(by);

    /// <summary>Stops the run: nothing more starts, and the token of the running items is cancelled.</summary>
    /// <returns>Whether this call stopped it.</returns>
    public bool Stop(CancellationToken? by = null)
    {
        if (!TryStop(by, ItemStatus.Cancelled, null, out bool finish))
        {
            return false;
        }

        try
        {
            // The callbacks of these tokens are user code.
            _stop.CancelTokens(later: false);
        }
        finally
        {
            if (finish)
            {
                QueueFinish();
            }
        }

        return true;
    }

    void IRunHandle.Abandon() => Stop();

    /// <summary>The user's sequence threw: the run ends in every mode. An exception after a stop is a reaction to the cancelled token.</summary>
    public void SourceFailed(Exception error)
    {
        // A source whose items still begin drops by itself what its sequence throws after a stop.
        if (IsOver || (Orders is { StopsReading: true } && !Items.BeginsWhatWasRead) || !_stop.TryFailSource())
        {
            return;
        }

        Failures.AddSource(error);
        Stop();
    }

    /// <summary>
    /// The engine itself failed, which it should not. The run then fails in every mode and at any time, rather than ending as if nothing had happened.
    /// </summary>
    public void EngineFailed(Exception error)
    {
        try
        {
            Failures.AddSource(error);
        }
        catch (Exception)
        {
            // There is no memory, which this does not need.
            _stop.Break(error);
        }

        try
        {
            Stop();
        }
        catch (Exception)
        {
            // The run has stopped. Perhaps not all tokens were cancelled.
        }
    }

    /// <summary>The same outside of any worker. It may have been the time limit of an item that never ends by itself, so none is waited for.</summary>
    public void WorkFailed(Exception error)
    {
        EngineFailed(error);
        if (IsGuarded)
        {
            Abort(ItemStatus.Cancelled, error);
        }
    }

    /// <summary>
    /// An item has failed. Under FailFast, the run ends with the first such failure, and its exception says which item it was: nothing else does.
    /// </summary>
    public void ItemFailed(long index, Exception error)
    {
        if (!Failures.AddItem(index, error))
        {
            return;
        }

        if (Failures.Reports(index, error))
        {
            ItemNote.Add(error, index, Time == TimeProvider.System ? StartedAt : null);
        }

        Stop();
    }

    /// <summary>A hook that belongs to no item threw.</summary>
    public void HookFailed(Exception error)
    {
        if (!IsOver && Failures.AddItem(-1, error))
        {
            Stop();
        }
    }

    /// <summary>Whether the run ends with this change. Workers that wait for a thread hold no item, so the run does not wait for them.</summary>
    private bool TryFinishNeedsLock()
    {
        if (_finished || _workers.Live > _workers.Queued || _parked.Waiting != 0 || !(IsOver || (Items.IsExhausted && _counts.Delayed == 0)))
        {
            return false;
        }

        _finished = true;
        return true;
    }

    private bool TryFinish()
    {
        lock (_lock)
        {
            return TryFinishNeedsLock();
        }
    }

    /// <summary>Ends the run, from outside its workers, if nothing is left to wait for.</summary>
    private void FinishIfDone()
    {
        if (TryFinish())
        {
            QueueFinish();
        }
    }

    private bool TryStop(CancellationToken? by, ItemStatus status, Exception? error, out bool finish)
    {
        lock (_lock)
        {
            AssertInvariants();
            finish = false;
            if (_finished || !_stop.TryStopNeedsLock(by, status, error))
            {
                return false;
            }

            finish = TryFinishNeedsLock();
            return true;
        }
    }

    private void FinishOn(bool ownThread)
    {
        if (ownThread)
        {
            Finish();
        }
        else
        {
            FinishOnThePool();
        }
    }

    /// <summary>Ends the run from a thread that belongs to other code: the source's own code does not run there.</summary>
    private void FinishOnThePool()
    {
        if (SpareThreads.IsCurrent)
        {
            QueueFinish();
        }
        else
        {
            QueueFinish(static run => ThreadPool.UnsafeQueueUserWorkItem(run, preferLocal: false));
        }
    }

    /// <summary>The same for a run that was ended from outside, perhaps because its items hold all threads of the pool.</summary>
    private void QueueFinish() => QueueFinish(UrgentWork.Queue);

    private void QueueFinish(Action<IThreadPoolWorkItem> queue)
    {
        try
        {
            FaultPoint.Pass("Pump.QueueFinish", this);
            queue(this);
        }
        catch (Exception e)
        {
            // Better on any thread than not at all.
            _stop.Break(e);
            Finish();
        }
    }

    void IThreadPoolWorkItem.Execute()
    {
        try
        {
            FaultPoint.Pass("Pump.Execute", this);
            if (Context is { } context)
            {
                ExecutionContext.Run(context, Finish, this);
                return;
            }
        }
        catch (Exception e)
        {
            // Finishing never throws, so it has not begun.
            _stop.Break(e);
        }

        Finish();
    }

    private void Unlink()
    {
        IsWatched = false;
        _stop.Unregister();
    }

    private static void Finish(object? pump) => ((Pump)pump!).Finish();

    /// <summary>Ends the run. Never throws: whatever goes wrong here reaches the code that waits for the run.</summary>
    private void Finish()
    {
        try
        {
            _stop.SeeCancellation();
            Unlink();
            ValueTask disposing = default;
            try
            {
                disposing = Items.DisposeAsync();
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
        }
        catch (Exception e)
        {
            _stop.Break(e);
        }

        CloseAndReport();
    }

    /// <summary>The same if the source closes asynchronously. Separate, because otherwise the run of a list would pay for the state machine.</summary>
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
        }
        catch (Exception e)
        {
            _stop.Break(e);
        }

        CloseAndReport();
    }

    private void DisposalFailed(Exception error)
    {
        if (!IsOver)
        {
            Failures.AddSource(error);
        }
    }

    private void CloseAndReport()
    {
        try
        {
            try
            {
                CloseDelays();
                for (PumpWorker? worker = _workers.First; worker is not null; worker = worker.NextCreated)
                {
                    worker.Retire();
                }
            }
            finally
            {
                Orders?.Settings.Control.Detach(this);
                Settings.OnEnd?.Invoke();
            }
        }
        catch (Exception e)
        {
            // No user code gets here except that of a clock, but there may be no memory.
            _stop.Break(e);
        }

        // The awaiting code may run right here. A pool thread that was started for this run and has nothing left to do can afford that.
        // A dedicated thread cannot.
        if (Settings.Executor.CanEndOnCurrentThread || SpareThreads.IsCurrent)
        {
            CompleteRun();
        }
        else
        {
            try
            {
                FaultPoint.Pass("Pump.CloseAndReport", this);
                ThreadPool.UnsafeQueueUserWorkItem(static pump => pump.CompleteRun(), this, preferLocal: false);
            }
            catch (Exception e)
            {
                // Better on this thread than not at all.
                _stop.Break(e);
                CompleteRun();
            }
        }
    }

    /// <summary>Tells whoever waits for the run. Never throws.</summary>
    private void CompleteRun()
    {
        try
        {
            FaultPoint.Pass("Pump.CompleteRun", this);
            LeaveWatch(_stop.Ending);
        }
        catch (Exception e)
        {
            _stop.Break(e);
        }

        try
        {
            CompleteOrBreak();
        }
        catch (Exception e)
        {
            // Once more, with nothing but the error: perhaps there is memory by now.
            try
            {
                CompleteBroken(e);
            }
            catch (Exception)
            {
                // Nothing is left to try.
            }
        }
    }

    private void CompleteOrBreak()
    {
        if (_stop.Unreported is { } error)
        {
            CompleteBroken(error);
        }
        else
        {
            Complete(_stop.By, _stop.Failures);
        }
    }

    protected abstract void CloseDelays();

    protected abstract void Complete(CancellationToken? cancelledBy, FailureLog? failures);

    /// <summary>Replaces a completion that threw or could not be reached.</summary>
    protected abstract void CompleteBroken(Exception error);
}
