using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <content>
/// What ends without a worker of its own: parked calls, which the run waits for, and items that are given up, which it does not, one by one or all together
/// because the run has to end now.
/// </content>
internal abstract partial class Pump
{
    /// <summary>Whether a failure has stopped the run.</summary>
    public bool HasFailed => _stop.HasFailed;

    /// <summary>The status of an item that ends because the run's token was cancelled.</summary>
    public ItemStatus StoppedAs => _stop.As;

    /// <summary>The error of such an item.</summary>
    public Exception? StoppedError => _stop.Error;

    /// <summary>Cancels the items' own tokens when the run stops, or at once if it has.</summary>
    public void AddTokens(ItemTokens tokens) => _stop.Add(tokens);

    /// <summary>
    /// Ends the run without waiting for running items: each of them gets <paramref name="status"/>, and no other item runs.
    /// Only for guarded runs.
    /// </summary>
    public void Abort(ItemStatus status, Exception? error)
    {
        if (TryStop(by: null, status, error, out bool finish))
        {
            // User code may take long to react to its cancelled token, and nobody waits for it here.
            _stop.CancelTokens(later: true);
            if (finish)
            {
                QueueFinish();
            }
        }

        if (!AbandonAll(status, error))
        {
            // A worker was between two items and had not yet seen that the run has ended. It sees this before its next item, or is caught in that item.
            new AbandonTimer(this, status, error).Wait();
        }
    }

    /// <summary>
    /// A new worker that replaces an orphan. It counts as the orphan did, so the run waits for it. The run forgets the orphan, which may live as long
    /// as the call that it waits for: an endless run may have any number of them.
    /// </summary>
    public PumpWorker CreateSuccessor(PumpWorker orphan)
    {
        PumpWorker successor = CreateWorker();
        lock (_lock)
        {
            ref RunSample past = ref _counts.PastNeedsLock;
            orphan.AddTo(ref past);
            past.InFlight = 0;
            past.Abandoned++;
            _workers.ForgetNeedsLock(orphan);
            _workers.JoinNeedsLock(successor);
        }

        return successor;
    }

    /// <summary>An item was given up and then nobody could take its worker's place: the run fails, and does not wait for it.</summary>
    public void LoseOrphan(Exception error)
    {
        EngineFailed(error);
        EndAbandoned(isOrphan: false);
    }

    private void EndAbandoned(bool isOrphan)
    {
        lock (_lock)
        {
            if (isOrphan)
            {
                _counts.PastNeedsLock.Abandoned++;
            }

            _workers.LeaveNeedsLock();
        }

        FinishIfDone();
    }

    /// <summary>The same for a parked call.</summary>
    public void LoseGivenUp(Exception error)
    {
        EngineFailed(error);
        _parked.Remove(1);
        FinishIfDone();
    }

