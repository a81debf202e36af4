using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Core.Dispatch;

/// <content>
/// What becomes of an item whose call failed, and the user's code that runs around a call: hooks, fallbacks, and the functions that decide on another attempt.
/// Where items can be given up, so can this code, even if it never ends: it has a state of the worker's word, as a call has. An item that waits for its next
/// attempt holds no worker.
/// </content>
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>
{
    // For the item whose call is running, if the run has a recovery that may need the item again.
    private TItem? _item;
    private Repetition? _repetition;

    private int _retries;

    /// <summary>Remembers the item, together with its repetition.</summary>
    private void Keep(TItem item)
    {
        _item = item;
        _repetition = _chunk.Repetition;
    }

    /// <summary>The worker may wait for its next item for long, and keeps nothing of the last one.</summary>
    private void ForgetItem()
    {
        _item = default;
        _repetition = null;
    }

    /// <summary>Remembers an item of the chunk, unless its list has shrunk. In that case the run has ended, and the item gets no further attempt.</summary>
    private void KeepAt(int position)
    {
        try
        {
            Keep(_chunk.Items[position]);
        }
        catch (InvalidOperationException changed)
        {
            run.SourceFailed(changed);
        }
    }

    private StepResult Fail(long index, ItemStatus status, Exception error)
    {
        _index = index;
        bool over = run.IsOver;
        if (status == ItemStatus.Failed && run.Recovery?.HasTimedOut(error) == true)
        {
            status = ItemStatus.TimedOut;
        }

        if (over && status != ItemStatus.TimedOut)
        {
            // A reaction to our own cancellation, not an error.
            bool wasCalled = error is not NotBegunException && run.Recovery?.HasNotBegun(error) != true;
            if (!wasCalled || error is OperationCanceledException)
            {
                return Stopped(index, error, wasCalled);
            }
        }

        return run.Recovery is { } recovery && !over ? Recover(recovery, index, status, error) : Record(index, status, error);
    }

    /// <summary>Ends an item whose attempt ended because the run was stopped.</summary>
    private StepResult Stopped(long index, Exception error, bool wasCalled)
    {
        if (run.Recovery is { } recovery)
        {
            long word = BeginAround(Around.Recovery, ItemGuard.Never);
            if (recovery.Discard(error, index) is { } discarding)
            {
                return WaitAround(discarding, discarding, word, Wait.Discard);
            }

            if (!TryEndAround(word))
            {
                return StepResult.Left;
            }
        }

        EndAsStopped(index, wasCalled);
        return StepResult.Ready;
    }

    /// <summary>Asks what becomes of an item whose attempt has failed.</summary>
    private StepResult Recover(IRecovery<TResult> recovery, long index, ItemStatus status, Exception error)
    {
        int attempt = (_repetition?.Attempts ?? 0) + 1;
        bool isFinal = run.Settings.TimeProvider.GetTimestamp() >= ItemDeadline;
        FailedCall call = new(
            index, attempt, error, _repetition?.Delay ?? TimeSpan.Zero, isFinal, _guard?.Stop is { } stop ? stop.Token : run.Token);
        return Decide(recovery, call, status, replaces: false);
    }

    private StepResult Decide(IRecovery<TResult> recovery, in FailedCall call, ItemStatus status, bool replaces)
    {
        // An item whose time is up has nothing left but its fallback, which has no limit but that of the run.
        long word = BeginAround(Around.Recovery, replaces || call.IsFinal ? ItemGuard.Never : ItemDeadline);
        ValueTask<Recovery<TResult>> deciding = Recovery<TResult>.AskAsync(recovery, call, replaces);
        if (deciding.IsCompletedSuccessfully)
        {
            Recovery<TResult> decision = deciding.Result;
            if (TryEndAround(word))
            {
                return Apply(decision, call, status);
            }

            decision.Drop(_item);
            return StepResult.Left;
        }

        Deciding later = new(deciding.AsTask(), call, status);
        return WaitAround(later.Decision, later, word, Wait.Decision);
    }

    private StepResult Apply(in Recovery<TResult> decision, in FailedCall call, ItemStatus status)
    {
        try
        {
            if (decision.Kind == RecoveryKind.Replace && !run.IsOver)
            {
                return Decide(run.Recovery!, call, status, replaces: true);
            }

            if (decision.Kind is RecoveryKind.Fail or RecoveryKind.Replace)
            {
                ForgetItem();
                return decision.Error is null ? Record(call.Index, status, call.Error) : Record(call.Index, ItemStatus.Failed, decision.Error);
            }

            GoOn(decision, call.Index);
        }
        catch (Exception e)
        {
            // No user code runs here.
            run.EngineFailed(e);
        }

        ForgetItem();
        return StepResult.Ready;
    }

    /// <summary>The item ends with a result after all, or comes back.</summary>
    private void GoOn(in Recovery<TResult> decision, long index)
    {
        switch (decision.Kind)
        {
            case RecoveryKind.Succeed:
                run.Sink.Succeeded(index, decision.Result!);
                _succeeded++;
                break;

            case RecoveryKind.Wait:
                KeepUntil(decision.Until!, decision.WaitsFor, index);
                break;

            default:
                TimeProvider time = run.Settings.TimeProvider;
                bool wasCalled = decision.Kind == RecoveryKind.Retry;
                int made = (_repetition?.Attempts ?? 0) + (wasCalled ? 1 : 0);
                _retries += wasCalled ? 1 : 0;
                WaitKind kind = wasCalled ? WaitKind.Retry : WaitKind.CircuitBreaker;
                long now = time.GetTimestamp();
                long due = now + (long)(decision.Delay.TotalSeconds * time.TimestampFrequency);
                Repetition next = new(made, decision.Delay, ItemDeadline, kind, now, before: wasCalled ? null : _repetition);
                if (!run.TryDelay(_item!, index, next, Math.Min(due, ItemDeadline), decision.Until))
                {
                    EndAsStopped(index, wasCalled);
                }

                break;
        }
    }

    /// <summary>The call of the kept item could not begin: the item waits, with its clock stopped, and another begins.</summary>
    private StepResult Postpone(long index, Task until, WaitKind kind)
    {
        try
        {
            if (run.IsOver)
            {
                EndAsStopped(index, wasCalled: false);
            }
            else
            {
                KeepUntil(until, kind, index);
            }
        }
        catch (Exception e)
        {
            // No user code runs here.
            run.EngineFailed(e);
        }

        ForgetItem();
        return StepResult.Ready;
    }

    private void KeepUntil(Task until, WaitKind kind, long index)
    {
        long since = run.Settings.TimeProvider.GetTimestamp();
        long left = ItemDeadline == long.MaxValue ? long.MaxValue : Math.Max(0, ItemDeadline - since);
        Repetition same = new(_repetition?.Attempts ?? 0, _repetition?.Delay ?? TimeSpan.Zero, left, kind, since, stopped: true, before: _repetition);
        if (!run.TryDelay(_item!, index, same, long.MaxValue, until))
        {
            EndAsStopped(index, wasCalled: false);
        }
    }

    /// <summary>Records an item that ended because the run was stopped.</summary>
    /// <param name="index">Its index.</param>
    /// <param name="wasCalled">Whether its last attempt made its call. An item that never made one has not run, and stays in the source.</param>
    private void EndAsStopped(long index, bool wasCalled)
    {
        if (!wasCalled && _repetition is not { Attempts: > 0 })
        {
            run.Source.Lose(index, 1);
            return;
        }

        // Before the item counts as unsuccessful: whoever reads meanwhile must not take it for a failed one.
        run.CountStopped();
        _unsuccessful++;
        run.Sink.Unsuccessful(index, run.StoppedAs, run.StoppedError);
    }

    /// <summary>Records an item that ended without a result, and calls the hook for it.</summary>
    private StepResult Record(long index, ItemStatus status, Exception error)
    {
        if (status == ItemStatus.TimedOut)
        {
            run.CountTimedOut();
        }

        _unsuccessful++;

        // Read before the failure is kept. If several items fail at once, the hook gets the failure that is thrown, whichever of them stops the run.
        bool late = run.IsOver;
        run.Sink.Unsuccessful(index, status, error);
        run.ItemFailed(index, error);

        if (late || run.Settings.OnError is not { } hook || !run.Failures.Reports(index, error))
        {
            return StepResult.Ready;
        }

        long word = BeginAround(Around.Hook, ItemGuard.Never);
        return WaitForHook(CallErrorHook(hook, index, error), word);
    }

    private async Task CallErrorHook(Func<long, Exception, ValueTask<bool>> hook, long index, Exception error)
    {
        try
        {
            if (!await hook(index, error).ConfigureAwait(false))
            {
                run.Stop();
            }
        }
        catch (Exception e)
        {
            run.ItemFailed(index, e);
        }
    }

    /// <summary>A decision that takes a while.</summary>
    private sealed record Deciding(Task<Recovery<TResult>> Decision, FailedCall Call, ItemStatus Status);

    // Where the worker's user code is. Set before the word, and reset after it, so that a thread that gives up the worker finds what it gives up.
    private Around _around;

    private enum Around : byte
    {
        /// <summary>In the call, or nowhere.</summary>
        Call = 0,

        /// <summary>In what decides about an item whose attempt has ended. The item has no outcome yet.</summary>
        Recovery,

        /// <summary>In a hook for an item that has its outcome, or for none.</summary>
        Hook,
    }

    /// <summary>User code begins. <see cref="TryEndAround(long)"/> or <see cref="WaitAround"/> follows.</summary>
    /// <param name="around">Where it is.</param>
    /// <param name="deadline">When the item is given up, if it has not left by then.</param>
    /// <returns>The worker's word meanwhile, in a guarded run.</returns>
    private long BeginAround(Around around, long deadline)
    {
        _around = around;
        if (!run.IsGuarded)
        {
            return 0;
        }

        ItemGuard guard = _guard!;
        guard.Host = run.Settings.Executor.CurrentHost;
        Volatile.Write(ref guard.Deadline, deadline);
        return guard.Begin();
    }

    /// <summary>User code has ended on this thread.</summary>
    /// <returns>False if the worker was given up meanwhile: it is an orphan.</returns>
    private bool TryEndAround(long word)
    {
        if (run.IsGuarded && !_guard!.TryEndCall(word))
        {
            return false;
        }

        _around = Around.Call;
        return true;
    }

    /// <summary>Waits for user code, unless it has ended.</summary>
    /// <param name="task">Its end. An exception from it is the engine's own fault and ends the run.</param>
    /// <param name="awaited">What is needed to go on.</param>
    /// <param name="word">The worker's word.</param>
    /// <param name="then">What comes then.</param>
    private StepResult WaitAround(Task task, object awaited, long word, Wait then)
    {
        _awaited = awaited;
        if (task.IsCompleted)
        {
            return TryEndAround(word) ? GoOnAround(then) : LeaveAround(awaited);
        }

        _wait = then;
        StopsExecuting();
        if (run.IsGuarded && !_guard!.TryMoveOn(word, ItemWord.Waiting))
        {
            return LeaveAround(awaited);
        }

        // From here on, the worker may be running on another thread.
        task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(Continuation);
        return StepResult.Waits;
    }

    /// <summary>What the worker waited for has ended.</summary>
    private StepResult EndWaitAround(Wait then)
    {
        if (run.IsGuarded && !_guard!.TryEndWait())
        {
            LeaveAround(_awaited!);
            return LeaveAsOrphan();
        }

        _around = Around.Call;
        return GoOnAround(then);
    }

    /// <summary>The item has its outcome already: a result that still comes for it is disposed of.</summary>
    private StepResult LeaveAround(object awaited)
    {
        if (DiscardedResult<TResult>.MayBeDisposable && awaited is Deciding deciding)
        {
            _ = Recovery<TResult>.DropAsync(deciding.Decision, _item);
        }

        return StepResult.Left;
    }

    private StepResult GoOnAround(Wait then)
    {
        object awaited = _awaited!;
        _awaited = null;
        switch (then)
        {
            case Wait.Decision:
                var deciding = (Deciding)awaited;
                return Apply(deciding.Decision.Result, deciding.Call, deciding.Status);
            case Wait.Discard:
                EndAsStopped(_index, wasCalled: true);
                return StepResult.Ready;
            default:
                // Exceptions from user code were caught, so only the engine itself can have failed. Then the run must not appear to have succeeded.
                if (((Task)awaited).Exception?.InnerException is { } error)
                {
                    run.EngineFailed(error);
                }

                return StepResult.Ready;
        }
    }

    /// <summary>Calls a hook for a pause, once those before it have ended.</summary>
    private StepResult CallPauseHook(Pump.PauseHook hook)
    {
        long word = BeginAround(Around.Hook, ItemGuard.Never);
        return WaitForHook(hook.RunAsync(), word);
    }

    private StepResult WaitForHook(Task hook, long word) => WaitAround(hook, hook, word, Wait.Task);
}
