using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <content>
/// The worker's item as other threads see it. It can be given up while it runs, because a time limit passed or the run ends, even if the call never returns.
/// <see cref="ItemGuard"/> says who decides about an item. A worker whose item was given up is an orphan: it no longer touches the run, and another worker
/// takes its place.
/// </content>
internal abstract partial class PumpWorker
{
    /// <summary>What lets others give up its item; null in a run whose items cannot be given up.</summary>
    protected readonly ItemGuard? Guard;

    /// <summary>
    /// Where the worker's user code is. Set before the word, and reset after it, so that a thread that gives up the worker finds what it gives up.
    /// </summary>
    protected Around At;

    protected enum Around : byte
    {
        /// <summary>In the call, or nowhere.</summary>
        Call = 0,

        /// <summary>In what decides about an item whose attempt has ended. The item has no outcome yet.</summary>
        Recovery,

        /// <summary>In a hook for an item that has its outcome, or for none.</summary>
        Hook,
    }

    /// <summary>Whether the worker is in the call of an item that was not given up. For a thread that is in that call too, or goes on with it.</summary>
    public bool IsInCallOf(long index) => Index == index && At == Around.Call && Guard!.IsInFlight;

    /// <summary>What the item brought along from earlier attempts, if it had any.</summary>
    protected abstract Repetition? Repetition { get; }

    /// <summary>Whether the worker has claimed items that it has not begun. For the worker, or for the thread that has taken them from it.</summary>
    protected abstract bool HasClaimed { get; }

    /// <summary>The same for any thread, as a hint: the worker may be changing it.</summary>
    protected abstract bool MayHaveClaimed { get; }

    /// <summary>Gives those back to the source.</summary>
    protected abstract void GiveBackClaimed();

    /// <summary>The item was given up inside its call.</summary>
    protected abstract void LeaveCall();

    /// <summary>Records the outcome of the item, which was given up.</summary>
    protected abstract void RecordGivenUp(ItemStatus status, Exception? error);

    /// <summary>The worker, which is new, takes the item and the parked calls of one that was given up.</summary>
    protected abstract void TakeOver(PumpWorker orphan);

    /// <summary>Gives up the parked calls whose time is over.</summary>
    /// <param name="left">The time until something else has to be looked at.</param>
    /// <returns>The time until the next look.</returns>
    protected abstract TimeSpan CheckParked(TimeSpan left);

    /// <summary>Goes on after user code around an item.</summary>
    /// <param name="then">What the worker may have waited for.</param>
    /// <param name="awaited">What <see cref="WaitAround"/> got.</param>
    protected abstract StepResult GoOn(Wait then, object awaited);

    /// <summary>The same where the worker was given up meanwhile: a result that still comes for the item is disposed of.</summary>
    protected abstract void Forsake(object awaited);

    /// <summary>Gives up the item that the worker is running, if any, with the given outcome.</summary>
    /// <param name="status">The outcome.</param>
    /// <param name="error">Its error, if any.</param>
    /// <param name="isOrphan">Whether a thread may still be running the item.</param>
    public bool TryAbandon(ItemStatus status, Exception? error, out bool isOrphan)
    {
        ItemGuard guard = Guard!;
        long word = guard.SettledWord;
        isOrphan = ItemWord.StateOf(word) != ItemWord.Handed;
        switch (ItemWord.StateOf(word))
        {
            case ItemWord.InCall or ItemWord.Shared or ItemWord.Waiting when Detach(guard, word):
                if (At == Around.Hook)
                {
                    TellParked();
                    return true;
                }

                RecordGivenUp(status, error);
                break;
            case ItemWord.Handed when guard.TryLoseHanded():
                // It waits for a thread, which it may never get. Its item had already timed out.
                RecordGivenUp(ItemStatus.TimedOut, guard.TakeHandedError());
                break;
            default:
                return false;
        }

        TellParked();
        return true;
    }

