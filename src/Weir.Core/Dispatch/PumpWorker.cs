using System.Diagnostics;
using System.Runtime.CompilerServices;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

// An item's way through a worker.
//
//   Step:  Continue (what the worker waited for has ended) → Claim → the items of the chunk → Claim ...
//   claim  The source gives a chunk of items, or says why not (ClaimResult). Then the worker waits for the source, or leaves the run. WorkerPace decides how
//          many items it takes before it reads the clock again, and asks the run for help with what is left.
//   call   The call gets the item. One that returns at once is delivered at once. One that suspends gives the rest of the chunk back, for others, and holds the
//          worker until it has ended (WaitForCall); where all items may be in flight at once, the call is parked and the worker runs the next item (Park).
//   deliver  A result goes to the sink. A failure goes to Fail (Recovery.cs). An item that was given up meanwhile is no longer the worker's (ItemGuard.cs).
//
// A worker is a hand-written state machine, its own work item, with one continuation for its lifetime. So it costs nothing per item, can rest in a list, and
// can be given up from outside. The call and the sink are struct type parameters, so the plain run compiles to the user's delegate and a store.
//
// Three inner loops stand side by side on purpose, because they differ inside the loop: RunItems (the position is the only store per item), RunGuardedItems
// (items that can be given up: also the word, and the cursor that may be closed) and that of RunGuardedChunk (items with a limit or attempts of their own: also
// a token and a clock each, and an exception handler). One loop would put the branches and stores of all of them on each item's path.
//
// Who may touch a worker: the thread inside it, and nobody else, from the moment when it takes the worker to the moment when it queues it, registers its
// continuation or lets it leave. After each of these, another thread may have it already, so only the run is touched then. What others read at any time is
// said at the fields. What they may change is the word of its item only (ItemGuard.cs).

/// <summary>What a run continues on a thread: a worker, or parked calls. It is its own work item and keeps one continuation for its lifetime.</summary>
internal abstract class PumpWork : IThreadPoolWorkItem
{
    private Action? _continuation;

    protected abstract Pump Run { get; }

    protected Action Continuation => _continuation ??= Resume;

    /// <summary>Runs on a thread of the executor, for a start or after a suspension that ended elsewhere.</summary>
    void IThreadPoolWorkItem.Execute()
    {
        try
        {
            if (MayEnter())
            {
                FaultPoint.Pass("PumpWork.Execute", Run);
                Work(isOnOwnThread: true);
            }
        }
        catch (Exception e)
        {
            Lost(e);
        }
    }

    /// <summary>Whether there is still anything to do for a thread that was called.</summary>
    protected abstract bool MayEnter();

    /// <summary>Does the work, on a thread that may do it and in the run's context. Another thread may have this object at the end of it.</summary>
    /// <param name="isOnOwnThread">Whether the thread was started for the run, rather than having come to complete an item.</param>
    protected abstract void Drive(bool isOnOwnThread);

    /// <summary>No thread could do the work, perhaps for lack of memory: it ends, and its run fails. Must not throw.</summary>
    protected abstract void Lost(Exception error);

    protected void Work(bool isOnOwnThread)
    {
        // Most threads have no context but the one that most runs have.
        ExecutionContext? context = Run.Context;
        if (context is null || (RunsNoUserCode && ReferenceEquals(context, ExecutionContext.Capture())))
        {
            Drive(isOnOwnThread);
        }
        else
        {
            ExecutionContext.Run(
                context, isOnOwnThread ? static work => ((PumpWork)work!).Drive(true) : static work => ((PumpWork)work!).Drive(false), this);
        }
    }

    /// <summary>Whether the work cannot change the thread's context.</summary>
    protected virtual bool RunsNoUserCode => false;

    private void Resume()
    {
        try
        {
            FaultPoint.Pass("PumpWork.Resume", Run);

            // A completion that runs its continuations inline can nest items to any depth.
            if (Run.Settings.Executor.CanRunOnCurrentThread && RuntimeHelpers.TryEnsureSufficientExecutionStack())
            {
                Work(isOnOwnThread: false);
            }
            else
            {
                Run.Settings.Executor.Queue(this);
            }
        }
        catch (Exception e)
        {
            Lost(e);
        }
    }
}

/// <summary>
/// One worker of a run, as its run and its watchers see it: it is in the run's lists, on a thread or not, and can be given up from outside. It is its own work
/// item and keeps one continuation for its lifetime, so it costs nothing per item and can rest in a list while it has nothing to do.
/// </summary>
internal abstract partial class PumpWorker : PumpWork, IUnattended
{
    // Under the run's lock. The list of all workers is also walked without it, see Pump.RunWorkers.

    /// <summary>The next in the list of all workers of the run.</summary>
    public PumpWorker? NextCreated;

    /// <summary>The next in the list of workers without work.</summary>
    public PumpWorker? NextIdle;

    /// <summary>Whether the worker waits for a thread. Then it holds no item.</summary>
    public bool IsQueued;

    // Hints, written by the thread inside and read by the stall watch at any time: whether a thread is inside this worker, and that thread, if it was started
    // for the run. Who takes the item of a call that still waits says that no thread is; one that just goes on says so too, in the end.
    private bool _isExecuting;
    private Thread? _inside;

