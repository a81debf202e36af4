using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
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
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable",
    Justification = "The source has neither timer nor link; user code may hold its token for longer than the run.")]
internal abstract partial class Pump : LiveRun, IRunHandle, IControlledRun, IUnattended, IThreadPoolWorkItem
{
    private readonly Lock _lock = new();
    private CancellationTokenSource _stopped;
    private CallerTokens _callerTokens;
    private RunStop _stop;
    private RunCounts _counts;
    private WorkerLists _workers;
    private TokenList _tokens;
    private int _limit;
    private int _live;
    private int _queued;
    private bool _throttled;
    private bool _finished;

    protected Pump(PumpSettings settings, bool attemptsAreTimed)
    {
        Begin(settings, attemptsAreTimed);
        Orders = settings is ControlledSettings controlled ? new PumpOrders(controlled) : null;
        settings.Adaptive?.Attach(this);
    }

    /// <summary>The token that this run's user code gets. It is cancelled when the run stops for any reason.</summary>
    public CancellationToken Token;

    /// <summary>The caller's context, under which user code runs. Null when the caller suppressed its flow.</summary>
    public ExecutionContext? Context;

    /// <summary>Whether the run was stopped before its end. Then no further item starts.</summary>
    public bool IsOver => _stop.IsOver;

    /// <summary>Whether items can be given up while they run.</summary>
    public bool IsGuarded;

    /// <summary>Whether items or attempts have a time limit.</summary>
    public bool IsTimed;

    /// <summary>
    /// Whether the limit is one and stays so. Then no other worker waits for what a worker has claimed, none can help it, and the stall watch has nothing to
    /// do but to see when items with a limit began.
    /// </summary>
    public bool IsAlone;

    /// <summary>
    /// Whether the stall watch determines when an item that lasts for a while began: within one of its periods, by the run's own clock. Set before the start;
    /// for a clock that is not the system's, only by tests.
    /// </summary>
    public bool SeesStarts;

    /// <summary>What the run is told from outside; null if nothing can pause, stop or limit it. Otherwise each item begins under the lock.</summary>
    public readonly PumpOrders? Orders;

    /// <summary>Whether workers take turns to read. Set by the constructor.</summary>
    public bool TakesTurns;

    /// <summary>Whether the run has ended: nothing of it is left but its completion.</summary>
    public bool HasEnded => Volatile.Read(ref _finished);

    /// <summary>How many items may be in flight at once. A worker above the limit leaves when its item ends.</summary>
    public int Limit => Volatile.Read(ref _limit);

    /// <summary>How many workers are at work or waiting for their items.</summary>
    public int Live => Volatile.Read(ref _live);

    /// <summary>Whether there are more workers than the limit allows. One more is allowed while a reader's place is lent to it.</summary>
    public bool HasTooMany => Volatile.Read(ref _live) - Volatile.Read(ref _limit) is var over && over > 0 && !(over == 1 && IsLent);

    public PumpSettings Settings;

    public override string? Operation => Settings.Operation;

    public override object? About => Settings.About;

    public override TimeProvider Time => Settings.TimeProvider;

    protected override WaitListener? Waits => Settings.Waits;

    /// <summary>The time limits of its items and of their attempts.</summary>
    public abstract ItemLimits Limits { get; }

    protected abstract bool IsExhausted { get; }

    protected abstract bool IsBusy { get; }

    protected abstract bool IsAtCeiling { get; }

    /// <summary>Whether items were given back for any worker to claim.</summary>
    protected abstract bool HasStash { get; }

    /// <summary>Whether the place of a reading worker is lent to one more worker.</summary>
    protected abstract bool IsLent { get; }

    /// <summary>Whether workers take turns for every single item.</summary>
    protected abstract bool ReadsOneByOne { get; }

    protected abstract int KnownCount { get; }

    /// <summary>Whether no more than the first item has been read.</summary>
    public bool HasReadOne => NextIndex <= 1;

    protected abstract long NextIndex { get; }