    /// <summary>
    /// Called by the stall watch at each look. If the item has not ended since the last look, gives the items that the worker claimed beyond it to other
    /// workers.
    /// </summary>
    /// <param name="isStuck">Whether the worker is inside the same call as at the last look.</param>
    /// <returns>Whether there are now more items to claim.</returns>
    public bool ShareIfStuck(out bool isStuck)
    {
        isStuck = false;
        if (Guard is not { } guard)
        {
            return false;
        }

        Pump run = Run;
        long word = guard.Word;
        isStuck = guard.IsStuck(word);
        if (!guard.RecordSeen(word, run.SeesStarts ? run.Time.GetTimestamp() : 0) || ItemWord.StateOf(word) != ItemWord.InCall
            || !MayHaveClaimed || run.Orders is not null
            || !guard.TryShare(word))
        {
            return false;
        }

        // Given back before the worker can end its item and find nothing more to do.
        bool shares = HasClaimed;
        try
        {
            FaultPoint.Pass("PumpWorker.ShareIfStuck", run);
            GiveBackClaimed();
        }
        finally
        {
            // Also if there is no memory to give them back with, and the run fails: others wait for this.
            guard.EndSharing(word);
        }

        return shares;
    }

    /// <summary>The worker, which is new, has to record that an item was given up. For that it gets a thread, even if items hold those of the pool.</summary>
    public void HandOver(long index, Exception error)
    {
        Waiting = Wait.Handover;
        Index = index;
        Guard!.HandOver(error);
    }

    /// <summary>Gives the worker that has been handed an item its thread.</summary>
    public void QueueHandedOver()
    {
        try
        {
            FaultPoint.Pass("PumpWorker.GiveUp", Run);
            Run.Settings.Executor.QueueUrgently(this);
        }
        catch (Exception e)
        {
            // The run does not wait for it, unless somebody has given it up already.
            if (Guard!.TryLoseHanded())
            {
                Run.LoseOrphan(e);
            }
            else
            {
                Run.EngineFailed(e);
            }
        }
    }

    /// <summary>Looks at the deadlines of the item and of the parked calls, and sets the timer for the next look. The timer's own call.</summary>
    public void CheckDeadline()
    {
        FaultPoint.Pass("PumpWorker.CheckDeadline", Run);
        ItemGuard guard = Guard!;
        long word = guard.Word;
        if (ItemWord.StateOf(word) == ItemWord.Abandoned)
        {
            return;
        }

        TimeSpan left = guard.TimeLeft(word, Run, out bool isOver);
        if (isOver)
        {
            GiveUp(guard, word);
            return;
        }

        left = CheckParked(left);
        guard.Clock.TimerNow?.Change(ItemLimits.RoundUp(left), Timeout.InfiniteTimeSpan);
    }

    private void GiveUp(ItemGuard guard, long word)
    {
        PumpWorker? successor = null;
        try
        {
            if (Detach(guard, word))
            {
                successor = Replace(guard, word);
            }
        }
        catch (Exception e)
        {
            // Nothing throws before the item is taken from this worker. What it has not told is now for nobody else to tell.
            TellParked();
            Run.LoseOrphan(e);
            return;
        }

        if (successor is not null)
        {
            successor.QueueHandedOver();
            return;
        }

        // The item has just ended, or its call has just started to wait. Its current state decides.
        CheckDeadline();
    }

    /// <summary>Takes the item from the worker, together with the items that the worker had claimed beyond it.</summary>
    private bool Detach(ItemGuard guard, long word)
    {
        if (!guard.TryAbandon(word))
        {
            return false;
        }

        FaultPoint.Pass("PumpWorker.Detach", Run);
        if (At != Around.Hook)
        {
            // Before anything else learns of it: a hook or a wait of the item that ends just now sees its token, and makes no call.
            if (guard.Clock.Stop is { } stop)
            {
                SafeCancel.Later(stop);
            }

            LeaveCall();
            if (At == Around.Call && ItemWord.StateOf(word) == ItemWord.Waiting)
            {
                guard.Meter?.GiveUp();
            }
        }

        StopsExecuting();
        GiveBackClaimed();
        if (ItemWord.StateOf(word) != ItemWord.Waiting && guard.Host is { } host)
        {
            Run.Settings.Executor.ReplaceHost(host);
        }

        return true;
    }

