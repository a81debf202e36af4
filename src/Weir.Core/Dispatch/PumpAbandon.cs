using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <content>Giving up workers whose item passed its time limit, or all of them when the run has to end now.</content>
internal abstract partial class Pump
{
    /// <summary>
    /// Ends the run without waiting for what runs: every running item gets <paramref name="status"/>, everything else never runs.
    /// Only for guarded runs.
    /// </summary>
    public void Abort(ItemStatus status, Exception? error)
    {
        if (TryStop(by: null, status, error, out bool finish))
        {
            // What user code does when its token is cancelled may take long, and nobody waits for it here.
            QuietCancel.Later(_stopped);
            if (finish)
            {
                FinishSoon();
            }
        }

        if (!AbandonAll(status, error))
        {
            // A worker was between two items and had not yet seen that the run is over. It sees it before its next item, or is caught in it.
            Again again = new(this, status, error);
            again.Timer.Change(Again.Pause, Again.Pause);
        }
    }

    /// <summary>
    /// A new worker in place of an orphan. It counts as the orphan did, so the run waits for it. The run forgets the orphan, which may live for as long
    /// as the call that it waits for: an endless run may have any number of them.
    /// </summary>
    public PumpWorker CreateSuccessor(PumpWorker orphan)
    {
        PumpWorker successor = CreateWorker();
        using (_gate.Hold())
        {
            orphan.AddTo(ref Past);
            Past.InFlight = 0;
            Past.Abandoned++;
            UnlinkNeedsLock(orphan);
            successor.NextCreated = _created;
            Volatile.Write(ref _created, successor);
        }

        return successor;
    }

    private void Queue(PumpWorker worker, bool urgent)
    {
        if (urgent)
        {
            _settings.Executor.QueueUrgently(worker);
        }
        else
        {
            _settings.Executor.Queue(worker);
        }
    }

    // Who is walking the list without the lock may be at the orphan: it keeps its own link.
    private void UnlinkNeedsLock(PumpWorker worker)
    {
        if (_created == worker)
        {
            Volatile.Write(ref _created, worker.NextCreated);
            return;
        }

        PumpWorker before = _created!;
        while (before.NextCreated != worker)
        {
            before = before.NextCreated!;
        }

        before.NextCreated = worker.NextCreated;
    }

    private bool AbandonAll(ItemStatus status, Exception? error)
    {
        for (PumpWorker? worker = Volatile.Read(ref _created); worker is not null; worker = worker.NextCreated)
        {
            bool isOrphan = true;
            bool abandoned = true;
            try
            {
                abandoned = worker.TryAbandon(status, error, out isOrphan);
            }
            catch (Exception e)
            {
                // Taken from its worker, and then there was no memory to record it or no thread to replace its own. It will not end by itself any more.
                _broken ??= e;
            }

            if (abandoned)
            {
                bool finish;
                using (_gate.Hold())
                {
                    _live--;
                    Past.Abandoned += isOrphan ? 1 : 0;
                    finish = TryFinishNeedsLock();
                }

                if (finish)
                {
                    FinishSoon();
                }
            }
        }

        using (_gate.Hold())
        {
            return _finished;
        }
    }

    /// <summary>Gives up what is left, again and again until the run has ended.</summary>
    private sealed class Again
    {
        public static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(1);

        private readonly Pump _run;
        private readonly ItemStatus _status;
        private readonly Exception? _error;

        public Again(Pump run, ItemStatus status, Exception? error)
        {
            _run = run;
            _status = status;
            _error = error;
            Timer = new WatchTimer(static again => ((Again)again!).Look(), this);
        }

        public WatchTimer Timer { get; }

        private void Look()
        {
            if (_run.AbandonAll(_status, _error))
            {
                Timer.Dispose();
            }
        }
    }
}
