using Weir.Core.Sinks;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <content>The workers of a run: they come when they can help, wait for a thread, and leave when there is nothing to do or their consumer is behind.</content>
internal abstract partial class Pump
{
    /// <summary>
    /// Whether the calls block, as far as the last look could tell, so that the worker on this thread may keep it. Going back to the pool after each call would
    /// tell the pool that its threads make progress, and it adds none while they do.
    /// </summary>
    public bool KeepsThread => _demand.CallsBlock && Settings.Executor.MayKeepThread;

    private bool IsHeldNeedsLock => Orders is { Order: { IsPaused: true, IsStopped: false } } && !Items.HasStash;

    protected abstract PumpWorker CreateWorker();

    /// <summary>
    /// Returns a worker for the current thread to run, if the run can use one more. Called after a turn was given up or items were given back, which are full
    /// fences.
    /// </summary>
    public PumpWorker? TryAdd()
    {
        if (IsOver || Room <= 0 || Items.IsBusy || Items.IsExhausted)
        {
            return null;
        }

        lock (_lock)
        {
            return AddNeedsLock(queued: false);
        }
    }

    /// <summary>Starts one more worker on another thread, if the run can use it.</summary>
    /// <param name="urgent">Whether it is needed even while abandoned calls hold all threads.</param>
    public bool AddQueued(bool urgent = false)
    {
        PumpWorker? worker;
        lock (_lock)
        {
            worker = AddNeedsLock(queued: true);
        }

        if (worker is null)
        {
            return false;
        }

        Queue(worker, urgent);
        return true;
    }

