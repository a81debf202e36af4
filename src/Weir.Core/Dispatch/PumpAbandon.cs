namespace Weir.Core.Dispatch;

/// <content>Giving up workers whose item passed its time limit, or all of them when the run has to end now.</content>
internal abstract partial class Pump
{
    /// <summary>
    /// Ends the run without waiting for what runs: every running item gets <paramref name="status"/>, everything else never runs.
    /// Only for guarded runs.
    /// </summary>
    public async Task AbortAsync(ItemStatus status, Exception? error)
    {
        if (TryStop(by: null, status, error, out bool finish))
        {
            // On the pool: what user code does when its token is cancelled may take long, and nobody waits for it here.
            _ = _stopped.CancelAsync().ContinueWith(
                static callbacks => callbacks.Exception, CancellationToken.None, TaskContinuationOptions.ExecuteSynchronously, TaskScheduler.Default);
            if (finish)
            {
                FinishOnThePool();
            }
        }

        while (!AbandonAll(status, error))
        {
            // A worker was between two items and had not yet seen that the run is over. It sees it before its next item, or is caught in it.
            await Task.Delay(TimeSpan.FromMilliseconds(1), TimeProvider.System).ConfigureAwait(false);
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
            orphan.AddTo(ref _past);
            _past.InFlight = 0;
            _past.Abandoned++;
            UnlinkNeedsLock(orphan);
            successor.NextCreated = _created;
            Volatile.Write(ref _created, successor);
        }

        return successor;
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
            if (worker.TryAbandon(status, error, out bool isOrphan))
            {
                bool finish;
                using (_gate.Hold())
                {
                    _live--;
                    _past.Abandoned += isOrphan ? 1 : 0;
                    finish = TryFinishNeedsLock();
                }

                if (finish)
                {
                    FinishOnThePool();
                }
            }
        }

        using (_gate.Hold())
        {
            return _finished;
        }
    }
}
