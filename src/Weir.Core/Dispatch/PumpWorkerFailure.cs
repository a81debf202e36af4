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

    // A hint for whoever counts what is inside its call.
    private bool _handlesFailure;
    private int _retries;

    /// <summary>Remembers the item, together with its repetition.</summary>
    private void Keep(TItem item)
    {
        _item = item;
        _repetition = _chunk.Repetition;
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

    /// <summary>
    /// What the worker waited for has ended. It catches exceptions from user code, so only the engine itself can have failed in it. In that case the run must
    /// not appear to have succeeded.
    /// </summary>
    private StepResult EndTaskWait()
    {
        if (((Task)_awaited!).Exception?.InnerException is { } error)
        {
            run.EngineFailed(error);
        }

        _awaited = null;
        return StepResult.Ready;
    }

    private StepResult Fail(long index, ItemStatus status, Exception error)
    {
        bool over = run.IsOver;
        if (status == ItemStatus.Failed && run.Recovery?.HasTimedOut(error) == true)
        {
            status = ItemStatus.TimedOut;
        }

        if (over && error is OperationCanceledException && status != ItemStatus.TimedOut)
        {
            // A reaction to our own cancellation, not an error.
            if (run.Recovery?.Discard(error, index) is { } discarding)
            {
                return WaitForTask(EndAsStoppedAfterAsync(discarding, index));
            }

            EndAsStopped(index);
            return StepResult.Ready;
        }

        // The user's hooks and functions that run here, and may block, are not the item's call.
        _handlesFailure = true;
        Task? handling = run.Recovery is { } recovery && !over ? RecoverAsync(recovery, index, status, error) : RecordFailure(index, status, error);
        _handlesFailure = false;
        return handling is null ? StepResult.Ready : WaitForTask(handling);
    }

    private async Task RecoverAsync(IRecovery<TResult> recovery, long index, ItemStatus status, Exception error)
    {
        TimeProvider time = run.Settings.TimeProvider;
        int attempts = _repetition?.Attempts ?? 0;
        long deadline = ItemDeadline;
        Recovery<TResult> decision;
        try
        {
            decision = await recovery.DecideAsync(new FailedCall(
                index, attempts + 1, error, _repetition?.Delay ?? TimeSpan.Zero, time.GetTimestamp() >= deadline)).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            decision = Recovery<TResult>.Fail(e);
        }

        switch (decision.Kind)
        {
            case RecoveryKind.Succeed:
                run.Sink.Succeeded(index, decision.Result!);
                _succeeded++;
                break;

            case RecoveryKind.Retry or RecoveryKind.Defer:
                int made = decision.Kind == RecoveryKind.Retry ? attempts + 1 : attempts;
                _retries += made - attempts;
                WaitKind kind = decision.Kind == RecoveryKind.Retry ? WaitKind.Retry : WaitKind.CircuitBreaker;
                long now = time.GetTimestamp();
                long due = now + (long)(decision.Delay.TotalSeconds * time.TimestampFrequency);
                Repetition? before = kind == WaitKind.Retry ? null : _repetition;
                Repetition next = new(made, decision.Delay, deadline, kind, now, before: before);
                if (!run.TryDelay(_item!, index, next, Math.Min(due, deadline), decision.Until))
                {
                    EndAsStopped(index);
                }

                break;

            case RecoveryKind.Wait:
                KeepUntil(decision.Until!, decision.WaitsFor, index);
                break;

            default:
                if (decision.Error is not null)
                {
                    (status, error) = (ItemStatus.Failed, decision.Error);
                }

                if (RecordFailure(index, status, error) is { } hook)
                {
                    await hook.ConfigureAwait(false);
                }

                break;
        }

        _item = default;
        _repetition = null;
    }

    /// <summary>The call of the kept item could not begin: the item waits, with its clock stopped, and another begins.</summary>
    private StepResult Postpone(long index, Task until, WaitKind kind)
    {
        try
        {
            if (run.IsOver)
            {
                EndAsStopped(index);
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

        _item = default;
        _repetition = null;
        return StepResult.Ready;
    }

    private void KeepUntil(Task until, WaitKind kind, long index)
    {
        long since = run.Settings.TimeProvider.GetTimestamp();
        long left = ItemDeadline == long.MaxValue ? long.MaxValue : Math.Max(0, ItemDeadline - since);
        Repetition same = new(_repetition?.Attempts ?? 0, _repetition?.Delay ?? TimeSpan.Zero, left, kind, since, stopped: true);
        if (!run.TryDelay(_item!, index, same, long.MaxValue, until))
        {
            EndAsStopped(index);
        }
    }

    /// <summary>Records an item that ended because the run was stopped.</summary>
    private void EndAsStopped(long index)
    {
        // Before the item counts as unsuccessful: whoever reads meanwhile must not take it for a failed one.
        run.CountStopped();
        _unsuccessful++;
        run.Sink.Unsuccessful(index, run.StoppedAs, run.StoppedError);
    }

    private async Task EndAsStoppedAfterAsync(Task discarding, long index)
    {
        await discarding.ConfigureAwait(false);
        EndAsStopped(index);
    }

    /// <summary>Records an item that ended without a result, and calls the hook for it.</summary>
    private Task? RecordFailure(long index, ItemStatus status, Exception error)
    {
        if (status == ItemStatus.TimedOut)
        {
            run.CountTimedOut();
        }

        _unsuccessful++;

        // Read before the failure is kept. If several items fail at once, the hook gets the failure that is thrown, whichever of them stops the run.
        bool late = run.IsOver;
        run.Sink.Unsuccessful(index, status, error);
        if (run.Failures.AddItem(index, error))
        {
            run.Stop();
        }

        return !late && run.Settings.OnError is { } hook && run.Failures.Reports(index, error)
            ? CallErrorHook(hook, index, error)
            : null;
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
            if (run.Failures.AddItem(index, e))
            {
                run.Stop();
            }
        }
    }
}
