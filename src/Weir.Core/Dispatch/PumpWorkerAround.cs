using Weir.Core.Sinks;

namespace Weir.Core.Dispatch;

/// <content>
/// Code of the user that runs around an item's call: hooks, fallbacks, and the functions that decide on another attempt. Where items can be given up, so can
/// this, even if it never ends: it has a state of the worker's word, as a call has.
/// </content>
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>
{
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
            _ = DropLateAsync(deciding.Decision, _item);
        }

        return StepResult.Left;
    }

    private static async Task DropLateAsync(Task<Recovery<TResult>> decision, TItem? item) =>
        DropLate(await decision.ConfigureAwait(false), item);

    private static void DropLate(in Recovery<TResult> decision, TItem? item)
    {
        if (decision.Kind == RecoveryKind.Succeed)
        {
            DiscardedResult.Drop(item, decision.Result);
        }
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
        Task calling = hook.RunAsync();
        return WaitAround(calling, calling, word, Wait.Task);
    }
}
