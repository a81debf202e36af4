using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using Weir.Core.Live;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

// The protocol of a run.
//
//  source (Sources)           workers (PumpWorker)                       sink (Sinks)
//  array, list, sequence, ──► claim → call → deliver → claim again ... ─► list, outcomes or stream ──► the caller
//  channel, queue, batches
//
// Who works. A worker is no thread. It claims items, makes their calls and delivers what came of them, on whatever thread it gets, until it has to wait. It
// waits for an item, for the source, or for a thread (then it is queued, and holds no item), or it has left and rests in a list.
//
// How many. A run starts with one worker. When its item suspends, the same thread takes the next worker. When an item lasts for more than 4 us, or synchronous
// work for more than 20 us, the worker asks for another one (ConsiderHelp). A run whose predecessor had items that last does not wait for that: each worker
// asks for the next one as it begins (BringNext). There are as many as processors; those that wait inside their calls do not count. When calls block and leave
// processors idle, the stall watch asks for as many as would fill them; one of these waits for a thread at a time, and brings the next when it has one
// (AddWantedNeedsLock). There are never more workers in flight than the limit: Room says how many more may come. Whoever reads the source has no item, and so
// does not count until it gives up the turn (Source.cs). A worker whose calls block keeps its thread of the pool, because the pool adds none while work items
// end.
//
// No wake-up is lost. While something is left to claim, some worker reads the source, or is inside a synchronous call (and claims again after it), or all
// workers that may be there wait for their items, or the consumer of a stream is behind (and calls Release). A worker that finds nothing to do leaves
// (TryLeave): under the lock, it is first subtracted from the count, with a full fence, and then looks once more whether its reason still holds
// (MayLeaveNeedsLock). The thread that removes the reason does that first, and then looks at the count (TryAdd, AddNeedsLock). So one of both sees the other.
//
// May this run end? TryFinishNeedsLock is the whole answer: when no worker has an item, no parked call and no item between two attempts is left, and the source
// is empty or the run was stopped. It is asked, under the lock, by whoever may have been the last: a worker that leaves, the last parked call, an item that
// comes back, and who stops the run or gives up an item. The one that gets "yes" ends the run (Finish): it closes the source, retires the workers, tells
// whoever waits, and never throws.
//
// Who stops it (RunStop.cs): the caller's token, a failure, a consumer that leaves, an expired time limit. All take the same way: TryStop marks the run, then
// the tokens are cancelled, and the run ends as soon as it may. A run that has to end now gives up what runs (Abort, in ItemGuard.cs).
//
// Locks. The run's lock is innermost: user code never runs under it, nor does anything that takes another lock, apart from the source's own for what was given
// back. A RunControl gives its orders under its lock, and takes the run's below that.
//

/// <summary>
/// One run: its workers, how many there may be, and when it ends. Nothing here happens once per item; the work for each item is in
/// <see cref="PumpWorker{TItem, TResult, TPending, TCall, TSink}"/>.
/// </summary>
internal abstract partial class Pump : LiveRun, IRunHandle, RunControl.IRun, IUnattended, IThreadPoolWorkItem
{
    private readonly Lock _lock = new();

    // Changed under the lock only. Some of it is read without the lock, as a hint or by a protocol of its own: see RunWorkers, PauseState and WaitingReaders.
    private readonly PauseState? _pauses;
    private RunWorkers _workers;
    private WaitingReaders _waitingReaders;

    // Set under the lock, once. HasEnded reads it without: who sees it false may see it true at once.
    private bool _finished;

    // Stopped under the lock, and read by anybody: a volatile write makes all that was said of the stop visible before the stop (RunStop).
    private RunStop _stop = new();

    // Partly under the lock, partly atomic additions (RunCounts).
    private RunCounts _counts;

    // One atomic word that the ends of parked calls count down (ParkedCount).
    private ParkedCount _parked;

    // What the last look saw belongs to the stall watch; what it asked for is changed under the lock; the pause between two calls for help is a hint
    // (WorkerDemand).
    private WorkerDemand _demand = new();