    /// <summary>Whether the worker is inside the source, so that it has no item. A hint, for statistics.</summary>
    public bool Reads;

    // Of the thread inside, and of who has taken its item from it.

    /// <summary>Whether the thread inside was started for the run, rather than having come to complete an item.</summary>
    public bool IsOnOwnThread;

    /// <summary>The index of the item that it runs or waits for.</summary>
    protected long Index;

    /// <summary>What the worker waits for. A sample reads it at any time, and may get an old value.</summary>
    protected Wait Waiting;

    /// <summary>What it needs to go on: the task of a hook or of a decision, or the failure of a parked call.</summary>
    protected object? Awaited;

    protected PumpWorker(ItemGuard? guard) => Guard = guard;

    protected enum Wait : byte
    {
        None = 0,
        Call,
        Claim,
        Task,

        /// <summary>For what becomes of an item whose attempt has failed.</summary>
        Decision,

        /// <summary>For the end of what an item holds that has ended because the run was stopped.</summary>
        Discard,

        /// <summary>The worker has to record the failure of a parked call.</summary>
        Failure,

        /// <summary>The worker replaces one that was given up, and has to record the outcome of its item.</summary>
        Handover,
    }

    protected enum StepResult
    {
        /// <summary>The worker has more to do immediately.</summary>
        Ready = 0,

        /// <summary>The worker waits; its continuation now owns it.</summary>
        Waits,

        /// <summary>The worker left the run or was given up.</summary>
        Left,
    }

    /// <summary>Whether a thread is inside this worker. A hint: it may just come or go.</summary>
    public bool IsExecuting => Volatile.Read(ref _isExecuting);

    /// <summary>
    /// Whether the thread inside waits: for a time, a lock, an event or a task. There are waits that the runtime does not know of, such as some of sockets.
    /// </summary>
    public bool IsWaiting => Volatile.Read(ref _inside) is { } thread && (thread.ThreadState & System.Threading.ThreadState.WaitSleepJoin) != 0;

    /// <summary>How often the worker claimed. Written by the worker alone; a hint for the stall watch, which reads it at any time.</summary>
    public abstract long Claims { get; }

    public abstract void AddTo(ref RunSample sample);

    /// <summary>The run is over, or the watch asks: the worker looks before its next item.</summary>
    public abstract void LookBeforeNext();

    /// <summary>Gives to others what was claimed beyond an item that lasts, where items cannot be given up.</summary>
    public abstract bool Share();

    /// <summary>Tells the run how many calls it has parked. For the worker, or for the thread that gave it up.</summary>
    public abstract void TellParked();

    /// <summary>Gives up the items of its parked calls, and counts them.</summary>
    public abstract void AbandonParked(ItemStatus status, Exception? error, ref int abandoned);

    /// <summary>The run has ended: releases the timer.</summary>
    public void Retire() => Guard?.Clock.EndTimer();

    /// <summary>Works until there is nothing to do or something to wait for.</summary>
    /// <returns>Whether the worker waits, so that its thread is free to run another one.</returns>
    protected abstract bool Step();

    protected sealed override bool MayEnter() => !IsQueued || Run.TryEnter(this);

    protected sealed override void Drive(bool isOnOwnThread)
    {
        Pump run = Run;
        Thread? thread = isOnOwnThread ? Thread.CurrentThread : null;
        for (PumpWorker? current = this; current is not null;)
        {
            current._isExecuting = true;
            current.IsOnOwnThread = isOnOwnThread;
            current._inside = thread;
            bool waits;
            try
            {
                waits = current.Step();
            }
            catch (Exception e)
            {
                // User code gets here only through a list that was changed. If the engine itself fails, the run fails with it and does not hang.
                current.Break(run, e);
                return;
            }

            // A worker that waits may already be running on another thread, so only the run is touched here.
            current = waits ? run.TryAdd() : null;
        }
    }

    /// <summary>Its timer failed.</summary>
    void IUnattended.WorkFailed(Exception error) => Run.WorkFailed(error);

    // Nothing of a worker's own work throws, so no thread has begun with it. One that is still queued has no item, and its run does not wait for it.
    protected sealed override void Lost(Exception error)
    {
        if (IsQueued)
        {
            Run.EngineFailed(error);
        }
        else
        {
            Break(Run, error);
        }
    }

    /// <summary>The worker cannot continue: it leaves, and the run fails.</summary>
    private void Break(Pump run, Exception error)
    {
        run.EngineFailed(error);
        try
        {
            if (Guard?.TryEndBroken() == false)
            {
                return;
            }

            StopsExecuting();
            TellParked();
            GiveBackClaimed();
        }
        catch (Exception)
        {
            // No memory to give items back with. The run has failed, so nobody claims them.
        }

        run.TryLeave(this, LeaveReason.Exhausted);
    }

    /// <summary>Called by the worker itself before it waits or leaves.</summary>
    protected virtual void StopsExecuting() => _isExecuting = false;

    /// <summary>Called by a worker that was about to wait or leave but has work after all.</summary>
    protected void StartsExecuting() => _isExecuting = true;
}

