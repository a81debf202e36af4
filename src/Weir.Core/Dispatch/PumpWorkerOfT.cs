using System.Diagnostics;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Core.Dispatch;

/// <summary>The worker of a run: it claims, calls and delivers, in a loop.</summary>
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>(Pump<TItem, TResult, TPending, TCall, TSink> run) : PumpWorker
    where TPending : struct, IPending<TResult>
    where TCall : struct, ICall<TItem, TPending>
    where TSink : struct, ISink<TResult>
{
    private Chunk<TItem> _chunk;
    private Pace _pace;
    private Wait _wait;

    // The call that the worker waits for, with its item's index; the task of a hook or of a decision, or the failure of a parked call.
    private TPending _pending;
    private long _index;
    private object? _awaited;

    private long _claims;
    private long _succeeded;
    private long _unsuccessful;
    private bool _helper = true;

    private enum Wait : byte
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

    private enum StepResult
    {
        /// <summary>The worker has more to do immediately.</summary>
        Ready = 0,

        /// <summary>The worker waits; its continuation now owns it.</summary>
        Waits,

        /// <summary>The worker left the run or was given up.</summary>
        Left,
    }

    public override long Claims => _claims;

    protected override Pump Run => run;

    public override void AddTo(ref RunSample sample)
    {
        sample.Succeeded += _succeeded;
        sample.Unsuccessful += _unsuccessful;
        sample.Retries += _retries;
        sample.InFlight += _parked?.Untold ?? 0;
        sample.InFlight +=
            (_guard is null ? _wait == Wait.Call || (IsExecuting && !Reads && _around == Around.Call) : _guard.IsInFlight && _around == Around.Call) ? 1 : 0;
    }

    public override void Forget()
    {
        NextCreated = null;
        NextIdle = null;
        Inside = null;
        _chunk = default;
        _item = default;
        _claims = 0;
        _succeeded = 0;
        _guard?.Forget();
    }

    public override void BeginAgain() => _guard = run.IsGuarded ? _guard ?? new ItemGuard() : null;

    protected override bool Step()
    {
        StepResult done = Continue();
        while (done == StepResult.Ready)
        {
            done = _chunk.IsEmpty ? Claim() : _guard is null ? RunChunk() : _guard.Meter is { } meter ? RunMeasuredChunk(meter) : RunGuardedChunk();
        }

        return done == StepResult.Waits;
    }

    protected override void DropClaimed()
    {
        StopsExecuting();
        TellParked();
        if (!_chunk.IsEmpty)
        {
            run.Source.GiveBack(_chunk.TakeRest(_chunk.Position));
        }
    }

    /// <summary>Continues with what the worker was waiting for.</summary>
    private StepResult Continue()
    {
        switch (_wait)
        {
            case Wait.Call:
                _wait = Wait.None;
                return run.IsGuarded ? FinishGuardedCall() : FinishCall();
            case Wait.Claim:
                _wait = Wait.None;
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
                Wait ended = _wait;
                _wait = Wait.None;
                return EndWaitAround(ended);
            case Wait.Failure:
                _wait = Wait.None;
                var failure = (Exception)_awaited!;
                _awaited = null;
                return Fail(_index, ItemStatus.Failed, failure);
            case Wait.Handover:
                _wait = Wait.None;
                return _guard!.TryTakeHanded() ? Fail(_index, ItemStatus.TimedOut, _guard.TakeHandedError()) : LeaveAsOrphan();
            default:
                return StepResult.Ready;
        }
    }

    private StepResult FinishCall()
    {
        long index = _index;
        TPending pending = _pending;
        _pending = default;
        try
        {
            run.Sink.Succeeded(index, pending.GetResult());
            _succeeded++;
            return StepResult.Ready;
        }
        catch (Exception e)
        {
            return Fail(index, ItemStatus.Failed, e);
        }
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
                if (run.Orders is { } orders && !run.TryBegin(orders, isNew: _chunk.Repetition is null))
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

            case ClaimResult.Lent:
                return Leave(LeaveReason.TooMany);

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
        ForgetItem();
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
            int position = _chunk.Position;
            _succeeded += position - started;
            if (run.Recovery is not null)
            {
                KeepAt(position);
            }

            _chunk.Position = position + 1;
            return Fail(_chunk.FirstIndex + position, ItemStatus.Failed, e);
        }
    }

    /// <summary>Lets other workers run what comes after an item that takes long.</summary>
    private void GiveBackFrom(int position)
    {
        if (position < _chunk.Count)
        {
            run.Source.GiveBack(_chunk.TakeRest(position));
        }
        else
        {
            _chunk.Position = position;
        }
    }

    private StepResult WaitForCall(int next)
    {
        if (run.Parks)
        {
            return ParkCall(next);
        }

        GiveBackFrom(next);
        return WaitForCall();
    }

    private StepResult WaitForCall()
    {
        _pace.Reset();
        _wait = Wait.Call;
        StopsExecuting();
        try
        {
            _pending.BecomeTask();

            // From here on, the worker may be running on another thread.
            _pending.OnCompleted(Continuation);
            return StepResult.Waits;
        }
        catch (Exception e)
        {
            // No continuation will come, so this thread continues.
            _wait = Wait.None;
            _pending = default;
            StartsExecuting();
            return Fail(_index, ItemStatus.Failed, e);
        }
    }
}