    /// <summary>Makes the worker that takes the place of this one, whose item was given up.</summary>
    private PumpWorker Replace(ItemGuard guard, long word)
    {
        Pump run = Run;
        guard.SetDeadlineIfNotSet(word, run, Repetition);
        bool isItems = guard.Clock.Deadline >= guard.Clock.ItemDeadline;
        if (At == Around.Call)
        {
            ItemLimits limits = run.Limits;
            run.Settings.Adaptive?.TimedOut((isItems ? limits.Item : limits.Attempt)!.Value);
        }

        Exception error = isItems ? run.ItemTimedOut(Index) : run.AttemptTimedOut((Repetition?.Attempts ?? 0) + 1);
        FaultPoint.Pass("PumpWorker.Replace", run);
        PumpWorker successor = run.CreateSuccessor(this);
        successor.Guard!.Clock.Continue(guard.Clock);
        successor.TakeOver(this);
        guard.Clock.TimerNow?.Dispose();
        successor.HandOver(Index, error);
        return successor;
    }

    /// <summary>
    /// User code around a call begins, on this thread. Where items can be given up, so can it, even if it never ends: it has a state of the word, as a call
    /// has. <see cref="TryEndAround"/> or <see cref="WaitAround"/> follows.
    /// </summary>
    /// <param name="around">Where it is.</param>
    /// <param name="deadline">When the item is given up, if it has not left by then.</param>
    /// <returns>The worker's word meanwhile, in a guarded run.</returns>
    protected long BeginAround(Around around, long deadline)
    {
        At = around;
        if (Guard is not { } guard)
        {
            return 0;
        }

        guard.Host = Run.Settings.Executor.CurrentHost;
        Volatile.Write(ref guard.Clock.Deadline, deadline);
        return guard.Begin();
    }

    /// <summary>User code has ended on this thread.</summary>
    /// <returns>False if the worker was given up meanwhile: it is an orphan.</returns>
    protected bool TryEndAround(long word)
    {
        if (Guard?.TryEndCall(word) == false)
        {
            return false;
        }

        At = Around.Call;
        return true;
    }

    /// <summary>Waits for user code, unless it has ended.</summary>
    /// <param name="task">Its end. An exception from it is the engine's own fault and ends the run.</param>
    /// <param name="awaited">What is needed to go on.</param>
    /// <param name="word">The worker's word.</param>
    /// <param name="then">What comes then.</param>
    protected StepResult WaitAround(Task task, object awaited, long word, Wait then)
    {
        if (task.IsCompleted)
        {
            if (TryEndAround(word))
            {
                return GoOn(then, awaited);
            }

            Forsake(awaited);
            return StepResult.Left;
        }

        Awaited = awaited;
        Waiting = then;
        StopsExecuting();
        if (Guard?.TryMoveOn(word, ItemWord.Waiting) == false)
        {
            Forsake(awaited);
            return StepResult.Left;
        }

        // From here on, the worker may be running on another thread.
        task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(Continuation);
        return StepResult.Waits;
    }

    /// <summary>The user code that the worker waited for has ended.</summary>
    protected StepResult EndWaitAround(Wait then)
    {
        object awaited = Awaited!;
        if (Guard?.TryEndWait() == false)
        {
            Forsake(awaited);
            return LeaveAsOrphan();
        }

        Awaited = null;
        At = Around.Call;
        return GoOn(then, awaited);
    }

    protected StepResult LeaveAsOrphan()
    {
        StopsExecuting();
        return StepResult.Left;
    }
}