    protected Pump(Source items, PumpSettings settings, bool attemptsAreTimed)
    {
        System.Diagnostics.Debug.Assert(settings.Limit >= 1, "Limits are validated by the public API.");
        Settings = settings;
        IsTimed = attemptsAreTimed || settings.PerItemTimeout is not null;
        IsGuarded = IsTimed || settings.Guarded;
        IsAlone = settings is { Limit: 1, Adaptive: null, Pilot: null } and not ControlledSettings;
        Token = _stop.Token;
        Context = ExecutionContext.Capture();
        _pauses = settings.WatchesPauses ? new PauseState() : null;
        _workers = new RunWorkers(settings.Limit);
        Items = items;
        items.HasOneWorker = IsAlone;
        TakesTurns = items.TakesTurns;
        Orders = settings is ControlledSettings controlled ? new PumpOrders(controlled) : null;
        items.Readers = !IsAlone && Orders is null && settings.Executor.HasThreadsBeyond ? SourceReaders.MayReadAhead : SourceReaders.TakeTurns;
        settings.Adaptive?.Attach(this);
    }

    /// <summary>The token that this run's user code gets. It is cancelled when the run stops for any reason.</summary>
    public readonly CancellationToken Token;

    /// <summary>The caller's context, under which user code runs. Null when the caller suppressed its flow.</summary>
    public readonly ExecutionContext? Context;

    public readonly PumpSettings Settings;

    /// <summary>Where the items come from.</summary>
    public readonly Source Items;

    /// <summary>Whether items can be given up while they run.</summary>
    public readonly bool IsGuarded;

    /// <summary>Whether items or attempts have a time limit.</summary>
    public readonly bool IsTimed;

    /// <summary>
    /// Whether the limit is one and stays so. Then no other worker waits for what a worker has claimed, none can help it, and the stall watch has nothing to
    /// do but to see when items with a limit began.
    /// </summary>
    public readonly bool IsAlone;

    /// <summary>
    /// Whether the stall watch determines when an item that lasts for a while began: within one of its periods, by the run's own clock. Set before the start;
    /// for a clock that is not the system's, only by tests.
    /// </summary>
    public bool SeesStarts;

    /// <summary>Whether workers take turns to read.</summary>
    public readonly bool TakesTurns;

    /// <summary>Whether all items may be in flight at once, so that a call that suspends needs no worker.</summary>
    public bool Parks { get; protected init; }

    /// <summary>What the run is told from outside; null if nothing can pause, stop or limit it. Otherwise each item begins under the lock.</summary>
    public readonly PumpOrders? Orders;

    /// <summary>Whether the run was stopped before its end. Then no further item starts.</summary>
    public bool IsOver => _stop.IsOver;

    /// <summary>Whether the run has ended: nothing of it is left but its completion.</summary>
    public bool HasEnded => Volatile.Read(ref _finished);

    /// <summary>How many items may be in flight at once. A worker above the limit leaves when its item ends.</summary>
    public int Limit => _workers.Limit;

    /// <summary>How many workers are at work or waiting for their items.</summary>
    public int Live => _workers.Live;

    /// <summary>Whether there are more workers than the limit allows.</summary>
    public bool HasTooMany => _workers.Live > _workers.Limit && Room < 0;

    /// <summary>The workers that would read if no other one were reading.</summary>
    public ref WaitingReaders WaitingReaders => ref _waitingReaders;

    public override string? Operation => Settings.Operation;

    public override IRunAbout? About => Settings.About;

    public override RunControl? Control => Orders?.Settings.Control;

    public override long? Total => Items.Tally is { } tally ? tally.Total : Items.KnownCount is >= 0 and var count ? count : null;

    public override BatchTally? Tally => Items.Tally;

    public override bool IsStopping => IsOver;

    public override Exception? LastError => _stop.Failures?.Last;

    public override TimeProvider Time => Settings.TimeProvider;

    protected override WaitListener? Waits => Settings.Waits;

    /// <summary>The time limits of its items and of their attempts.</summary>
    public abstract ItemLimits Limits { get; }

    /// <summary>How many items have been read, as far as the source knows.</summary>
    public long NextIndex => Items.NextIndex;

    /// <summary>
    /// How many more items may be in flight. A reader has none, so it does not count; it counts from the moment at which it gives up the turn, and then looks
    /// whether there is room for what it has read. Negative if there are more workers than the limit allows.
    /// </summary>
    private int Room => _workers.Limit - _workers.Live + (Items.HasReader ? 1 : 0);

    protected abstract bool IsAtCeiling { get; }

    /// <summary>Whether so many items wait for another attempt that no new item starts, because waiting items are kept in memory.</summary>
    protected bool HasBacklog => _counts.Delayed >= 1024 + (4 * (long)Limit);

    /// <summary>Whether a failure has stopped the run.</summary>
    public bool HasFailed => _stop.HasFailed;

