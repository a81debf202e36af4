using Weir.Core.Metering;
using Weir.Core.Sources;

namespace Weir.Core.Dispatch;

/// <content>
/// What becomes of an item whose call failed: another attempt, a fallback result, or a failure. An item that waits for its next
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
        ValueTask<Recovery<TResult>> deciding = DecideAsync(recovery, call, replaces);
        if (deciding.IsCompletedSuccessfully)
        {
            Recovery<TResult> decision = deciding.Result;
            if (TryEndAround(word))
            {
                return Apply(decision, call, status);
            }

            DropLate(decision, _item);
            return StepResult.Left;
        }

        Deciding later = new(deciding.AsTask(), call, status);
        return WaitAround(later.Decision, later, word, Wait.Decision);
    }

    private static async ValueTask<Recovery<TResult>> DecideAsync(IRecovery<TResult> recovery, FailedCall call, bool replaces)
    {
        try
        {
            return replaces
                ? await recovery.ReplaceAsync(call).ConfigureAwait(false)
                : await recovery.DecideAsync(call).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            return Recovery<TResult>.Fail(e);
        }
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
        if (run.ItemFailed(index, error))
        {
            run.Stop();
        }

        if (late || run.Settings.OnError is not { } hook || !run.Failures.Reports(index, error))
        {
            return StepResult.Ready;
        }

        long word = BeginAround(Around.Hook, ItemGuard.Never);
        Task calling = CallErrorHook(hook, index, error);
        return WaitAround(calling, calling, word, Wait.Task);
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
            if (run.ItemFailed(index, e))
            {
                run.Stop();
            }
        }
    }

    /// <summary>A decision that takes a while.</summary>
    private sealed class Deciding(Task<Recovery<TResult>> decision, FailedCall call, ItemStatus status)
    {
        public Task<Recovery<TResult>> Decision => decision;

        public FailedCall Call => call;

        public ItemStatus Status => status;
    }
}
