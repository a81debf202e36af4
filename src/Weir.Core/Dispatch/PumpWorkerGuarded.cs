using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <content>
/// Items that can be given up while they run, because a time limit passed or their runtime ends, even if the call never returns.
/// <see cref="ItemGuard"/> says who decides about an item.
/// A worker whose item was given up is an orphan: it no longer touches the run, and another worker takes its place.
/// </content>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable",
    Justification = "The timer ends in Retire; the token source has no resources.")]
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>
{
    private ItemGuard? _guard = run.IsGuarded ? new ItemGuard(run.Settings.Pilot) : null;

    public override bool TryAbandon(ItemStatus status, Exception? error, out bool isOrphan)
    {
        ItemGuard guard = _guard!;
        long word = guard.SettledWord;
        isOrphan = ItemWord.StateOf(word) != ItemWord.Handed;
        switch (ItemWord.StateOf(word))
        {
            case ItemWord.InCall or ItemWord.Shared or ItemWord.Waiting when Detach(word):
                if (_around == Around.Hook)
                {
                    TellParked();
                    return true;
                }

                run.Sink.Unsuccessful(_index, status, error);
                break;
            case ItemWord.Handed when guard.TryLoseHanded():
                // It waits for a thread, which it may never get. Its item had already timed out.
                run.Sink.Unsuccessful(_index, ItemStatus.TimedOut, guard.TakeHandedError());
                break;
            default:
                return false;
        }

        if (status == ItemStatus.TimedOut || !isOrphan)
        {
            run.CountTimedOut();
        }

        _unsuccessful++;
        TellParked();
        return true;
    }

    public override bool ShareIfStuck(out bool isStuck)
    {
        isStuck = false;
        if (_guard is not { } guard)
        {
            return false;
        }

        long word = guard.Word;
        isStuck = guard.IsStuck(word);
        if (!guard.RecordSeen(word, run.SeesStarts ? run.Settings.TimeProvider.GetTimestamp() : 0) || ItemWord.StateOf(word) != ItemWord.InCall
            || _chunk.Remaining <= 0 || run.Orders is not null
            || !guard.TryShare(word))
        {
            return false;
        }

        // Given back before the worker can end its item and find nothing more to do.
        bool shares = !_chunk.IsEmpty;
        try
        {
            FaultPoint.Pass("PumpWorker.ShareIfStuck", run);
            run.Source.GiveBack(_chunk.TakeRest(_chunk.Position));
        }
        finally
        {
            // Also if there is no memory to give them back with, and the run fails: others wait for this.
            guard.EndSharing(word);
        }

        return shares;
    }

    private StepResult RunMeasuredChunk(ItemMeter meter)
    {
        meter.Begin(_succeeded + _unsuccessful);
        StepResult done = RunGuardedChunk();
        if (done == StepResult.Ready)
        {
            // Otherwise the worker may be running on another thread.
            meter.End(_succeeded + _unsuccessful);
        }

        return done;
    }

    private StepResult RunGuardedChunk()
    {
        bool timed = run.IsTimed;
        _guard!.Host = run.Settings.Executor.CurrentHost;
        if (!timed && !run.KeepsItems && default(TPending).CanBeParked)
        {
            return RunGuardedPlainChunk();
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
            _index = index;
            _chunk.Position = position + 1;
            if (run.KeepsItems)
            {
                Keep(items[position]);
            }

            if (timed && !TryStartClock())
            {
                return Fail(index, ItemStatus.TimedOut, run.ItemTimedOut(index));
            }

            CancellationToken token = timed ? _guard!.Stop!.Token : run.Token;
            long inCall = _guard!.Begin();
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
                if (!_guard!.TryEndCall(inCall))
                {
                    run.Recovery?.Discard(e, index);
                    return StepResult.Left;
                }

                SetDeadlineIfNotSet(inCall);
                return Fail(index, ItemStatus.Failed, e);
            }

            if (waits)
            {
                return run.Parks ? ParkGuardedCall(pending, inCall) : WaitForGuardedCall(pending, inCall);
            }

            if (!_guard!.TryEndCall(inCall))
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
                SetDeadlineIfNotSet(inCall);
                return Postpone(index, until, kind);
            }

            run.Sink.Succeeded(index, result);
            _succeeded++;
        }

        return StepResult.Ready;
    }

    private StepResult WaitForGuardedCall(TPending pending, long inCall)
    {
        if (!_guard!.TryMoveOn(inCall, ItemWord.Moving))
        {
            Observe(pending);
            return StepResult.Left;
        }

        _guard.Meter?.Suspend(_succeeded + _unsuccessful);
        SetDeadlineIfNotSet(inCall);
        GiveBackFrom(_chunk.Position);
        _pending = pending;
        _pace.Reset();
        _wait = Wait.Call;
        StopsExecuting();
        Action continuation = Continuation;
        _guard!.EndMoving(inCall, ItemWord.Waiting);
        try
        {
            pending.OnCompleted(continuation);
            return StepResult.Waits;
        }
        catch (Exception e)
        {
            // A task source of the user that cannot be waited for: no continuation will come, so this thread continues.
            if (!_guard!.TryEndWait())
            {
                return StepResult.Left;
            }

            _guard.Meter?.Resume(failed: true);
            _wait = Wait.None;
            _pending = default;
            StartsExecuting();
            return Fail(_index, ItemStatus.Failed, e);
        }
    }

    private StepResult FinishGuardedCall()
    {
        long index = _index;
        TPending pending = _pending;
        bool mine = _guard!.TryEndWait();
        TResult result;
        try
        {
            result = pending.GetResult();
        }
        catch (Exception e)
        {
            if (mine)
            {
                _guard.Meter?.Resume(failed: true);
                return Fail(index, ItemStatus.Failed, e);
            }

            run.Recovery?.Discard(e, index);
            return LeaveAsOrphan();
        }

        if (!mine)
        {
            DiscardedResult.Drop(_item, result);
            return LeaveAsOrphan();
        }

        _pending = default;
        _guard.Meter?.Resume(failed: false);
        run.Sink.Succeeded(index, result);
        _succeeded++;
        return StepResult.Ready;
    }

    private StepResult LeaveAsOrphan()
    {
        StopsExecuting();
        return StepResult.Left;
    }

    protected override bool TryEndBroken() => _guard?.TryEndBroken() ?? true;

    /// <summary>Observes the outcome of abandoned work, so that its exception does not count as unobserved, and discards it.</summary>
    private void Observe(TPending pending)
    {
        try
        {
            pending.OnCompleted(() =>
            {
                try
                {
                    DiscardedResult.Drop(_item, pending.GetResult());
                }
                catch (Exception e)
                {
                    // The item already has its outcome.
                    run.Recovery?.Discard(e, _index);
                }
            });
        }
        catch (Exception)
        {
            // There is no memory to observe it with.
        }
    }

    /// <summary>Takes the item from the worker, together with the items that the worker had claimed beyond it.</summary>
    private bool Detach(long word)
    {
        if (!_guard!.TryAbandon(word))
        {
            return false;
        }

        FaultPoint.Pass("PumpWorker.Detach", run);
        if (_around != Around.Hook)
        {
            // Before anything else learns of it: a hook or a wait of the item that ends just now sees its token, and makes no call.
            if (_guard!.Stop is { } stop)
            {
                SafeCancel.Later(stop);
            }

            run.Call.GivenUp(_item, _index);
            if (_around == Around.Call && ItemWord.StateOf(word) == ItemWord.Waiting)
            {
                _guard.Meter?.GiveUp();
            }
        }

        StopsExecuting();
        if (!_chunk.IsEmpty)
        {
            run.Source.GiveBack(_chunk.TakeRest(_chunk.Position));
        }

        if (ItemWord.StateOf(word) != ItemWord.Waiting && _guard!.Host is { } host)
        {
            run.Settings.Executor.ReplaceHost(host);
        }

        return true;
    }

    /// <summary>
    /// A worker that has to record an outcome could not be made, or not be queued. The run does not wait for it, unless somebody has given it up already.
    /// </summary>
    private void LoseHandedOver(PumpWorker<TItem, TResult, TPending, TCall, TSink>? worker, Exception error)
    {
        if (worker is null || worker._guard!.TryLoseHanded())
        {
            run.LoseOrphan(error);
        }
        else
        {
            run.EngineFailed(error);
        }
    }

    /// <summary>The worker, which is new, has to record the outcome of an item that was given up.</summary>
    private void HandOver(long index, Exception error)
    {
        _wait = Wait.Handover;
        _index = index;
        _guard!.HandOver(error);
    }
}