    /// <summary>The status of an item that ends because the run's token was cancelled.</summary>
    public ItemStatus StoppedAs => _stop.As;

    /// <summary>The error of such an item.</summary>
    public Exception? StoppedError => _stop.Error;

    // The start, and what the run is told from outside.

    /// <summary>Starts the run with its first worker, on a thread of the executor and never on the caller's.</summary>
    /// <param name="eager">How many workers to start at once: one, unless there are threads that are waiting anyway.</param>
    /// <param name="callerToken">The caller's token.</param>
    /// <param name="otherCallerToken">A second token of the caller, such as that of an enumerator.</param>
    public void Start(int eager, CancellationToken callerToken, CancellationToken otherCallerToken = default)
    {
        // First: the clock is the user's, and if it fails, nothing has begun.
        StartedAt = Settings.TimeProvider.GetTimestamp();
        Settings.Deadline?.Start(this);
        PumpWorker first = CreateWorker();
        first.IsQueued = true;
        bool isWatched = (IsTimed || !IsAlone) && Items.KnownCount != 1;

        // Before anybody else knows the run: once it has a first worker, a control may bring others at any time, and they read this.
        SeesStarts |= isWatched && Settings.TimeProvider == TimeProvider.System;
        Orders?.Settings.Control.Attach(this);
        FaultPoint.Pass("Pump.Start", this);
        lock (_lock)
        {
            // A deadline that was set earlier, or the end of a runtime, may have come first.
            if (_finished)
            {
                Orders?.Settings.Control.Detach(this);
                return;
            }

            _workers.StartNeedsLock(first);
        }

        IsWatched |= isWatched || Settings.Pilot is not null;

        // Before the tokens: a cancelled one ends the run immediately, and the end removes the run from the watch.
        StallWatch.Add(this);

        _stop.Register(this, callerToken, otherCallerToken);
        lock (_lock)
        {
            if (_finished)
            {
                // It ended before all of this was in place, and so may have left some of it behind.
                Unlink();
                return;
            }
        }

        if (!IsAlone && Settings.Executor.HasThreadsBeyond)
        {
            _demand.Expect(ItemsLasted);
        }

        Settings.Executor.QueueNext(first);
        for (int i = 1; i < eager; i++)
        {
            AddQueued();
        }
    }

    /// <summary>Changes the limit. If it is lower, workers leave as their items end. If it is higher, more workers start now.</summary>
    public void SetLimit(int limit)
    {
        System.Diagnostics.Debug.Assert(limit >= 1, "A run without workers would never end.");
        int more;
        bool raised;
        lock (_lock)
        {
            int before = _workers.Limit;
            if (Orders is not null)
            {
                Orders.OwnLimit = limit;
                limit = Orders.Limit(isMoved: Settings.Adaptive is not null);
            }

            more = _workers.SetLimitNeedsLock(limit);
            raised = _workers.Limit > before;
        }

        AddUpTo(more);
        if (raised)
        {
            LimitRaised();
        }
    }

    /// <summary>Begins an item that a worker has claimed, in a run that is controlled from outside.</summary>
    /// <returns>False if it may not begin now, or at all: it goes back.</returns>
    public bool TryBegin(PumpOrders orders, bool isNew)
    {
        lock (_lock)
        {
            return !HasTooMany && orders.TryBegin(isNew, Items);
        }
    }

    void RunControl.IRun.Obey(RunControl.Order order)
    {
        PumpOrders orders = Orders!;
        int more = 0;
        bool stops;
        bool finish = false;
        bool limits;
        bool raised;
        lock (_lock)
        {
            RunControl.Order before = orders.Order;
            int limitBefore = _workers.Limit;
            if (_finished || order == before)
            {
                return;
            }

            orders.Order = order;
            limits = order.Limit != before.Limit;
            stops = order.IsStopped && !before.IsStopped;
            bool resumes = before.IsPaused && !order.IsPaused;
            if (order.IsStopped != before.IsStopped || order.IsPaused != before.IsPaused)
            {
                orders.StopsReading = order.IsStopped;
                Items.Hold(orders.Hold);
                finish = _workers.First is not null && TryFinishNeedsLock();
            }

            more = _workers.SetLimitNeedsLock(orders.Limit(isMoved: Settings.Adaptive is not null));
            raised = _workers.Limit > limitBefore;
            if (resumes)
            {
                // As many as have a thread now. The others follow as items suspend or block, as at the start of a run.
                more = Math.Max(more, Settings.Executor.Threads);
            }

            more = _workers.First is null ? 0 : more;
        }

        if (limits && order.Limit is { } limit && orders.Settings.OnLimit is { } onLimit)
        {
            onLimit(limit);
            Release();
        }

        if (raised)
        {
            LimitRaised();
        }

        if (stops && orders.Reading is { } reading)
        {
            // The source's own code reacts to it, and it may take long.
            SafeCancel.Later(reading);
        }

        if (finish)
        {
            QueueFinish();
        }

        AddUpTo(more);
    }