/// <summary>The worker of a run: it claims, calls and delivers, in a loop.</summary>
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>(Pump<TItem, TResult, TPending, TCall, TSink> run)
    : PumpWorker(run.IsGuarded ? new ItemGuard(run.Settings.Pilot) : null)
    where TPending : struct, IPending<TResult>
    where TCall : struct, ICall<TItem, TPending>
    where TSink : struct, ISink<TResult>
{
    // Of the worker, which one thread at a time runs.
    private WorkerPace _pace;
    private bool _helper = true;

    // The item whose call is running, if the run may need it again, with what it brought along: null for one that came for the first time.
    private TItem? _item;
    private Repetition? _repetition;

    // The chunk of results that the worker fills, in a stream. Who gives up its item closes it.
    private ResultChunk? _results;

    // The call that the worker waits for.
    private TPending _pending;

    // Of the worker; any thread reads whether something is left in it (MayHaveClaimed), and gets an answer that may be old. Inside RunItems, the watch may make
    // it shorter, see Share.
    private Chunk<TItem> _chunk;

    // Written by the worker for each item, and read by the watch: the position in the chunk at which RunItems is, or -1 outside of it.
    private int _at = Outside;

    // Atomic: not 0 if RunItems has to look before its next item: whether the run is over, and with one more bit, what the watch asks, see Share. Set after that
    // has come about; the worker answers with 0 before it looks.
    private int _look;

    // Of the watch: the claim and the position that it saw at its last look, as a hash. If two are alike by chance, an item is given to others too early.
    private ushort _seen;

    // Written by the worker; read by any thread that takes a sample, which may get values that are old. Untold are calls that the worker has parked and not yet
    // told the run.
    private int _untold;
    private long _claims;
    private long _succeeded;
    private long _unsuccessful;
    private int _retries;

    // Atomic: written by the worker, read by whoever gives up its items: the calls that no worker waits for, the newest first.
    private ParkedCalls? _parked;

    private const int Outside = -1;

    private const int Look = 1;

    // The watch may take what the worker has claimed beyond its item; it takes it; it has taken it.
    private const int Asked = Look + 2;
    private const int Taking = Look + 4;
    private const int Taken = Look + 8;

    public override long Claims => Volatile.Read(ref _claims);

    protected override Pump Run => run;

    public override void AddTo(ref RunSample sample)
    {
        sample.Succeeded += _succeeded;
        sample.Unsuccessful += _unsuccessful;
        sample.Retries += _retries;
        sample.InFlight += _untold;
        sample.InFlight +=
            (Guard is null ? Waiting == Wait.Call || (IsExecuting && !Reads && At == Around.Call) : Guard.IsInFlight && At == Around.Call) ? 1 : 0;
    }

    protected override bool Step()
    {
        StepResult done = Continue();
        while (done == StepResult.Ready)
        {
            done = _chunk.IsEmpty ? Claim() : Guard is null ? RunChunk() : Guard.Meter is { } meter ? RunMeasuredChunk(Guard, meter) : RunGuardedChunk(Guard);
        }

        return done == StepResult.Waits;
    }

    protected override void StopsExecuting()
    {
        if (run.Sink.HasChunks)
        {
            run.Sink.Close(ref _results);
        }

        base.StopsExecuting();
    }

    protected override bool HasClaimed => !_chunk.IsEmpty;

    protected override bool MayHaveClaimed => Volatile.Read(ref _chunk.Position) < Volatile.Read(ref _chunk.Count);

    protected override void GiveBackClaimed()
    {
        if (!_chunk.IsEmpty)
        {
            run.Source.GiveBack(_chunk.TakeRest(_chunk.Position));
        }
    }

    /// <summary>Continues with what the worker was waiting for.</summary>
    private StepResult Continue()
    {
        Wait ended = Waiting;
        Waiting = Wait.None;
        switch (ended)
        {
            case Wait.Call:
                return FinishCall();
            case Wait.Claim:
                try
                {
                    return Claimed(run.Source.FinishClaim(ref _chunk));
                }
                catch (Exception e)
                {
                    run.SourceFailed(e);
                    return StepResult.Ready;
                }

            case Wait.Task or Wait.Decision or Wait.Discard:
                return EndWaitAround(ended);
            case Wait.Failure:
                var failure = (Exception)Awaited!;
                Awaited = null;
                return Fail(Index, ItemStatus.Failed, failure);
            case Wait.Handover:
                ItemGuard guard = Guard!;
                return guard.TryTakeHanded() ? Fail(Index, ItemStatus.TimedOut, guard.TakeHandedError()) : LeaveAsOrphan();
            default:
                return StepResult.Ready;
        }
    }

    private StepResult FinishCall()
    {
        long index = Index;
        TPending pending = _pending;
        _pending = default;
        ItemGuard? guard = Guard;
        bool isMine = guard is null || guard.TryEndWait();
        try
        {
            TResult result = pending.GetResult();
            if (isMine)
            {
                guard?.Meter?.Resume(failed: false);
                run.Sink.Succeeded(index, result);
                _succeeded++;
                return StepResult.Ready;
            }

            DiscardedResult.Drop(_item, result);
        }
        catch (Exception e)
        {
            if (isMine)
            {
                guard?.Meter?.Resume(failed: true);
                return Fail(index, ItemStatus.Failed, e);
            }

            run.Recovery?.Discard(e, index);
        }

        return LeaveAsOrphan();
    }

    /// <summary>Gets the next items, or finds that there is nothing to do.</summary>
    private StepResult Claim()
    {
        while (true)
        {
            if (run.IsOver || run.HasTooMany)
            {
                if (TryLeave(run.IsOver ? LeaveReason.Exhausted : LeaveReason.TooMany))
                {
                    return StepResult.Left;
                }

                continue;
            }

            // If nothing is left to claim, the worker leaves instead: a finished call must not queue just to find that out.
            if (_pace.Left <= 0 && !_pace.Measure(run, run.Settings.Executor.Quantum, run.TakesTurns) && run.Source.MayHaveMore)
            {
                if (!run.KeepsThread)
                {
                    StopsExecuting();
                    TellParked();
                    run.Requeue(this);
                    return StepResult.Left;
                }

                _pace.Measure(run, run.Settings.Executor.Quantum, run.TakesTurns);
            }

            try
            {
                Reads = true;
                ClaimResult result = run.Source.TryClaim(ref _chunk, _pace.Left, run.Ceiling);
                Reads = false;
                StepResult done = Claimed(result);
                if (done != StepResult.Ready || !_chunk.IsEmpty)
                {
                    return done;
                }
            }
            catch (Exception e)
            {
                Reads = false;
                run.SourceFailed(e);
            }
        }
    }

    private StepResult Claimed(ClaimResult result)
    {
        switch (result)
        {
            case ClaimResult.Claimed:
                // A reader that has given up the turn counts against the limit again, and another worker may have come while it read.
                if (run.Orders is { } orders ? !run.TryBegin(orders, isNew: _chunk.Repetition is null) : run.TakesTurns && run.HasTooMany)
                {
                    run.Source.GiveBack(_chunk.TakeRest(0));
                    return StepResult.Ready;
                }

                _claims++;
                _pace.Left -= _chunk.Count;
                if (_chunk.Repetition is { } repetition)
                {
                    run.WaitEnds(repetition.Kind, repetition.Since, repetition.First);
                }

                if (_helper)
                {
                    _helper = false;
                    run.RecordHelp(useful: true);
                    run.BringNext();
                }

                if (run.TakesTurns)
                {
                    TurnWasGivenUp();
                }

                return run.Resume(_chunk.FirstIndex + _chunk.Count) is { } resumed ? CallPauseHook(resumed) : StepResult.Ready;

            case ClaimResult.Pending:
                return WaitForSource();

            case ClaimResult.Busy:
                return run.WaitingReaders.WaitFor(run.Source, run) ? StepResult.Ready : Leave(_helper ? LeaveReason.Busy : LeaveReason.WaitsForTurn);

            case ClaimResult.Throttled:
                if (WaitsForRoom())
                {
                    return StepResult.Ready;
                }

                return run.Pause() is { } paused ? CallPauseHook(paused) : Leave(LeaveReason.Throttled);

            case ClaimResult.Paused:
                return Leave(LeaveReason.Paused);

            default:
                return Leave(LeaveReason.Exhausted);
        }
    }

    /// <summary>Whether the worker runs so many items before it does anything else that a chunk of its own is worthwhile for their results.</summary>
    private bool HasSeveral(int count) => _results is not null || count >= ResultChunk.Several || _pace.Left >= ResultChunk.Several;

    /// <summary>Whether the consumer of a stream makes room at once.</summary>
    private bool WaitsForRoom()
    {
        if (!run.Sink.HasChunks || run.Settings.Executor.RunsForConsumerHere || run.HasFailed || !_pace.ForRoom.TryUse())
        {
            return false;
        }

        bool hasRoom = run.Sink.WaitForRoom(run.Source.NextIndex);
        _pace.ForRoom.Waited(hasRoom);
        return hasRoom;
    }

    private StepResult Leave(LeaveReason reason)
    {
        if (_helper && reason == LeaveReason.Busy)
        {
            run.RecordHelp(useful: false);
        }

        return TryLeave(reason) ? StepResult.Left : StepResult.Ready;
    }

    private bool TryLeave(LeaveReason reason)
    {
        // Another thread that takes this worker from the idle list must find it as if it were new.
        run.Source.Release(ref _chunk);
        Forget();
        if (reason != LeaveReason.Throttled || !run.IsAlone)
        {
            // A worker that is alone comes back to go on with what it did.
            _pace.Reset();
        }

        _pace.Left = 0;
        _helper = true;
        StopsExecuting();
        TellParked();
        if (run.TryLeave(this, reason))
        {
            return true;
        }

        // If this were not reset, the stall watch would not see that the worker's next item blocks.
        StartsExecuting();
        return false;
    }

    /// <summary>From here to the end of the item, another worker may read, so this is the moment to call one.</summary>
    private void TurnWasGivenUp()
    {
        if (run.WaitingReaders.Any)
        {
            run.CallWaitingForTurn();
        }

        if (_pace.IsSampling)
        {
            _pace.Sample(run, _chunk.Count);
        }
    }

    /// <summary>Waits for the step of the source that the worker started.</summary>
    private StepResult WaitForSource()
    {
        Waiting = Wait.Claim;

        // The next item may be long in coming.
        run.Source.Release(ref _chunk);
        Forget();
        StopsExecuting();
        try
        {
            run.Source.OnReady(Continuation);
            return StepResult.Waits;
        }
        catch (Exception e)
        {
            // No continuation will come, so this thread continues.
            Waiting = Wait.None;
            StartsExecuting();
            run.SourceFailed(e);
            return StepResult.Ready;
        }
    }

    /// <summary>Remembers the item, with what it brought along.</summary>
    private void Remember(TItem item) => (_item, _repetition) = (item, _chunk.Repetition);

    /// <summary>The item has ended, or waits without a worker.</summary>
    private void Forget() => (_item, _repetition) = (default, null);

    /// <summary>Remembers an item of the chunk, unless its list has shrunk. In that case the run has ended, and the item gets no further attempt.</summary>
    private void RememberAt(int position)
    {
        try
        {
            Remember(_chunk.Items[position]);
        }
        catch (InvalidOperationException changed)
        {
            run.SourceFailed(changed);
        }
    }

    protected override Repetition? Repetition => _repetition;

    /// <summary>When the running item's own time limit passes.</summary>
    private long ItemDeadline => Guard?.Clock.ItemDeadline ?? ItemClock.Never;

    /// <summary>Runs the claimed items one after the other, as long as they complete synchronously.</summary>
    private StepResult RunChunk()
    {
        int started = _chunk.Position;
        try
        {
            return RunItems();
        }
        catch (Exception e)
        {
            int position = Math.Max(_at, started);
            LeaveItems();
            _succeeded += position - started;
            if (run.Recovery is not null)
            {
                RememberAt(position);
            }

            _chunk.Position = position + 1;
            return Fail(_chunk.FirstIndex + position, ItemStatus.Failed, e);
        }
    }

    /// <summary>
    /// The innermost loop. It has no exception handler, because then the position would live in memory and its increment
    /// would cost more than everything else. Instead, the position is stored once per item and never loaded.
    /// </summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private StepResult RunItems()
    {
        Pump<TItem, TResult, TPending, TCall, TSink> pump = run;
        if (pump.IsOver)
        {
            GiveBackClaimed();
            return StepResult.Ready;
        }

        ReadOnlySpan<TItem> items = _chunk.Items;
        long first = _chunk.FirstIndex;
        TCall call = pump.Call;
        TSink sink = pump.Sink;
        CancellationToken token = pump.Token;
        bool isFirst = _chunk.Repetition is null;
        int position = _chunk.Position;
        int started = position;
        TPending place = default;
        Span<TResult> slots = sink.HasSlots ? sink.Slots(first, items.Length) : default;
        ResultChunk? results = null;
        if (sink.HasChunks && HasSeveral(items.Length - position))
        {
            items = items[..(position + sink.Open(ref _results, first + position, items.Length - position))];
            results = _results;
        }

        for (; position < items.Length; position++)
        {
            Volatile.Write(ref _at, position);
            if (Volatile.Read(ref _look) != 0)
            {
                // Then comes back, for the items that are still its own.
                break;
            }

            // In a local, and stored only if it has not completed: a store to the heap costs a write barrier per item.
            TPending pending;
            if (call.UsesInvokeInto)
            {
                call.InvokeInto(items[position], first + position, isFirst, token, ref place);
                if (place.IsCompletedSuccessfully)
                {
                    if (sink.HasSlots)
                    {
                        slots[position] = place.GetResult();
                    }
                    else if (sink.HasChunks && results is not null)
                    {
                        sink.Store(results, first + position, place.GetResult());
                    }
                    else
                    {
                        sink.Succeeded(first + position, place.GetResult());
                    }

                    continue;
                }

                pending = place;
            }
            else
            {
                pending = call.Invoke(items[position], first + position, isFirst, token);
            }

            if (!pending.IsCompleted)
            {
                LeaveItems();
                _succeeded += position - started;
                _chunk.Position = position + 1;
                if (pump.Recovery is not null)
                {
                    Remember(items[position]);
                }

                return Suspend(pending, first + position);
            }

            if (pending.Until is { } until)
            {
                LeaveItems();
                _succeeded += position - started;
                Remember(items[position]);
                _chunk.Position = position + 1;
                return Postpone(first + position, until, pending.WaitsFor);
            }

            if (sink.HasSlots)
            {
                slots[position] = pending.GetResult();
            }
            else if (sink.HasChunks && results is not null)
            {
                sink.Store(results, first + position, pending.GetResult());
            }
            else
            {
                sink.Succeeded(first + position, pending.GetResult());
            }
        }

        LeaveItems();
        _succeeded += position - started;
        _chunk.Position = position;
        return StepResult.Ready;
    }

    /// <summary>Nobody else touches the chunk after this, and it no longer has the items that the watch has taken.</summary>
    private void LeaveItems()
    {
        Volatile.Write(ref _at, Outside);
        if (Volatile.Read(ref _look) != 0)
        {
            AnswerWatch();
        }
    }

    private void AnswerWatch()
    {
        SpinWait spin = default;
        while (true)
        {
            int look = Volatile.Read(ref _look);
            if (look != Taking && Interlocked.CompareExchange(ref _look, 0, look) == look)
            {
                return;
            }

            // It takes no longer than it takes to give back some items.
            spin.SpinOnce();
        }
    }

    public override void LookBeforeNext() => Interlocked.Or(ref _look, Look);

    /// <summary>
    /// Called by the stall watch at each look, in a run whose items cannot be given up. If the item has not ended since the last look, other workers get what this
    /// one has claimed beyond it. Guarded workers do the same by the word of their item.
    /// </summary>
    /// <remarks>
    /// A worker writes its position for each item and then reads whether the watch asks. It has no fence between the two, which would cost more than the item, so
    /// the watch makes one for all threads after it has asked. If the position is the old one even after that, the worker will see that it is asked when it next
    /// writes its position, and touches the chunk only after it has answered (LeaveItems). Whichever of both comes first with the word is right: the worker that
    /// takes the question back, or the watch that takes the items. Without the fence, the worker could run an item that the watch has just taken.
    /// </remarks>
    /// <returns>Whether there are now more items to claim.</returns>
    public override bool Share()
    {
        long claims = Volatile.Read(ref _claims);
        int at = Volatile.Read(ref _at);
        ushort seen = unchecked((ushort)(((int)claims * 509) + at));
        bool lasts = at >= 0 && seen == _seen;
        _seen = seen;
        int look = Volatile.Read(ref _look);
        if (!lasts || at + 1 >= Volatile.Read(ref _chunk.Count) || look > Asked || Interlocked.CompareExchange(ref _look, Asked, look) != look)
        {
            return false;
        }

        Interlocked.MemoryBarrierProcessWide();
        if (Volatile.Read(ref _at) != at || Volatile.Read(ref _claims) != claims || Interlocked.CompareExchange(ref _look, Taking, Asked) != Asked)
        {
            return false;
        }

        try
        {
            FaultPoint.Pass("PumpWorker.Share", run);
            Chunk<TItem> rest = _chunk;
            rest = rest.TakeRest(at + 1);
            if (run.TakesTurns)
            {
                // The worker keeps its array, for the next items.
                rest.SetArray(rest.Items.ToArray(), 0, rest.Count, rest.FirstIndex);
            }

            bool shares = rest.Count > 0;
            run.Source.GiveBack(rest);
            _chunk.Count = at + 1;
            return shares;
        }
        finally
        {
            Volatile.Write(ref _look, Taken);
        }
    }

    /// <summary>
    /// As <see cref="RunGuardedChunk"/>, where no item has a limit or an attempt of its own. The exception handler is outside of the loop, for the reason that
    /// <see cref="RunItems"/> gives.
    /// </summary>
    private StepResult RunGuardedPlainChunk(ItemGuard guard)
    {
        try
        {
            return RunGuardedItems(guard);
        }
        catch (Exception e) when (guard.IsInsideCall)
        {
            // Only what the call throws. What comes before and behind it runs while the worker has no item, and is the engine's own.
            return guard.TryEndCall(ItemWord.In(guard.Word, ItemWord.InCall)) ? Fail(Index, ItemStatus.Failed, e) : StepResult.Left;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private StepResult RunGuardedItems(ItemGuard guard)
    {
        Pump<TItem, TResult, TPending, TCall, TSink> pump = run;
        ReadOnlySpan<TItem> items = _chunk.Items;
        long first = _chunk.FirstIndex;
        TCall call = pump.Call;
        TSink sink = pump.Sink;
        CancellationToken token = pump.Token;
        bool isFirst = _chunk.Repetition is null;
        int position = _chunk.Position;
        int count = items.Length;
        ResultChunk? results = null;
        if (sink.HasChunks && HasSeveral(count - position))
        {
            count = position + sink.Open(ref _results, first + position, count - position);
            results = _results;
        }

        while (position < count)
        {
            if (pump.IsOver)
            {
                pump.Source.GiveBack(_chunk.TakeRest(position));
                return StepResult.Ready;
            }

            TItem item = items[position];
            long index = first + position;
            position++;
            Index = index;
            _chunk.Position = position;
            long inCall = guard.Begin();
            TPending pending = call.Invoke(item, index, isFirst, token);
            if (!pending.IsCompleted)
            {
                // Inside the call still, because it may run code of the user.
                pending.BecomeTask();
                return pump.Parks ? Park(pending, inCall) : WaitForCall(pending, inCall);
            }

            TResult result = pending.GetResult();
            if (!guard.TryEndAtOnce(inCall))
            {
                if (!guard.TryMoveOn(inCall, ItemWord.Idle))
                {
                    // Its result needs no disposal: where it may, the worker keeps the item, and is not here.
                    return StepResult.Left;
                }

                // The items behind this one may be another worker's now.
                count = Math.Min(count, _chunk.Count);
            }

            if (sink.HasChunks && results is not null)
            {
                sink.Store(results, index, result);
            }
            else
            {
                sink.Succeeded(index, result);
            }

            _succeeded++;
        }

        return StepResult.Ready;
    }

    private StepResult RunMeasuredChunk(ItemGuard guard, ItemMeter meter)
    {
        meter.Begin(_succeeded + _unsuccessful);
        StepResult done = RunGuardedChunk(guard);
        if (done == StepResult.Ready)
        {
            // Otherwise the worker may be running on another thread.
            meter.End(_succeeded + _unsuccessful);
        }

        return done;
    }

    private StepResult RunGuardedChunk(ItemGuard guard)
    {
        bool timed = run.IsTimed;
        guard.Host = run.Settings.Executor.CurrentHost;
        if (!timed && !run.KeepsItems && default(TPending).CanBeParked)
        {
            return RunGuardedPlainChunk(guard);
        }

        ReadOnlySpan<TItem> items = _chunk.Items;
        TCall call = run.Call;
        for (int position = _chunk.Position; position < _chunk.Count; position++)
        {
            if (run.IsOver)
            {
                run.Source.GiveBack(_chunk.TakeRest(position));
                return StepResult.Ready;
            }

            long index = _chunk.FirstIndex + position;
            Index = index;
            _chunk.Position = position + 1;
            if (run.KeepsItems)
            {
                Remember(items[position]);
            }

            if (timed && !guard.Clock.TryStart(run, this, _repetition))
            {
                return Fail(index, ItemStatus.TimedOut, run.ItemTimedOut(index));
            }

            CancellationToken token = timed ? guard.Clock.Stop!.Token : run.Token;
            long inCall = guard.Begin();
            TPending pending;
            TResult result = default!;
            Task? until = null;
            WaitKind kind = default;
            bool waits;
            try
            {
                pending = call.Invoke(items[position], index, _chunk.Repetition is null, token);
                waits = !pending.IsCompleted;
                if (waits)
                {
                    // Inside the call still, because it may run code of the user.
                    pending.BecomeTask();
                }
                else
                {
                    until = pending.Until;
                    kind = until is null ? default : pending.WaitsFor;
                    result = until is null ? pending.GetResult() : default!;
                }
            }
            catch (Exception e)
            {
                if (!guard.TryEndCall(inCall))
                {
                    run.Recovery?.Discard(e, index);
                    return StepResult.Left;
                }

                guard.SetDeadlineIfNotSet(inCall, run, _repetition);
                return Fail(index, ItemStatus.Failed, e);
            }

            if (waits)
            {
                return run.Parks ? Park(pending, inCall) : WaitForCall(pending, inCall);
            }

            if (!guard.TryEndCall(inCall))
            {
                if (until is not null)
                {
                    run.Recovery?.LeaveQueues(index);
                }
                else
                {
                    DiscardedResult.Drop(_item, result);
                }

                return StepResult.Left;
            }

            if (until is not null)
            {
                guard.SetDeadlineIfNotSet(inCall, run, _repetition);
                return Postpone(index, until, kind);
            }

            run.Sink.Succeeded(index, result);
            _succeeded++;
        }

        return StepResult.Ready;
    }

    /// <summary>A call of a run without guards has suspended.</summary>
    private StepResult Suspend(TPending pending, long index)
    {
        Index = index;
        try
        {
            pending.BecomeTask();
        }
        catch (Exception e)
        {
            return Fail(index, ItemStatus.Failed, e);
        }

        return run.Parks ? Park(pending, 0) : WaitForCall(pending, 0);
    }

    /// <summary>The worker waits for the call.</summary>
    /// <param name="pending">The call, which waits for a task.</param>
    /// <param name="inCall">The word of its item, in a guarded run.</param>
    private StepResult WaitForCall(TPending pending, long inCall)
    {
        ItemGuard? guard = Guard;
        Action? continuation = null;
        if (guard is not null)
        {
            if (!guard.TryMoveOn(inCall, ItemWord.Moving))
            {
                Observe(pending);
                return StepResult.Left;
            }

            guard.Meter?.Suspend(_succeeded + _unsuccessful);
            guard.SetDeadlineIfNotSet(inCall, run, _repetition);
            continuation = Continuation;
        }

        // Other workers run what comes after an item that takes long.
        GiveBackClaimed();
        _pending = pending;
        _pace.Reset();
        Waiting = Wait.Call;
        StopsExecuting();
        guard?.EndMoving(inCall, ItemWord.Waiting);
        try
        {
            // From here on, the worker may be running on another thread.
            pending.OnCompleted(continuation ?? Continuation);
            return StepResult.Waits;
        }
        catch (Exception e)
        {
            // No continuation will come, so this thread continues.
            if (guard?.TryEndWait() == false)
            {
                return StepResult.Left;
            }

            guard?.Meter?.Resume(failed: true);
            Waiting = Wait.None;
            _pending = default;
            StartsExecuting();
            return Fail(Index, ItemStatus.Failed, e);
        }
    }

    /// <summary>The worker leaves the call to itself and goes on, see <see cref="ParkedCalls"/>. The item's deadline and token go with the call.</summary>
    /// <param name="pending">The call, which waits for a task.</param>
    /// <param name="inCall">The word of its item, in a guarded run.</param>
    private StepResult Park(TPending pending, long inCall)
    {
        // Before it touches its calls: whoever gives up the item hands them to the worker that replaces this one, and both would add to them.
        ItemGuard? guard = Guard;
        if (guard?.TryMoveOn(inCall, ItemWord.Moving) == false)
        {
            Observe(pending);
            return StepResult.Left;
        }

        ParkedCalls? parked = _parked;
        try
        {
            guard?.SetDeadlineIfNotSet(inCall, run, _repetition);
            FaultPoint.Pass("PumpWorker.Park", run);
            if (parked?.HasSlotFor(Index) != true)
            {
                parked = new ParkedCalls(run, Index, before: parked);
                Volatile.Write(ref _parked, parked);
            }
        }
        catch (Exception e)
        {
            // No memory, or a clock of the user. The item is still the worker's own.
            guard?.EndMoving(inCall, ItemWord.Idle);
            return Fail(Index, ItemStatus.Failed, e);
        }

        _pace.Reset();
        if (guard is not null)
        {
            parked.Guard(Index, guard.Clock.Deadline, guard.Clock.Stop);
            guard.EndMoving(inCall, ItemWord.Idle);
        }

        _untold++;
        if (parked.TryWait(Index, pending.AsTask(), out Exception? error))
        {
            return StepResult.Ready;
        }

        _untold--;
        return Fail(Index, ItemStatus.Failed, error!);
    }

    public override void TellParked()
    {
        if (_untold > 0)
        {
            run.AddParked(_untold);
            _untold = 0;
        }
    }

    /// <summary>Records the failure of a parked call on the current thread, and then works on.</summary>
    public void FailParked(long index, Exception error, bool isOnOwnThread)
    {
        Index = index;
        Awaited = error;
        Waiting = Wait.Failure;
        try
        {
            Work(isOnOwnThread);
        }
        catch (Exception e)
        {
            Lost(e);
        }
    }

    public override void AbandonParked(ItemStatus status, Exception? error, ref int abandoned)
    {
        for (ParkedCalls? parked = Volatile.Read(ref _parked); parked is not null; parked = parked.Before)
        {
            parked.Abandon(status, error, ref abandoned);
        }
    }

    protected override TimeSpan CheckParked(TimeSpan left)
    {
        FaultPoint.Pass("PumpWorker.CheckParkedDeadlines", run);
        for (ParkedCalls? parked = Volatile.Read(ref _parked); parked is not null; parked = parked.Before)
        {
            left = parked.CheckDeadlines(left);
        }

        return left;
    }
}

/// <summary>
/// How many items a worker takes before it reads the clock again: one at first and after each suspension, twice as many each time
/// they were quick, so that neither the clock nor the claim costs anything when items are tiny.
/// </summary>
internal struct WorkerPace
{
    private const int Most = 256;
    private static readonly long Quick = Stopwatch.Frequency / 200_000;
    private static readonly long Slow = Stopwatch.Frequency / 50_000;

    private long _driveStarted;
    private long _sliceStarted;
    private float _reading;
    private float _work;
    private int _size;

    /// <summary>The number of items until the next reading of the clock.</summary>
    public int Left;

    /// <summary>Whether the first item since the last look has yet to be read, which <see cref="Sample"/> times.</summary>
    public bool IsSampling;

    /// <summary>Whether to wait on the thread for the consumer of a stream, who has to make room.</summary>
    public Patience ForRoom;

    /// <summary>Starts again after a suspension: one item, without reading the clock.</summary>
    public void Reset()
    {
        _driveStarted = 0;
        _sliceStarted = 0;
        _size = 1;
        Left = 1;
        IsSampling = false;
    }

    /// <summary>
    /// Records how long it took to read the items that come now, and asks for help with what comes after them, which no worker is reading any more.
    /// </summary>
    public void Sample(Pump run, int count)
    {
        IsSampling = false;
        long now = Stopwatch.GetTimestamp();
        _reading = (float)(now - _sliceStarted) / count;

        // The duration of the very first item's work is not known yet. If it took long to arrive, the next item may as well be read meanwhile.
        float work = _work == 0 && run.NextIndex <= 1 ? _reading : _work;
        if (work > 0)
        {
            run.ConsiderHelp(_driveStarted, now, work);
        }
    }

    /// <summary>Reads the clock and decides how many items come next.</summary>
    /// <param name="run">The run.</param>
    /// <param name="quantum">How long a worker may have a thread, in Stopwatch ticks.</param>
    /// <param name="takesTurns">Whether asking for help makes sense only after the next item has been read.</param>
    /// <returns>Whether the worker may continue; if not, it has had the thread for long enough.</returns>
    public bool Measure(Pump run, long quantum, bool takesTurns)
    {
        if (quantum == long.MaxValue && run.IsAlone)
        {
            // Nobody waits for the thread or for an item, so the clock has nothing to say.
            _size = Math.Clamp(_size * 2, 1, Most);
            Left = _size;
            return true;
        }

        long now = Stopwatch.GetTimestamp();
        if (_driveStarted == 0)
        {
            _driveStarted = now;
            _size = Math.Max(1, _size);
            _work = 0;
        }
        else if (_sliceStarted != 0)
        {
            long took = now - _sliceStarted;
            if (takesTurns)
            {
                _work = Math.Max(0, ((float)took / _size) - _reading);
                run.NoteItems(_work);
            }
            else
            {
                run.ConsiderHelp(_driveStarted, now, (double)took / _size);
            }

            if (run.Orders is not null)
            {
                // One item at a time: what has been claimed begins.
            }
            else if (took < Quick)
            {
                _size = Math.Min(Most, _size * 2);
            }
            else if (took > Slow)
            {
                _size = Math.Max(1, _size / 2);
            }
        }

        _sliceStarted = now;
        _reading = 0;
        IsSampling = takesTurns;
        Left = _size;
        if (now - _driveStarted > quantum)
        {
            Reset();
            Left = 0;
            return false;
        }

        return true;
    }
}
