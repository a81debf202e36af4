using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Core.Dispatch;

// What becomes of a failed attempt.
//
// A worker whose call has failed says what it knows (FailedAttempt), asks the run's recovery once (IRecovery.DecideAsync; in Weir, RunRecovery), and carries out
// the answer (Decision): the item fails, ends with another result, or waits, for its next attempt or for what this one needs to begin. An item that waits holds
// no worker: it is in the DelayQueue, with what it brings along when it comes back (Repetition).
//
// - The recovery runs code of the user, so it is asked while the worker's word says Around.Recovery. Whoever gives the item up meanwhile changes the word. Then
//   the worker has lost the item, and disposes of the result that the answer may have.
// - An attempt counts when its call was made. Only a wait for the next attempt (WaitKind.Retry) counts one; an item that waits for an open circuit, a permit or
//   tokens has made no call.
// - The item's clock runs during a delay and at an open circuit. It stands still while the item waits for a permit or tokens, which may take long.
// - A run that is over asks nobody: its items end as the run did, unless their call has failed before.

/// <summary>What is known of an attempt that failed. Nothing else tells the recovery about it.</summary>
/// <param name="Index">The item's index.</param>
/// <param name="Attempt">The number of the attempt, from 1. Attempts whose call was not made do not count.</param>
/// <param name="Error">Its exception.</param>
/// <param name="PreviousDelay">The delay before this attempt; zero for the first.</param>
/// <param name="Left">How much of the item's own time is left; null for any. If nothing is, no further attempt is possible.</param>
/// <param name="Status">How the item ends if nothing else becomes of it: as failed, or as timed out.</param>
/// <param name="Token">The item's token. Once it is cancelled, nothing more is called for the item.</param>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct FailedAttempt(
    long Index, int Attempt, Exception Error, TimeSpan PreviousDelay, TimeSpan? Left, ItemStatus Status, CancellationToken Token)
{
    public bool IsFinal => Left <= TimeSpan.Zero;
}

/// <summary>What becomes of a failed attempt: its item fails, waits, or gets a result after all. The default value: it fails with the attempt's error.</summary>
[StructLayout(LayoutKind.Auto)]
internal readonly struct Decision<TResult>
{
    private Decision(WaitKind waitsFor, TimeSpan? delay, Task? until) => (WaitsFor, Delay, Until) = (waitsFor, delay, until);

    private Decision(TResult result) => (Result, HasResult) = (result, true);

    /// <summary>The item fails with the attempt's error.</summary>
    public static Decision<TResult> Fails => default;

    /// <summary>A result may replace the failure. It is asked for next, because the item's time limit does not cover that.</summary>
    public static Decision<TResult> Replace => new() { IsReplaced = true };

    /// <summary>What the item waits for, until it comes back; null if it does not come back.</summary>
    public WaitKind? WaitsFor { get; }

    /// <summary>When it comes back at the latest; null if only <see cref="Until"/> brings it back. Then its clock stands still.</summary>
    public TimeSpan? Delay { get; }

    /// <summary>What brings it back before that, if anything does.</summary>
    public Task? Until { get; }

    /// <summary>Whether a result may replace the failure.</summary>
    public bool IsReplaced { get; private init; }

    /// <summary>Whether there is a result in place of the failure.</summary>
    public bool HasResult { get; }

    public TResult? Result { get; }

    /// <summary>The error that replaces the attempt's, if the decision itself failed.</summary>
    public Exception? Error { get; private init; }

    /// <summary>Another attempt after a delay.</summary>
    public static Decision<TResult> Retry(TimeSpan delay) => new(WaitKind.Retry, delay, null);

    /// <summary>This attempt again after a delay, or when a task has ended if that is earlier: a circuit refused its call, which was not made.</summary>
    public static Decision<TResult> WaitForCircuit(TimeSpan delay, Task? until = null) => new(WaitKind.CircuitBreaker, delay, until);

    /// <summary>This attempt again when a task has ended, however long that takes, because it could not begin. The item's clock stands still meanwhile.</summary>
    public static Decision<TResult> WaitFor(WaitKind kind, Task until) => new(kind, null, until);

    /// <summary>A result that replaces the failure.</summary>
    public static Decision<TResult> Succeed(TResult result) => new(result);

    /// <summary>The item fails with another error.</summary>
    public static Decision<TResult> Fail(Exception error) => new() { Error = error };

    /// <summary>Asks what becomes of a failed attempt, or for the result in its place. An exception of the user's code is the item's error.</summary>
    public static async ValueTask<Decision<TResult>> AskAsync(IRecovery<TResult> recovery, FailedAttempt failed, bool replaces)
    {
        try
        {
            return replaces
                ? Succeed(await recovery.ReplaceAsync(failed).ConfigureAwait(false))
                : await recovery.DecideAsync(failed).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            return Fail(e);
        }
    }

    /// <summary>The decision came too late: disposes of its result, unless that is the item itself.</summary>
    public void Drop<TItem>(TItem? item)
    {
        if (HasResult)
        {
            DiscardedResult.Drop(item, Result);
        }
    }

    /// <summary>Disposes of the result of a decision that is still to come, and will be too late.</summary>
    public static async Task DropAsync<TItem>(Task<Decision<TResult>> decision, TItem? item) => (await decision.ConfigureAwait(false)).Drop(item);
}