    // As many as there is room for. A limit may be any number: those beyond this follow as items suspend or block, as at the start of a run.
    private void AddUpTo(int more)
    {
        for (more = Math.Min(more, 1024); more > 0 && AddQueued(); more--)
        {
        }
    }

    /// <summary>More items may be in flight: those that wait for a permit, and those behind a backlog, may begin.</summary>
    private void LimitRaised()
    {
        Settings.OnLimitRaised?.Invoke();
        Release();
    }

    RunSample RunControl.IRun.Count()
    {
        // The ended items first, so that they have all begun.
        RunSample sample = Sample();
        lock (_lock)
        {
            sample.Begun = Orders!.Begun;
            return sample;
        }
    }

    /// <summary>A token of the run that also ends when only its reading stops.</summary>
    protected CancellationToken ReadingToken(PumpOrders orders)
    {
        orders.Reading = CancellationTokenSource.CreateLinkedTokenSource(Token);
        return orders.Reading.Token;
    }

    /// <summary>The counts of the run so far.</summary>
    public override RunSample Sample()
    {
        lock (_lock)
        {
            RunSample sample = _counts.SampleNeedsLock();
            for (PumpWorker? worker = _workers.First; worker is not null; worker = worker.NextCreated)
            {
                worker.AddTo(ref sample);
            }

            _parked.AddTo(ref sample);
            sample.Limit = _workers.Limit;
            sample.Throttles = _pauses?.Throttles ?? 0;
            sample.Drains = _pauses?.Drains ?? 0;
            AddTo(ref sample);
            return sample;
        }
    }

    public override StageSample? Stage()
    {
        if (Orders is { Order.IsPaused: true } || IsOver)
        {
            return null;
        }

        RunSample sample = Sample();
        (int executing, int waiting) = _workers.Inside();
        double busy = Math.Min(1, sample.Active / (double)Math.Max(1, sample.Limit));
        StageRest rest = sample.Undelivered > 0 && IsAtCeiling && !HasBacklog ? StageRest.Output
            : sample.WaitingForCircuit > 0 ? StageRest.Circuit
            : sample.WaitingForPermit > 0 ? StageRest.Permit
            : sample.AtRateLimit + sample.WaitingForRate > 0 ? StageRest.Rate
            : sample.Delayed > 0 ? StageRest.Retry
            : Items.WaitingForKeys > 0 ? StageRest.Key
            : _workers.Queued > 0 ? StageRest.Pool
            : !Items.MayHaveMore ? StageRest.Tail
            : Items.HasReader ? StageRest.Source
            : StageRest.Enough;
        int shared = sample.WaitingForCircuit + sample.WaitingForPermit + sample.AtRateLimit + sample.WaitingForRate;
        return new StageSample(
            busy,
            rest,
            sample.Limit,
            sample.Active == 0 ? 0 : waiting / (double)Math.Max(sample.Active, executing),
            IsHeld: shared > 0 && shared >= sample.Limit - sample.Active);
    }

    /// <summary>Adds the counts of the source and the sink.</summary>
    protected abstract void AddTo(ref RunSample sample);

