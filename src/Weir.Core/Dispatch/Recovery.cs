using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Core.Dispatch;

/// <summary>What becomes of a failed call: it fails the item, is repeated, or gets a result after all.</summary>
[StructLayout(LayoutKind.Auto)]
internal readonly struct Recovery<TResult>
{
    private Recovery(RecoveryKind kind, TimeSpan delay, TResult? result, Exception? error, Task? until = null, WaitKind waitsFor = default)
    {
        Kind = kind;
        Delay = delay;
        Result = result;
        Error = error;
        Until = until;
        WaitsFor = waitsFor;
    }

    public static Recovery<TResult> None => default;

    public RecoveryKind Kind { get; }

    public TimeSpan Delay { get; }

    public TResult? Result { get; }

    /// <summary>The error that replaces the call's, if the recovery itself failed.</summary>
    public Exception? Error { get; }

    /// <summary>What ends the delay early, when it has an end before that.</summary>
    public Task? Until { get; }

    /// <summary>What an item waits for whose clock stands still meanwhile.</summary>
    public WaitKind WaitsFor { get; }

    /// <summary>Another attempt after a delay.</summary>
    public static Recovery<TResult> Retry(TimeSpan delay) => new(RecoveryKind.Retry, delay, default, null);

    /// <summary>The same attempt after a delay, or when a task has ended if that is earlier, because it was not really made.</summary>
    public static Recovery<TResult> Defer(TimeSpan delay, Task? until = null) => new(RecoveryKind.Defer, delay, default, null, until);

    /// <summary>The same attempt when a task has ended, however long that takes, because it could not begin. The item's clock stands still meanwhile.</summary>
    public static Recovery<TResult> Wait(Task until, WaitKind kind) => new(RecoveryKind.Wait, default, default, null, until, kind);

    /// <summary>A result may replace the failure. It is asked for next, because the item's time limit does not cover that.</summary>
    public static Recovery<TResult> Replace => new(RecoveryKind.Replace, default, default, null);

    /// <summary>A result that replaces the failure.</summary>
    public static Recovery<TResult> Succeed(TResult result) => new(RecoveryKind.Succeed, default, result, null);

    /// <summary>A failure with another error.</summary>
    public static Recovery<TResult> Fail(Exception error) => new(RecoveryKind.Fail, default, default, error);

    /// <summary>Asks what becomes of a failed call, or for the result in its place. An exception of the user's code is the item's error.</summary>
    public static async ValueTask<Recovery<TResult>> AskAsync(IRecovery<TResult> recovery, FailedCall call, bool replaces)
    {
        try
        {
            return replaces
                ? await recovery.ReplaceAsync(call).ConfigureAwait(false)
                : await recovery.DecideAsync(call).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            return Fail(e);
        }
    }

    /// <summary>The decision came too late: disposes of its result, unless that is the item itself.</summary>
    public void Drop<TItem>(TItem? item)
    {
        if (Kind == RecoveryKind.Succeed)
        {
            DiscardedResult.Drop(item, Result);
        }
    }

    /// <summary>The same for a decision that is still to come.</summary>
    public static async Task DropAsync<TItem>(Task<Recovery<TResult>> decision, TItem? item) => (await decision.ConfigureAwait(false)).Drop(item);
}

