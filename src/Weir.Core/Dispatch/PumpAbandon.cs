using Weir.Core.Metering;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <content>Gives up workers whose item passed its time limit, or all workers if the run has to end now.</content>
internal abstract partial class Pump
{
    /// <summary>
    /// Ends the run without waiting for running items: each of them gets <paramref name="status"/>, and no other item runs.
    /// Only for guarded runs.
    /// </summary>
    public void Abort(ItemStatus status, Exception? error)
    {
        if (TryStop(by: null, status, error, out bool finish))
        {
            // User code may take long to react to its cancelled token, and nobody waits for it here.
            StopTokens(later: true);
            SafeCancel.Later(_stopped);
            if (finish)
            {
                QueueFinish();
            }
        }

        if (!AbandonAll(status, error))
        {
            // A worker was between two items and had not yet seen that the run has ended. It sees this before its next item, or is caught in that item.
            new AbandonTimer(this, status, error).Wait();
        }
    }

    /// <summary>
    /// A new worker that replaces an orphan. It counts as the orphan did, so the run waits for it. The run forgets the orphan, which may live as long
    /// as the call that it waits for: an endless run may have any number of them.
    /// </summary>
    public PumpWorker CreateSuccessor(PumpWorker orphan)
    {
        PumpWorker successor = CreateWorker();
        using (_lock.Hold())
        {
            ref RunSample past = ref _counts.PastNeedsLock;
            orphan.AddTo(ref past);
            past.InFlight = 0;
            past.Abandoned++;
            _workers.RemoveNeedsLock(orphan);
            _workers.AddNeedsLock(successor);
        }

        return successor;
    }

    /// <summary>Queues a worker that is counted as queued, so that the run does not wait for it. If it cannot be queued, the run fails.</summary>
    private void Queue(PumpWorker worker, bool urgent)
    {
        try
        {
            FaultPoint.Pass("Pump.Queue", this);
            if (urgent)
            {
                Settings.Executor.QueueUrgently(worker);
            }
            else
            {
                Settings.Executor.Queue(worker);
            }
        }
        catch (Exception e)
        {
            EngineFailed(e);
        }
    }

    /// <summary>An item was given up and then nobody could take its worker's place: the run fails, and does not wait for it.</summary>
    public void LoseOrphan(Exception error)
    {
        EngineFailed(error);
        EndAbandoned();
    }

    private void EndAbandoned()
    {
        bool finish;
        using (_lock.Hold())
        {
            _live--;
            finish = TryFinishNeedsLock();
        }

        if (finish)
        {
            QueueFinish();
        }
    }

    /// <summary>The same for a parked call.</summary>
    public void LoseGivenUp(Exception error)
    {
        EngineFailed(error);
        bool finish;
        using (_lock.Hold())
        {
            _parked.Remove(1);
            finish = TryFinishNeedsLock();
        }

        if (finish)
        {
            QueueFinish();
        }
    }

    /// <returns>Whether the run has ended.</returns>
    private bool AbandonAll(ItemStatus status, Exception? error)
    {
        // A run that ended by itself gives away what its workers have. One that is over, and has not ended, keeps it.
        if (HasFinished)
        {
            return true;
        }

        for (PumpWorker? worker = _workers.First; worker is not null; worker = worker.NextCreated)
        {
            bool isOrphan = true;
            bool abandoned = true;
            try
            {
                abandoned = worker.TryAbandon(status, error, out isOrphan);
            }
            catch (Exception e)
            {
                // The item was taken from its worker, but then there was no memory to record it or no thread to replace the worker's. It will no longer end by
                // itself.
                _stop.Break(e);
                worker.TellParked();
            }

            if (abandoned)
            {
                if (isOrphan)
                {
                    using (_lock.Hold())
                    {
                        _counts.PastNeedsLock.Abandoned++;
                    }
                }

                EndAbandoned();
            }

            AbandonParkedOf(worker, status, error);
        }

        return HasFinished;
    }

    private bool HasFinished
    {
        get
        {
            using (_lock.Hold())
            {
                return _finished;
            }
        }
    }

    /// <summary>
    /// Gives up the remaining items, repeatedly, until the run has ended. After some milliseconds, what is left is no worker between two items but code that
    /// cannot be given up, such as that of a sequence, and may take for ever: so it looks less and less often.
    /// </summary>
    private sealed class AbandonTimer
    {
        private static readonly TimeSpan Longest = TimeSpan.FromSeconds(1);

        private readonly Pump _run;
        private readonly ItemStatus _status;
        private readonly Exception? _error;
        private readonly WatchTimer _timer;
        private TimeSpan _pause = TimeSpan.FromMilliseconds(1);

        public AbandonTimer(Pump run, ItemStatus status, Exception? error)
        {
            _run = run;
            _status = status;
            _error = error;
            _timer = new WatchTimer(static again => ((AbandonTimer)again!).Run(), this);
        }

        public void Wait() => _timer.Change(_pause, Timeout.InfiniteTimeSpan);

        private void Run()
        {
            if (_run.AbandonAll(_status, _error))
            {
                _timer.Dispose();
                return;
            }

            _pause = _pause < Longest / 2 ? 2 * _pause : Longest;
            Wait();
        }
    }
}