    /// <summary>Counts a worker that returns its thread to the executor between two items.</summary>
    public void Requeue(PumpWorker worker)
    {
        lock (_lock)
        {
            _workers.QueueNeedsLock(worker);
        }

        Queue(worker, urgent: false);
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

            // It may have been the last that the run waited for. If the run was over before, its failure looks for nothing.
            FinishIfDone();
        }
    }

    /// <summary>Whether the run of a queued worker still exists.</summary>
    public bool TryEnter(PumpWorker worker)
    {
        PumpWorker? next;
        lock (_lock)
        {
            if (_finished)
            {
                return false;
            }

            _workers.EnterNeedsLock(worker);
            AssertInvariants();
            next = AddWantedNeedsLock();
        }

        if (next is not null)
        {
            Settings.Executor.QueueWhileBlocked(next);
        }

        return true;
    }

    /// <summary>Lets a worker leave, unless its reason no longer holds. The last worker to leave ends the run.</summary>
    public bool TryLeave(PumpWorker worker, LeaveReason reason)
    {
        bool finish;
        lock (_lock)
        {
            AssertInvariants();
            _workers.LeaveNeedsLock();
            if (!IsOver && !MayLeaveNeedsLock(reason))
            {
                _workers.StayNeedsLock();
                return false;
            }

            _workers.RestNeedsLock(worker);
            finish = TryFinishNeedsLock();
        }

        if (finish)
        {
            FinishOn(worker.IsOnOwnThread);
        }

        return true;
    }

    /// <summary>Whether the reason of a worker that is no longer counted still holds.</summary>
    private bool MayLeaveNeedsLock(LeaveReason reason)
    {
        switch (reason)
        {
            case LeaveReason.Busy:
                return Items.IsBusy;
            case LeaveReason.WaitsForTurn when Items.IsBusy:
                _waitingReaders.AddNeedsLock();
                return true;
            case LeaveReason.TooMany:
                return Room <= 0;
            case LeaveReason.Throttled when IsAtCeiling:
                return _workers.IsThrottled = true;
            case LeaveReason.Paused:
                return IsHeldNeedsLock;
            default:
                return reason == LeaveReason.Exhausted && Items.IsExhausted;
        }
    }

    private PumpWorker? AddNeedsLock(bool queued)
    {
        AssertInvariants();
        if (IsOver || _finished || Room <= 0 || Items.IsBusy || Items.IsExhausted || IsHeldNeedsLock)
        {
            return null;
        }

        if (IsAtCeiling && _pauses is not { IsPaused: false })
        {
            _workers.IsThrottled = true;
            return null;
        }

        // Counted first, by a full fence, so that a reader that gives up the turn now either is seen here, or sees that there is no room for its item.
        _workers.AddNeedsLock();
        if (HasTooMany)
        {
            _workers.LeaveNeedsLock();
            return null;
        }

        PumpWorker worker = TakeIdleNeedsLock();
        if (queued)
        {
            _workers.QueueNeedsLock(worker);
        }

        return worker;
    }

    private PumpWorker TakeIdleNeedsLock()
    {
        if (_workers.TakeIdleNeedsLock() is { } idle)
        {
            return idle;
        }

        PumpWorker worker = CreateWorker();
        _workers.JoinNeedsLock(worker);
        return worker;
    }

    /// <summary>The next of the workers that the last look asked for.</summary>
    private PumpWorker? AddWantedNeedsLock() => _demand.TryTakeNeedsLock(_workers.Queued) ? AddNeedsLock(queued: true) : null;

    /// <summary>Called by a worker that has given up the turn and is about to run what it read. One of the workers that wait for the turn takes it.</summary>
    public void CallWaitingForTurn()
    {
        PumpWorker? worker;
        lock (_lock)
        {
            // A worker that reads now calls the next one when it has read.
            if (Items.IsBusy || !_waitingReaders.TryTakeNeedsLock())
            {
                return;
            }

            worker = AddNeedsLock(queued: true);
        }

        if (worker is not null)
        {
            try
            {
                Settings.Executor.QueueNext(worker);
            }
            catch (Exception e)
            {
                EngineFailed(e);
            }
        }
    }

    /// <summary>Called by a worker that has worked since <paramref name="started"/> without a suspension.</summary>
    /// <param name="started">When the worker began, as a Stopwatch timestamp.</param>
    /// <param name="now">Now.</param>
    /// <param name="perItem">The approximate time per item, in Stopwatch ticks.</param>
    public void ConsiderHelp(long started, long now, double perItem)
    {
        if (_workers.Live < _workers.Limit && _demand.IsHelpOfUse(started, now, perItem, Items))
        {
            _demand.Asked(now);
            if (_workers.Executing < Settings.Executor.Threads)
            {
                AddQueued();
            }
        }
    }

    /// <summary>Called when a helper found the source busy and left without an item, or got one. The next helper then comes later, or soon.</summary>
    public void RecordHelp(bool useful) => _demand.RecordHelp(useful);

    /// <inheritdoc/>
    /// <remarks>Looks do not overlap.</remarks>
    public override void OnWatch(double cores)
    {
        int stuck = HelpIfStalled(cores);
        Settings.Pilot?.Tick(stuck, cores);
    }

    /// <summary>If items last and leave processors idle, as many workers start as would keep these busy, up to the limit.</summary>
    /// <param name="cores">How many cores the process has kept busy since the last look; not a number where the system does not say.</param>
    /// <returns>How many items have been inside their calls since the last look.</returns>
    public int HelpIfStalled(double cores)
    {
        WorkerActivity seen = _workers.Look();
        if (seen.HasShared)
        {
            AddQueued();
        }

        int wanted = _demand.Look(seen, cores, IsOver ? 0 : _workers.Limit, Settings.Executor.Threads, Environment.ProcessorCount);
        PumpWorker? helper;
        lock (_lock)
        {
            _demand.WantNeedsLock(wanted - _workers.Queued);
            helper = AddWantedNeedsLock();
        }

        if (helper is not null)
        {
            Settings.Executor.QueueWhileBlocked(helper);
        }

        return seen.Stuck;
    }

    void IRunHandle.Release()
    {
        if (TakeThrottled(queued: !Settings.Executor.RunsForConsumerHere) is not { } worker)
        {
            return;
        }

        try
        {
            if (worker.IsQueued)
            {
                // Otherwise nothing fails here, and the run would wait for a worker that does not come.
                FaultPoint.Pass("Pump.Release", this);
            }

            Settings.Executor.QueueForConsumer(worker);
        }
        catch (Exception e)
        {
            EngineFailed(e);
        }
    }

    /// <summary>The ceiling was raised, and nobody's consumer is on this thread.</summary>
    private void Release()
    {
        if (TakeThrottled(queued: true) is { } worker)
        {
            Queue(worker, urgent: false);
        }
    }

    /// <summary>The worker that reads on after a pause, if there was one.</summary>
    private PumpWorker? TakeThrottled(bool queued)
    {
        lock (_lock)
        {
            bool wasThrottled = _workers.IsThrottled;
            _workers.IsThrottled = false;
            return wasThrottled ? AddNeedsLock(queued) : null;
        }
    }

    /// <summary>Records that reading pauses.</summary>
    /// <returns>The hook's call, once for each pause; otherwise null.</returns>
    public PauseState.Hook? Pause()
    {
        if (_pauses is not { IsPaused: false } pauses || HasBacklog)
        {
            return null;
        }

        lock (_lock)
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
    public PauseState.Hook? Resume(long end)
    {
        if (_pauses is not { IsPaused: true } pauses)
        {
            return null;
        }

        lock (_lock)
        {
            return pauses.TryEndNeedsLock(end) && Settings.OnDrain is { } hook ? pauses.QueueNeedsLock(this, hook) : null;
        }
    }

    protected void CountDelayed()
    {
        lock (_lock)
        {
            _counts.AddDelayedNeedsLock(1);
        }
    }

    /// <summary>Called when items that waited for another attempt have come back to the source.</summary>
    protected void OnDue(int count)
    {
        lock (_lock)
        {
            _counts.AddDelayedNeedsLock(-count);
            _workers.IsThrottled = false;
        }

        if (TryFinish())
        {
            FinishOnThePool();
        }

        while (count-- > 0 && AddQueued(urgent: IsGuarded))
        {
        }
    }
}