/// <summary>Decides what becomes of a failed attempt, before it counts as a failure of its item. Called from several workers at once.</summary>
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

    /// <summary>What becomes of it.</summary>
    ValueTask<Decision<TResult>> DecideAsync(FailedAttempt failed);

    /// <summary>Gets the result that replaces a failure, after <see cref="Decision{TResult}.Replace"/>.</summary>
    ValueTask<TResult> ReplaceAsync(FailedAttempt failed) => throw new UnreachableException();

    /// <summary>Lets go of what a failed call holds, because its item has ended without a decision. Never throws.</summary>
    /// <returns>Null if there is nothing to wait for.</returns>
    Task? Discard(Exception error, long index) => null;

    /// <summary>An item was given up before it began to wait for what its call needs. It leaves the queue. Never throws.</summary>
    void LeaveQueues(long index)
    {
    }
}

/// <content>
/// What becomes of an item whose call failed or was given up, by way of the user's code around a call: hooks, fallbacks, and the functions that decide on
/// another attempt.
/// </content>
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>
{
    /// <summary>An attempt has failed, or its time was up before it began.</summary>
    private StepResult Fail(long index, ItemStatus status, Exception error)
    {
        Index = index;
        bool over = run.IsOver;
        IRecovery<TResult>? recovery = run.Recovery;
        if (status == ItemStatus.Failed && recovery?.HasTimedOut(error) == true)
        {
            status = ItemStatus.TimedOut;
        }

        if (over && status != ItemStatus.TimedOut)
        {
            // A reaction to our own cancellation, not an error.
            bool wasCalled = error is not NotBegunException && recovery?.HasNotBegun(error) != true;
            if (!wasCalled || error is OperationCanceledException)
            {
                return Stopped(index, error, wasCalled);
            }
        }

        if (over || recovery is null)
        {
            return Record(index, status, error);
        }

        FailedAttempt failed = new(
            index,
            (_repetition?.Attempts ?? 0) + 1,
            error,
            _repetition?.Delay ?? TimeSpan.Zero,
            ItemDeadline is var deadline && deadline == ItemClock.Never ? null : run.Time.GetElapsedTime(run.Time.GetTimestamp(), deadline),
            status,
            Guard?.Clock.Stop is { } stop ? stop.Token : run.Token);
        return Decide(recovery, failed, replaces: false);
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

    /// <summary>Asks what becomes of the item, or for the result in place of its failure.</summary>
    private StepResult Decide(IRecovery<TResult> recovery, in FailedAttempt failed, bool replaces)
    {
        // An item whose time is up has nothing left but its fallback, which has no limit but that of the run.
        long word = BeginAround(Around.Recovery, replaces || failed.IsFinal ? ItemClock.Never : ItemDeadline);
        ValueTask<Decision<TResult>> deciding = Decision<TResult>.AskAsync(recovery, failed, replaces);
        if (deciding.IsCompletedSuccessfully)
        {
            Decision<TResult> decision = deciding.Result;
            if (TryEndAround(word))
            {
                return CarryOut(decision, failed);
            }

            decision.Drop(_item);
            return StepResult.Left;
        }

        Deciding later = new(deciding.AsTask(), failed);
        return WaitAround(later.Decision, later, word, Wait.Decision);
    }

    private StepResult CarryOut(in Decision<TResult> decision, in FailedAttempt failed)
    {
        try
        {
            if (decision.WaitsFor is { } kind)
            {
                ComeBack(failed.Index, kind, decision.Delay, decision.Until);
            }
            else if (decision.HasResult)
            {
                run.Sink.Succeeded(failed.Index, decision.Result!);
                _succeeded++;
            }
            else if (decision.IsReplaced && !run.IsOver)
            {
                return Decide(run.Recovery!, failed, replaces: true);
            }
            else
            {
                Forget();
                return decision.Error is { } error ? Record(failed.Index, ItemStatus.Failed, error) : Record(failed.Index, failed.Status, failed.Error);
            }
        }
        catch (Exception e)
        {
            // No user code runs here.
            run.EngineFailed(e);
        }

        Forget();
        return StepResult.Ready;
    }

    /// <summary>The call of the kept item could not begin: the item waits, and another begins.</summary>
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
                ComeBack(index, kind, delay: null, until);
            }
        }
        catch (Exception e)
        {
            // No user code runs here.
            run.EngineFailed(e);
        }

        Forget();
        return StepResult.Ready;
    }

    /// <summary>The kept item waits without a worker, for its next attempt or for what this one needs to begin; or it ends, because its run is over.</summary>
    /// <param name="index">Its index.</param>
    /// <param name="kind">What it waits for. Only what waits for its next attempt has made a call.</param>
    /// <param name="delay">When it comes back at the latest; null if only <paramref name="until"/> brings it back.</param>
    /// <param name="until">What brings it back before that, if anything does.</param>
    private void ComeBack(long index, WaitKind kind, TimeSpan? delay, Task? until)
    {
        bool wasCalled = kind == WaitKind.Retry;
        _retries += wasCalled ? 1 : 0;
        TimeProvider time = run.Time;
        long now = time.GetTimestamp();
        long deadline = ItemDeadline;
        long due = delay is { } pause ? Math.Min(now + (long)(pause.TotalSeconds * time.TimestampFrequency), deadline) : ItemClock.Never;
        if (!run.TryDelay(_item!, index, new Repetition(_repetition, kind, delay, deadline, now), due, until))
        {
            EndAsStopped(index, wasCalled);
        }
    }

    /// <summary>Records an item that ended because the run was stopped.</summary>
    /// <param name="index">Its index.</param>
    /// <param name="wasCalled">Whether its last attempt made its call. An item that never made one has not run, and stays in the source.</param>
    private void EndAsStopped(long index, bool wasCalled)
    {
        if (!wasCalled && _repetition is null or { Attempts: 0 })
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
    private sealed record Deciding(Task<Decision<TResult>> Decision, FailedAttempt Failed);

    /// <summary>Goes on after a decision or a hook. Exceptions from user code were caught, so only the engine itself can have failed.</summary>
    protected override StepResult ContinueAfter(Wait then, object awaited)
    {
        switch (then)
        {
            case Wait.Decision:
                var deciding = (Deciding)awaited;
                return CarryOut(deciding.Decision.Result, deciding.Failed);
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
            _ = Decision<TResult>.DropAsync(deciding.Decision, _item);
        }
    }

    /// <summary>Calls a hook for a pause, once those before it have ended.</summary>
    private StepResult CallPauseHook(PauseState.Hook hook)
    {
        long word = BeginAround(Around.Hook, ItemClock.Never);
        return WaitForHook(hook.RunAsync(), word);
    }

    private StepResult WaitForHook(Task hook, long word) => WaitAround(hook, hook, word, Wait.Task);
}

/// <summary>
/// Tells the engine that an item's call was not made: its run has stopped or its time is up, or it has to wait first. Never seen outside. A cancellation, so
/// that an item of a run that has stopped counts as no failure.
/// </summary>
[SuppressMessage("Design", "CA1032:Implement standard exception constructors", Justification = "A signal of the engine.")]
[SuppressMessage("Design", "CA1064:Exceptions should be public", Justification = "A signal of the engine, which no user code sees.")]
internal class NotBegunException : OperationCanceledException;
