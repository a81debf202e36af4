using System.Diagnostics;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Core.Dispatch;

/// <summary>The worker of a run: it claims, calls and delivers, in a loop.</summary>
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>(Pump<TItem, TResult, TPending, TCall, TSink> run)
    : PumpWorker(run.IsGuarded ? new ItemGuard(run.Settings.Pilot) : null)
    where TPending : struct, IPending<TResult>
    where TCall : struct, ICall<TItem, TPending>
    where TSink : struct, ISink<TResult>
{
    private Chunk<TItem> _chunk;
    private WorkerPace _pace;

    // Of the item whose call is running, if the run may need the item again.
    private HeldItem<TItem> _held;

    // The call that the worker waits for, and those that no worker waits for.
    private TPending _pending;
    private ParkedCalls? _parked;

    // How many calls the worker has parked and not yet told the run.
    private int _untold;

    private long _claims;
    private long _succeeded;
    private long _unsuccessful;
    private int _retries;
    private bool _helper = true;

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

            DiscardedResult.Drop(_held.Item, result);
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
                return run.Pause() is { } paused ? CallPauseHook(paused) : Leave(LeaveReason.Throttled);

            case ClaimResult.Paused:
                return Leave(LeaveReason.Paused);

            default:
                return Leave(LeaveReason.Exhausted);
        }
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
        _held = default;
        _pace.Reset();
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
            _pace.Sample(run);
        }
    }

    /// <summary>Waits for the step of the source that the worker started.</summary>
    private StepResult WaitForSource()
    {
        Waiting = Wait.Claim;

        // The next item may be long in coming.
        run.Source.Release(ref _chunk);
        _held = default;
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
            guard?.SetDeadlineIfNotSet(inCall, run, _held.Repetition);
            FaultPoint.Pass("PumpWorker.Park", run);
            if (parked?.HasPlaceFor(Index) != true)
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
}