/// <content>
/// What becomes of an item whose call failed or was given up, by way of the user's code around a call: hooks, fallbacks, and the functions that decide on
/// another attempt.
/// </content>
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>
{
    /// <summary>Remembers the item, together with its repetition.</summary>
    private void Keep(TItem item) => _held = new(item, _chunk.Repetition);

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

    private StepResult Fail(long index, ItemStatus status, Exception error)
    {
        Index = index;
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
            long word = BeginAround(Around.Recovery, ItemClock.Never);
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
        int attempt = _held.Attempts + 1;
        bool isFinal = run.Settings.TimeProvider.GetTimestamp() >= ItemDeadline;
        FailedCall call = new(
            index, attempt, error, _held.Delay, isFinal, Guard?.Clock.Stop is { } stop ? stop.Token : run.Token);
        return Decide(recovery, call, status, replaces: false);
    }

    private StepResult Decide(IRecovery<TResult> recovery, in FailedCall call, ItemStatus status, bool replaces)
    {
        // An item whose time is up has nothing left but its fallback, which has no limit but that of the run.
        long word = BeginAround(Around.Recovery, replaces || call.IsFinal ? ItemClock.Never : ItemDeadline);
        ValueTask<Recovery<TResult>> deciding = Recovery<TResult>.AskAsync(recovery, call, replaces);
        if (deciding.IsCompletedSuccessfully)
        {
            Recovery<TResult> decision = deciding.Result;
            if (TryEndAround(word))
            {
                return Apply(decision, call, status);
            }

            decision.Drop(_held.Item);
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
                _held = default;
                return decision.Error is null ? Record(call.Index, status, call.Error) : Record(call.Index, ItemStatus.Failed, decision.Error);
            }

            GoOn(decision, call.Index);
        }
        catch (Exception e)
        {
            // No user code runs here.
            run.EngineFailed(e);
        }

        _held = default;
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
                _retries += wasCalled ? 1 : 0;
                long now = time.GetTimestamp();
                long due = now + (long)(decision.Delay.TotalSeconds * time.TimestampFrequency);
                Repetition next = _held.After(decision.Delay, ItemDeadline, now, wasCalled);
                if (!run.TryDelay(_held.Item!, index, next, Math.Min(due, ItemDeadline), decision.Until))
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

        _held = default;
        return StepResult.Ready;
    }

    private void KeepUntil(Task until, WaitKind kind, long index)
    {
        Repetition same = _held.Until(kind, ItemDeadline, run.Time.GetTimestamp());
        if (!run.TryDelay(_held.Item!, index, same, ItemClock.Never, until))
        {
            EndAsStopped(index, wasCalled: false);
        }
    }

    /// <summary>Records an item that ended because the run was stopped.</summary>
    /// <param name="index">Its index.</param>
    /// <param name="wasCalled">Whether its last attempt made its call. An item that never made one has not run, and stays in the source.</param>
    private void EndAsStopped(long index, bool wasCalled)
    {
        if (!wasCalled && _held.Attempts == 0)
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

        long word = BeginAround(Around.Hook, ItemClock.Never);
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

    /// <summary>Goes on after a decision or a hook. Exceptions from user code were caught, so only the engine itself can have failed.</summary>
    protected override StepResult GoOn(Wait then, object awaited)
    {
        switch (then)
        {
            case Wait.Decision:
                var deciding = (Deciding)awaited;
                return Apply(deciding.Decision.Result, deciding.Call, deciding.Status);
            case Wait.Discard:
                EndAsStopped(Index, wasCalled: true);
                return StepResult.Ready;
            default:
                // Then the run must not appear to have succeeded.
                if (((Task)awaited).Exception?.InnerException is { } error)
                {
                    run.EngineFailed(error);
                }

                return StepResult.Ready;
        }
    }

    protected override void Forsake(object awaited)
    {
        if (DiscardedResult<TResult>.MayBeDisposable && awaited is Deciding deciding)
        {
            _ = Recovery<TResult>.DropAsync(deciding.Decision, _held.Item);
        }
    }

    /// <summary>Calls a hook for a pause, once those before it have ended.</summary>
    private StepResult CallPauseHook(PauseState.Hook hook)
    {
        long word = BeginAround(Around.Hook, ItemClock.Never);
        return WaitForHook(hook.RunAsync(), word);
    }

    private StepResult WaitForHook(Task hook, long word) => WaitAround(hook, hook, word, Wait.Task);

    /// <summary>When the running item's own time limit passes.</summary>
    private long ItemDeadline => Guard?.Clock.ItemDeadline ?? ItemClock.Never;

    protected override Repetition? Repetition => _held.Repetition;

    protected override void LeaveCall() => run.Call.GivenUp(_held.Item, Index);

    protected override void RecordGivenUp(ItemStatus status, Exception? error)
    {
        run.Sink.Unsuccessful(Index, status, error);
        if (status == ItemStatus.TimedOut)
        {
            run.CountTimedOut();
        }

        _unsuccessful++;
    }

    protected override void TakeOver(PumpWorker orphan)
    {
        var other = (PumpWorker<TItem, TResult, TPending, TCall, TSink>)orphan;
        _held = other._held;
        if (other._parked is { } parked)
        {
            // What it has not told is this worker's to tell.
            Volatile.Write(ref _parked, parked);
            other._parked = null;
            _untold = other._untold;
            other._untold = 0;
            TellParked();
            Guard!.Clock.StartTimer(run, this);
            CheckDeadline();
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

    /// <summary>Observes the outcome of abandoned work, so that its exception does not count as unobserved, and discards it.</summary>
    private void Observe(TPending pending)
    {
        try
        {
            pending.OnCompleted(() =>
            {
                try
                {
                    DiscardedResult.Drop(_held.Item, pending.GetResult());
                }
                catch (Exception e)
                {
                    // The item already has its outcome.
                    run.Recovery?.Discard(e, Index);
                }
            });
        }
        catch (Exception)
        {
            // There is no memory to observe it with.
        }
    }
}

/// <summary>See <see cref="Recovery{TResult}"/>.</summary>
internal enum RecoveryKind
{
    Fail = 0,
    Retry,
    Defer,
    Wait,
    Succeed,
    Replace,
}

/// <summary>Decides what becomes of a call that failed, before it counts as a failure of its item. Called from several workers at once.</summary>
internal interface IRecovery<TResult>
{
    /// <summary>How long one attempt may take, or null. An attempt that takes longer fails, and comes here like any other.</summary>
    TimeSpan? AttemptTimeout { get; }

    /// <summary>The error of an attempt that passed its limit.</summary>
    Exception AttemptTimedOut(int attempt);

    /// <summary>Whether a call ended because its attempt passed the limit of the run.</summary>
    bool HasTimedOut(Exception error) => false;

    /// <summary>Whether a call was not made, because the item waits for something else first.</summary>
    bool HasNotBegun(Exception error) => false;

    ValueTask<Recovery<TResult>> DecideAsync(FailedCall call);

    /// <summary>Gets the result that replaces a failure, after <see cref="Recovery{TResult}.Replace"/>.</summary>
    ValueTask<Recovery<TResult>> ReplaceAsync(FailedCall call) => throw new UnreachableException();

    /// <summary>Lets go of what a failed call holds, because its item has ended without a decision. Never throws.</summary>
    /// <returns>Null if there is nothing to wait for.</returns>
    Task? Discard(Exception error, long index) => null;

    /// <summary>An item was given up before it began to wait for what its call needs. It leaves the queue. Never throws.</summary>
    void LeaveQueues(long index)
    {
    }
}

/// <summary>A call that failed.</summary>
/// <param name="Index">The item's index.</param>
/// <param name="Attempt">The number of the attempt, from 1. Calls that were only postponed do not count.</param>
/// <param name="Error">Its exception.</param>
/// <param name="PreviousDelay">The delay before this attempt; zero for the first.</param>
/// <param name="IsFinal">Whether the item's own time limit has passed, so that no further attempt is possible.</param>
/// <param name="Token">The item's token. Once it is cancelled, nothing more is called for the item.</param>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct FailedCall(
    long Index, int Attempt, Exception Error, TimeSpan PreviousDelay, bool IsFinal, CancellationToken Token = default);

/// <summary>
/// Tells the engine that an item's call was not made: its run has stopped or its time is up, or it has to wait first. Never seen outside. A cancellation, so
/// that an item of a run that has stopped counts as no failure.
/// </summary>
[SuppressMessage("Design", "CA1032:Implement standard exception constructors", Justification = "A signal of the engine.")]
[SuppressMessage("Design", "CA1064:Exceptions should be public", Justification = "A signal of the engine, which no user code sees.")]
internal class NotBegunException : OperationCanceledException;