    // Who works.

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
        _demand.Note(perItem);
        if (_workers.Live < _workers.Limit && _demand.IsHelpOfUse(started, now, perItem, Items))
        {
            _demand.Asked(now);
            if (_workers.HasThreadForMore(Settings.Executor))
            {
                AddQueued();
            }
        }
    }

    /// <summary>Called by a worker that cannot ask yet, with the approximate time per item, in Stopwatch ticks.</summary>
    public void NoteItems(double perItem) => _demand.Note(perItem);

    /// <summary>Called by a worker that begins, with its first item.</summary>
    public void BringNext()
    {
        if (_demand.ExpectsMore && Settings.Executor.HasThreadsBeyond && _workers.Live < _workers.Limit && Items.MayHaveMore && _workers.HasThreadForMore(Settings.Executor))
        {
            AddQueued();
        }
    }

    /// <summary>
    /// Whether the items of the last run like this one lasted. Written when a run ends, and read when the next one starts; if it is wrong, a worker comes that is
    /// not needed, or comes later.
    /// </summary>
    protected abstract bool ItemsLasted { get; set; }

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
        WorkerActivity seen = _workers.Look(IsGuarded);
        if (Items.ShareIfStuck() || seen.HasShared)
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

    // Whether it may end.

    /// <summary>
    /// May this run end? Yes, once, when nothing is under way (no worker has an item or reads, no parked call waits) and nothing is to come: the run was
    /// stopped, or nothing is left to claim and no item waits between two attempts. Workers that wait for a thread hold no item, so the run does not wait for
    /// them.
    /// </summary>
    private bool TryFinishNeedsLock()
    {
        if (_finished || _workers.Live > _workers.Queued || _parked.Waiting != 0)
        {
            return false;
        }

        if (!IsOver && !(Items.IsExhausted && _counts.Delayed == 0))
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

    /// <summary>Adds calls that a worker has parked, before it leaves or waits for a thread.</summary>
    public void AddParked(int count) => _parked.Add(count);

    /// <summary>Records the end of a parked call.</summary>
    /// <param name="index">The index of its item.</param>
    /// <param name="call">The call, which has ended.</param>
    /// <param name="isOnOwnThread">Whether this thread was started for the run.</param>
    public abstract void EndParked(long index, Task call, bool isOnOwnThread);

    /// <summary>The end of a parked call could not be recorded: the run fails, and does not wait for it.</summary>
    public abstract void LoseParked(long index, Task call, Exception error);

    /// <summary>Counts a parked call that has succeeded, or whose run fails without its outcome, and ends the run if it was the last one.</summary>
    protected void ParkedSucceeded(bool isOnOwnThread)
    {
        if (!_parked.EndOne())
        {
            return;
        }

        bool finish;
        try
        {
            FaultPoint.Pass("Pump.ParkedSucceeded", this);
            finish = TryFinish();
        }
        catch (Exception e)
        {
            // There is no memory to wait for the lock with.
            EngineFailed(e);
            finish = TryFinish();
        }

        if (finish)
        {
            FinishOn(isOnOwnThread);
        }
    }

    /// <summary>A worker for the failure of a parked call, which then no longer counts; null if there is no memory for one, and the run fails.</summary>
    protected PumpWorker? TryTakeOverParked(Exception failure)
    {
        try
        {
            FaultPoint.Pass("Pump.TakeOverParked", this);
            lock (_lock)
            {
                PumpWorker worker = TakeIdleNeedsLock();
                _workers.AddNeedsLock();
                _parked.Remove(1);
                return worker;
            }
        }
        catch (Exception e)
        {
            EngineFailed(new AggregateException(failure, e));
            return null;
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

    /// <summary>Counts an item that ended because the run was stopped. It is cancelled and has not failed.</summary>
    public void CountStopped() => CountStopped(1);

    /// <summary>Counts an item that passed its time limit, or that of the run.</summary>
    public void CountTimedOut() => _counts.AddTimedOut(1);

    private void CountStopped(int count)
    {
        if (StoppedAs == ItemStatus.Cancelled)
        {
            _counts.AddCancelled(count);
        }
    }

    /// <summary>Called when the run was stopped while items waited for another attempt.</summary>
    /// <param name="waited">How many waited.</param>
    /// <param name="attempted">How many of these, and of the due items, had been attempted, and so have ended.</param>
    protected void EndDelayed(int waited, int attempted)
    {
        CountStopped(attempted);
        lock (_lock)
        {
            _counts.AddDelayedNeedsLock(-waited);
            _counts.PastNeedsLock.Unsuccessful += attempted;
        }
    }

    /// <summary>Records the outcome of an item that ended without a result.</summary>
    public abstract void EndUnsuccessful(long index, ItemStatus status, Exception? error);

    // What stops it, and how it ends.

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

    /// <summary>
    /// The engine failed outside of any worker, on a timer or a work item. It may have been the time limit of an item that never ends by itself, so none is
    /// waited for.
    /// </summary>
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
            ItemFailure.Note.Add(error, index, Time == TimeProvider.System ? StartedAt : null);
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

            _workers.TellNeedsLock();
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

    /// <summary>Ends a run that was stopped from outside, perhaps because its items hold all threads of the pool: as urgent work.</summary>
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
            if (_demand.WasWrong)
            {
                ItemsLasted = _demand.Lasts;
            }

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

    /// <summary>
    /// Ends the run once its source, which closes asynchronously, has closed. Separate, because otherwise the run of a list would pay for the state machine.
    /// </summary>
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
                Settings.Deadline?.End();
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

    /// <summary>Cancels the items' own tokens when the run stops, or at once if it has.</summary>
    public void AddTokens(ItemTokens tokens) => _stop.Add(tokens);

    [Conditional("DEBUG")]
    private void AssertInvariants()
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "The state of a run is read and changed under its lock.");
        _workers.AssertInvariants();
    }

    /// <summary>
    /// The workers of a run: all of them, those that have nothing to do and are taken again first, how many are at work or wait for their items, and how many
    /// there may be.
    /// </summary>
    /// <remarks>
    /// All of it changes under the run's lock only. The stall watch and whoever gives up items walk the list of all without it, so a worker joins at the front,
    /// by a volatile write after its link is set; otherwise such a thread could end at a worker whose link it does not see yet. A worker that leaves the list
    /// keeps its link: a thread that is just at it goes on from there, and would miss the others otherwise. The numbers are read without the lock as hints,
    /// with one exception: a worker that leaves is subtracted with a full fence before it looks whether its reason still holds, and whoever removes the reason
    /// looks at the number after that. So one of both sees the other; in any other order, a worker could be missing for good.
    /// </remarks>
    private struct RunWorkers(int limit)
    {
        private PumpWorker? _all;
        private PumpWorker? _idle;
        private int _limit = limit;
        private int _live;
        private int _queued;

        /// <summary>Whether one is missing because the consumer of a stream is behind, or items wait in a backlog.</summary>
        public bool IsThrottled;

        /// <summary>The newest of all workers; the others follow by <see cref="PumpWorker.NextCreated"/>. Null before the start.</summary>
        public readonly PumpWorker? First => Volatile.Read(in _all);

        /// <summary>How many items may be in flight at once. A worker above the limit leaves when its item ends.</summary>
        public readonly int Limit => Volatile.Read(in _limit);

        /// <summary>How many workers are at work or waiting for their items, or for a thread.</summary>
        public readonly int Live => Volatile.Read(in _live);

        /// <summary>How many of these wait for a thread. They hold no item.</summary>
        public readonly int Queued => _queued;

        /// <summary>
        /// Whether fewer workers have a thread or started just now than there are threads for. Those that wait inside their calls do not count if there may be
        /// more threads; then one at a time comes, because the pool gives no more of them for a longer queue.
        /// </summary>
        public readonly bool HasThreadForMore(Executor executor)
        {
            bool mayPassOver = executor.HasThreadsBeyond;
            int most = executor.Threads;
            int executing = 0;
            int queued = 0;
            int waiting = 0;
            for (PumpWorker? worker = First; worker is not null; worker = worker.NextCreated)
            {
                if (worker.IsQueued)
                {
                    queued++;
                }
                else if (worker.IsExecuting)
                {
                    executing++;
                    waiting += mayPassOver && worker.IsWaiting ? 1 : 0;
                }
            }

            return executing + queued < most || (queued == 0 && executing - waiting < most);
        }

        /// <summary>How many workers are inside a call with their thread, and how many of these threads wait there, as far as the runtime knows.</summary>
        public readonly (int Executing, int Waiting) Inside()
        {
            int executing = 0;
            int waiting = 0;
            for (PumpWorker? worker = First; worker is not null; worker = worker.NextCreated)
            {
                if (worker is { IsExecuting: true, Reads: false })
                {
                    executing++;
                    waiting += worker.IsWaiting ? 1 : 0;
                }
            }

            return (executing, waiting);
        }

        /// <summary>What the workers do. Whoever has been inside one call for long gives to others what it claimed beyond it.</summary>
        public readonly WorkerActivity Look(bool isGuarded)
        {
            WorkerActivity seen = default;
            for (PumpWorker? worker = First; worker is not null; worker = worker.NextCreated)
            {
                seen.Claims += worker.Claims;
                if (worker.IsExecuting)
                {
                    seen.Executing++;
                    seen.Computing += worker.IsWaiting ? 0 : 1;
                }

                if (isGuarded)
                {
                    seen.HasShared |= worker.ShareIfStuck(out bool isStuck);
                    seen.Stuck += isStuck ? 1 : 0;
                }
                else
                {
                    seen.HasShared |= worker.Share();
                }
            }

            return seen;
        }

        /// <summary>The run starts with its first worker, which waits for a thread.</summary>
        public void StartNeedsLock(PumpWorker first)
        {
            _all = first;
            _live = 1;
            QueueNeedsLock(first);
        }

        /// <summary>Changes the limit.</summary>
        /// <returns>By how many it is higher.</returns>
        public int SetLimitNeedsLock(int limit)
        {
            int more = limit - _limit;
            Volatile.Write(ref _limit, limit);
            return more;
        }

        /// <summary>The run is over: workers look before their next items. Those that join later look before their first.</summary>
        public readonly void TellNeedsLock()
        {
            for (PumpWorker? worker = First; worker is not null; worker = worker.NextCreated)
            {
                worker.LookBeforeNext();
            }
        }

        /// <summary>A worker waits for a thread.</summary>
        public void QueueNeedsLock(PumpWorker worker)
        {
            worker.IsQueued = true;
            _queued++;
        }

        /// <summary>A worker that waited for a thread has one.</summary>
        public void EnterNeedsLock(PumpWorker worker)
        {
            worker.IsQueued = false;
            _queued--;
        }

        /// <summary>A worker is in the run, which has just created it if it was not in the list.</summary>
        public void AddNeedsLock() => Interlocked.Increment(ref _live);

        /// <summary>A worker is about to leave; see above.</summary>
        public void LeaveNeedsLock() => Interlocked.Decrement(ref _live);

        /// <summary>It stays after all.</summary>
        public void StayNeedsLock() => Interlocked.Increment(ref _live);

        /// <summary>A worker that has left has nothing to do.</summary>
        public void RestNeedsLock(PumpWorker worker)
        {
            worker.NextIdle = _idle;
            _idle = worker;
        }

        /// <summary>Takes a worker that has nothing to do, or null.</summary>
        public PumpWorker? TakeIdleNeedsLock()
        {
            PumpWorker? worker = _idle;
            if (worker is not null)
            {
                _idle = worker.NextIdle;
                worker.NextIdle = null;
            }

            return worker;
        }

        /// <summary>A new worker joins the list of all.</summary>
        public void JoinNeedsLock(PumpWorker worker)
        {
            worker.NextCreated = _all;
            Volatile.Write(ref _all, worker);
        }

        /// <summary>The run forgets a worker.</summary>
        public void ForgetNeedsLock(PumpWorker worker)
        {
            if (_all == worker)
            {
                Volatile.Write(ref _all, worker.NextCreated);
                return;
            }

            PumpWorker before = _all!;
            while (before.NextCreated != worker)
            {
                before = before.NextCreated!;
            }

            before.NextCreated = worker.NextCreated;
        }

        [Conditional("DEBUG")]
        public readonly void AssertInvariants()
        {
            Debug.Assert(_queued >= 0, "A worker enters once for each time it is queued.");
            Debug.Assert(_live >= _queued, "A queued worker is a live one.");
            Debug.Assert(_all is not null || _live == 0, "Live workers were created.");
        }
    }

    /// <summary>How many calls of a run are parked, and how many of them have succeeded, in one word: each call costs one atomic operation.</summary>
    /// <remarks>
    /// A worker adds the calls that it has parked before it leaves the run or waits for a thread, and each call subtracts itself when it ends. So the number
    /// may be zero, or below, while workers are left. The run ends, under its lock, when no worker is left and the number is zero. Two threads look for that:
    /// the worker that leaves last, after it has added; and the call that brings the number to zero, after it has subtracted. Both then take the lock, and the
    /// second one sees what the first one did. If a worker added after it had left, the run could end while its calls still wait.
    /// </remarks>
    private struct ParkedCount
    {
        // One less in the lower half, which counts those that wait, and one more in the upper half, which counts those that have succeeded. If the lower half
        // is below zero, it has borrowed one from the upper half.
        private const long OneSucceeded = (1L << 32) - 1;

        private long _word;

        /// <summary>How many wait, as far as workers have told. Exact when no worker is left.</summary>
        public readonly int Waiting => (int)Volatile.Read(in _word);

        /// <summary>Adds calls that a worker has parked.</summary>
        public void Add(int count) => Interlocked.Add(ref _word, count);

        /// <summary>A call has succeeded, or its run fails without its outcome.</summary>
        /// <returns>Whether none waits, so that the run may have to end.</returns>
        public bool EndOne() => (int)Interlocked.Add(ref _word, OneSucceeded) == 0;

        /// <summary>Calls no longer count: a worker has taken their outcome, or they were given up.</summary>
        public void Remove(int count) => Interlocked.Add(ref _word, -count);

        public readonly void AddTo(ref RunSample sample)
        {
            long word = Volatile.Read(in _word);
            int waiting = (int)word;
            sample.InFlight += waiting;
            sample.Succeeded += (word - waiting) >> 32;
        }
    }

    /// <summary>What a run counts besides what its workers do.</summary>
    /// <remarks>
    /// Any thread counts items that were cancelled or passed their time limit, with interlocked additions. The rest is guarded by the run's lock.
    /// </remarks>
    private struct RunCounts
    {
        // The counts of workers that the run has forgotten; created for the first one that it forgets.
        private StrongBox<RunSample>? _past;
        private int _cancelled;
        private int _timedOut;
        private int _delayed;

        /// <summary>How many items wait for another attempt. Changed under the lock, and read without it too.</summary>
        public readonly int Delayed => Volatile.Read(in _delayed);

        /// <summary>What workers did that the run has forgotten.</summary>
        public ref RunSample PastNeedsLock => ref (_past ??= new StrongBox<RunSample>()).Value;

        public void AddDelayedNeedsLock(int count) => Volatile.Write(ref _delayed, _delayed + count);

        public void AddCancelled(int count) => Interlocked.Add(ref _cancelled, count);

        public void AddTimedOut(int count) => Interlocked.Add(ref _timedOut, count);

        /// <summary>A sample that has these counts.</summary>
        public readonly RunSample SampleNeedsLock()
        {
            RunSample sample = _past?.Value ?? default;
            sample.Delayed = _delayed;
            sample.Cancelled = Volatile.Read(in _cancelled);
            sample.TimedOut = Volatile.Read(in _timedOut);
            return sample;
        }
    }
}