    /// <summary>Whether an item was given up, so that nobody waits for its call any more. For the call, whose token is cancelled.</summary>
    /// <remarks>Such a token tells it while the run goes on. A run that has stopped cancels those of all items, and may still wait for this one.</remarks>
    public bool HasGivenUp(long index)
    {
        if (!IsGuarded)
        {
            return false;
        }

        if (!IsOver || HasEnded)
        {
            return true;
        }

        for (PumpWorker? worker = _workers.First; worker is not null; worker = worker.NextCreated)
        {
            if (worker.IsInCallOf(index))
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>Gives up the items of all workers, and all parked calls.</summary>
    /// <returns>Whether the run has ended.</returns>
    public bool AbandonAll(ItemStatus status, Exception? error)
    {
        // A run that ended by itself gives away what its workers have. One that is over, and has not ended, keeps it.
        if (HasFinished)
        {
            return true;
        }

        for (PumpWorker? worker = _workers.First; worker is not null; worker = worker.NextCreated)
        {
            bool isOrphan = true;
            bool abandoned = true;
            try
            {
                abandoned = worker.TryAbandon(status, error, out isOrphan);
            }
            catch (Exception e)
            {
                // The item was taken from its worker, but then there was no memory to record it or no thread to replace the worker's. It will no longer end by
                // itself.
                _stop.Break(e);
                worker.TellParked();
            }

            if (abandoned)
            {
                EndAbandoned(isOrphan);
            }

            AbandonParkedOf(worker, status, error);
        }

        return HasFinished;
    }

    private bool HasFinished
    {
        get
        {
            lock (_lock)
            {
                return _finished;
            }
        }
    }

    /// <summary>Adds calls that a worker has parked, before it leaves or waits for a thread.</summary>
    public void AddParked(int count) => _parked.Add(count);

    /// <summary>Records the end of a parked call.</summary>
    /// <param name="index">The index of its item.</param>
    /// <param name="call">The call, which has ended.</param>
    /// <param name="isOnOwnThread">Whether this thread was started for the run.</param>
    public abstract void EndParked(long index, Task call, bool isOnOwnThread);

    /// <summary>The end of a parked call could not be recorded: the run fails, and does not wait for it.</summary>
    public abstract void LoseParked(long index, Task call, Exception error);

    /// <summary>Counts a parked call that has succeeded, or whose run fails without its outcome, and ends the run if it was the last one.</summary>
    protected void ParkedSucceeded(bool isOnOwnThread)
    {
        if (!_parked.EndOne())
        {
            return;
        }

        bool finish;
        try
        {
            FaultPoint.Pass("Pump.ParkedSucceeded", this);
            finish = TryFinish();
        }
        catch (Exception e)
        {
            // There is no memory to wait for the lock with.
            EngineFailed(e);
            finish = TryFinish();
        }

        if (finish)
        {
            FinishOn(isOnOwnThread);
        }
    }

    /// <summary>A worker for the failure of a parked call, which then no longer counts; null if there is no memory for one, and the run fails.</summary>
    protected PumpWorker? TryTakeOverParked(Exception failure)
    {
        try
        {
            FaultPoint.Pass("Pump.TakeOverParked", this);
            lock (_lock)
            {
                PumpWorker worker = TakeIdleNeedsLock();
                _workers.AddNeedsLock();
                _parked.Remove(1);
                return worker;
            }
        }
        catch (Exception e)
        {
            EngineFailed(new AggregateException(failure, e));
            return null;
        }
    }

    /// <summary>A new worker that records that a parked call was given up. The call no longer counts, and the worker does.</summary>
    public PumpWorker CreateForParked()
    {
        PumpWorker worker = CreateWorker();
        lock (_lock)
        {
            _counts.PastNeedsLock.Abandoned++;
            _workers.JoinNeedsLock(worker);
            _workers.AddNeedsLock();
            _parked.Remove(1);
            return worker;
        }
    }

    private void AbandonParkedOf(PumpWorker worker, ItemStatus status, Exception? error)
    {
        int abandoned = 0;
        try
        {
            worker.AbandonParked(status, error, ref abandoned);
        }
        catch (Exception e)
        {
            // As for the items of workers.
            _stop.Break(e);
        }

        if (abandoned == 0)
        {
            return;
        }

        if (status == ItemStatus.TimedOut)
        {
            _counts.AddTimedOut(abandoned);
        }

        lock (_lock)
        {
            ref RunSample past = ref _counts.PastNeedsLock;
            past.Unsuccessful += abandoned;
            past.Abandoned += abandoned;
            _parked.Remove(abandoned);
        }

        FinishIfDone();
    }

    /// <summary>Counts an item that ended because the run was stopped. It is cancelled and has not failed.</summary>
    public void CountStopped() => CountStopped(1);

    /// <summary>Counts an item that passed its time limit, or that of the run.</summary>
    public void CountTimedOut() => _counts.AddTimedOut(1);

    private void CountStopped(int count)
    {
        if (StoppedAs == ItemStatus.Cancelled)
        {
            _counts.AddCancelled(count);
        }
    }

    /// <summary>Called when the run was stopped while items waited for another attempt.</summary>
    /// <param name="waited">How many waited.</param>
    /// <param name="attempted">How many of these, and of the due items, had been attempted, and so have ended.</param>
    protected void EndDelayed(int waited, int attempted)
    {
        CountStopped(attempted);
        lock (_lock)
        {
            _counts.AddDelayedNeedsLock(-waited);
            _counts.PastNeedsLock.Unsuccessful += attempted;
        }
    }

    /// <summary>The error of an item that has passed its time limit. It names the item where no list of failures or outcomes does.</summary>
    public Exception ItemTimedOut(long index) => TimeLimit.OfItem(Settings.PerItemTimeout!.Value, Settings.ErrorMode == ErrorMode.FailFast ? index : null);

    /// <summary>The item of a parked call was given up. What the call still brings is observed and discarded.</summary>
    public abstract void GiveUpParked(long index, Task call);

    /// <summary>Records the outcome of an item that ended without a result.</summary>
    public abstract void EndUnsuccessful(long index, ItemStatus status, Exception? error);

    /// <summary>The error of an attempt that has passed its own time limit.</summary>
    public abstract Exception AttemptTimedOut(int attempt);

    [Conditional("DEBUG")]
    private void AssertInvariants()
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "The state of a run is read and changed under its lock.");
        _workers.AssertInvariants();
    }
}

/// <summary>
/// Gives up the remaining items of a run, repeatedly, until it has ended. After some milliseconds, what is left is no worker between two items but code that
/// cannot be given up, such as that of a sequence, and may take for ever: so it looks less and less often.
/// </summary>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "It ends its timer itself.")]
internal sealed class AbandonTimer
{
    private static readonly TimeSpan Longest = TimeSpan.FromSeconds(1);

    private readonly Pump _run;
    private readonly ItemStatus _status;
    private readonly Exception? _error;
    private readonly WatchTimer _timer;
    private TimeSpan _pause = TimeSpan.FromMilliseconds(1);

    public AbandonTimer(Pump run, ItemStatus status, Exception? error)
    {
        _run = run;
        _status = status;
        _error = error;
        _timer = new WatchTimer(static again => ((AbandonTimer)again!).Run(), this);
    }

    public void Wait() => _timer.Change(_pause, Timeout.InfiniteTimeSpan);

    private void Run()
    {
        if (_run.AbandonAll(_status, _error))
        {
            _timer.Dispose();
            return;
        }

        _pause = _pause < Longest / 2 ? 2 * _pause : Longest;
        Wait();
    }
}

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
