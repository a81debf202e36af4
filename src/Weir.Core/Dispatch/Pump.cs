using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>
/// One run: its workers, how many there may be, and when it ends. Nothing here happens once per item; the work for each item is in
/// <see cref="PumpWorker{TItem, TResult, TPending, TCall, TSink}"/>.
/// </summary>
/// <remarks>
/// Who keeps the run going: while there is something left to claim, either some worker holds the source's turn, or is inside a
/// synchronous call (after which it claims again), or all permitted workers are waiting for their items, or the consumer of a stream
/// is behind (and will call <see cref="Release"/>). A worker leaves only after it has checked this under the lock.
/// </remarks>
internal abstract partial class Pump : LiveRun, IRunHandle, IControlledRun, IUnattended, IThreadPoolWorkItem
{
    private readonly Lock _lock = new();
    private readonly PauseState? _pauses;
    private RunStop _stop = new();
    private RunCounts _counts;
    private RunWorkers _workers;
    private WorkerDemand _demand = new();
    private WaitingReaders _waitingReaders;
    private ParkedCount _parked;
    private bool _finished;

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

    public override object? About => Settings.About;

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

    /// <summary>Starts the run with its first worker, on a thread of the executor and never on the caller's.</summary>
    /// <param name="eager">How many workers to start at once: one, unless there are threads that are waiting anyway.</param>
    /// <param name="callerToken">The caller's token.</param>
    /// <param name="otherCallerToken">A second token of the caller, such as that of an enumerator.</param>
    public void Start(int eager, CancellationToken callerToken, CancellationToken otherCallerToken = default)
    {
        // First: the clock is the user's, and if it fails, nothing has begun.
        StartedAt = Settings.TimeProvider.GetTimestamp();
        PumpWorker first = CreateWorker();
        first.IsQueued = true;
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

        if ((IsTimed || !IsAlone) && Items.KnownCount != 1)
        {
            SeesStarts |= Settings.TimeProvider == TimeProvider.System;
            IsWatched = true;
        }
        else if (Settings.Pilot is not null)
        {
            IsWatched = true;
        }

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

    void IControlledRun.Obey(RunOrder order)
    {
        PumpOrders orders = Orders!;
        int more = 0;
        bool stops;
        bool finish = false;
        bool limits;
        bool raised;
        lock (_lock)
        {
            RunOrder before = orders.Order;
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

    /// <summary>More items may be in flight: those that wait for a place, and those behind a backlog, may go on.</summary>
    private void LimitRaised()
    {
        Settings.OnLimitRaised?.Invoke();
        Release();
    }

    RunSample IControlledRun.Count()
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

    /// <summary>Adds the counts of the source and the sink.</summary>
    protected abstract void AddTo(ref RunSample sample);
}