/// <summary>The workers that would read if no other one were reading: those that have left the run, and those that wait on their thread for a moment.</summary>
/// <remarks>
/// A worker looks whether the turn is taken, and then counts itself, under the run's lock. The reader gives up the turn, and then looks at the count, without
/// the lock. So it can miss a worker that is just leaving. Nothing is lost by that: the reader goes on, and calls the worker when it has read its next item, or
/// takes it along when its item suspends; and the stall watch brings another worker if its item lasts.
/// </remarks>
internal struct WaitingReaders
{
    // The time it takes to leave and be called again, on a slow machine.
    private static readonly long LongestSpin = Stopwatch.Frequency / 20_000;

    private int _left;
    private int _spinning;

    /// <summary>Whether workers have left.</summary>
    public readonly bool Any => Volatile.Read(in _left) > 0;

    public void AddNeedsLock() => _left++;

    public bool TryTakeNeedsLock()
    {
        if (_left == 0)
        {
            return false;
        }

        _left--;
        return true;
    }

    /// <summary>
    /// A worker found the turn taken. The reader is usually quick, and a short spin is cheaper than leaving and being called again. Not too many may spin, or
    /// they would keep the reader from its processor.
    /// </summary>
    /// <returns>Whether to try again.</returns>
    public bool WaitFor<T>(Source<T> source, Pump run)
    {
        if (!source.IsReading)
        {
            // The thread is more useful to the item, or to the sequence, whose end all workers wait for.
            return false;
        }

        try
        {
            if (Interlocked.Increment(ref _spinning) >= Environment.ProcessorCount)
            {
                return false;
            }

            long began = Stopwatch.GetTimestamp();
            while (source.IsBusy)
            {
                if (!source.IsReading || run.IsOver || Stopwatch.GetTimestamp() - began > LongestSpin)
                {
                    return false;
                }

                Thread.SpinWait(8);
            }

            return true;
        }
        finally
        {
            Interlocked.Decrement(ref _spinning);
        }
    }
}

/// <summary>Why a worker has nothing to do. Checked once more under the lock before it leaves.</summary>
internal enum LeaveReason
{
    /// <summary>Nothing is left to claim, or the run has ended.</summary>
    Exhausted,

    /// <summary>Another worker is reading the source, and this one has not had an item since it came.</summary>
    Busy,

    /// <summary>Another worker is reading the source. This one had items before, and is called when the turn is given up.</summary>
    WaitsForTurn,

    /// <summary>The consumer of the results is behind.</summary>
    Throttled,

    /// <summary>There are more workers than the limit allows.</summary>
    TooMany,

    /// <summary>The run is paused, and nothing that has begun waits for a worker.</summary>
    Paused,
}