    /// <summary>Starts the run with its first worker, on a thread of the executor and never on the caller's.</summary>
    /// <param name="eager">How many workers to start at once: one, unless there are threads that are waiting anyway.</param>
    /// <param name="callerToken">The caller's token.</param>
    /// <param name="otherCallerToken">A second token of the caller, such as that of an enumerator.</param>
    public void Start(int eager, CancellationToken callerToken, CancellationToken otherCallerToken = default)
    {
        PumpWorker first = _workers.Idle ?? CreateWorker();
        first.IsQueued = true;
        Orders?.Settings.Control.Attach(this);
        FaultPoint.Pass("Pump.Start", this);
        using (_lock.Hold())
        {
            // A deadline that was set earlier, or the end of a runtime, may have come first.
            if (_finished)
            {
                Orders?.Settings.Control.Detach(this);
                return;
            }

            _workers.StartNeedsLock(first);
            _live = 1;
            _queued = 1;
        }

        if ((IsTimed || !IsAlone) && KnownCount != 1)
        {
            SeesStarts |= Settings.TimeProvider == TimeProvider.System;
            IsWatched = true;
        }
        else if (Settings.Pilot is not null)
        {
            IsWatched = true;
        }

        // Before the tokens: a cancelled one ends the run immediately, and the end removes the run from the watch.
        StartedAt = Settings.TimeProvider.GetTimestamp();
        StallWatch.Add(this);

        _callerTokens.Register(this, callerToken, otherCallerToken);
        using (_lock.Hold())
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
            StopTokens(later: false);
            SafeCancel.Now(_stopped);
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

    /// <summary>Changes the limit. If it is lower, workers leave as their items end. If it is higher, more workers start now.</summary>
    public void SetLimit(int limit)
    {
        Debug.Assert(limit >= 1, "A run without workers would never end.");
        int more;
        bool raised;
        using (_lock.Hold())
        {
            int before = _limit;
            more = SetOwnLimitNeedsLock(limit);
            raised = _limit > before;
        }

        for (; more > 0; more--)
        {
            AddQueued();
        }

        if (raised)
        {
            LimitRaised();
        }
    }

    void IRunHandle.Release()
    {
        if (TakeThrottled() is not { } worker)
        {
            return;
        }

        try
        {
            FaultPoint.Pass("Pump.Release", this);
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
        if (TakeThrottled() is { } worker)
        {
            Queue(worker, urgent: false);
        }
    }

    /// <summary>The worker that reads on after a pause, if there was one; counted as queued.</summary>
    private PumpWorker? TakeThrottled()
    {
        using (_lock.Hold())
        {
            bool wasThrottled = _throttled;
            _throttled = false;
            return wasThrottled ? AddNeedsLock(queued: true) : null;
        }
    }

    /// <summary>The counts of the run so far.</summary>
    public override RunSample Sample()
    {
        using (_lock.Hold())
        {
            RunSample sample = _counts.SampleNeedsLock();
            for (PumpWorker? worker = _workers.First; worker is not null; worker = worker.NextCreated)
            {
                worker.AddTo(ref sample);
            }

            _parked.AddTo(ref sample);
            sample.Limit = _limit;
            sample.Throttles = _pauses?.Throttles ?? 0;
            sample.Drains = _pauses?.Drains ?? 0;
            AddTo(ref sample);
            return sample;
        }
    }

    /// <summary>The error of an attempt that has passed its own time limit.</summary>
    public abstract Exception AttemptTimedOut(int attempt);

    /// <summary>The item of a parked call was given up.</summary>
    public abstract void GiveUpParked(long index);

    /// <summary>Records the outcome of an item that ended without a result.</summary>
    public abstract void EndUnsuccessful(long index, ItemStatus status, Exception? error);

    /// <summary>Adds the counts of the source and the sink.</summary>
    protected abstract void AddTo(ref RunSample sample);

    /// <summary>Lends the place of a reading worker.</summary>
    protected abstract bool TryLend();

    /// <summary>Returns the reader's place.</summary>
    protected abstract void TakeBack();

    protected abstract void HoldSource(SourceHold hold);

    /// <summary>Whether what was read still begins after a stop.</summary>
    protected abstract bool BeginsWhatWasRead { get; }

    protected abstract PumpWorker CreateWorker();

    protected abstract ValueTask DisposeSourceAsync();

    protected abstract void Complete(CancellationToken? cancelledBy, FailureLog? failures);

    /// <summary>Replaces a completion that threw or could not be reached.</summary>
    protected abstract void CompleteBroken(Exception error);

    [Conditional("DEBUG")]
    private void AssertInvariants()
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "The state of a run is read and changed under its lock.");
        Debug.Assert(_queued >= 0, "A worker enters once for each time it is queued.");
        Debug.Assert(_live >= _queued, "A queued worker is a live one.");
        Debug.Assert(_workers.First is not null || _live == 0, "Live workers were created.");
    }
}
