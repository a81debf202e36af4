using System.Diagnostics.CodeAnalysis;
using Weir.Core.Sinks;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <content>
/// Calls that the worker does not wait for itself, see <see cref="ParkedCall"/>; and the time limits of items, parked or not. Each worker has one timer for
/// them, which stays on while it works and checks the deadlines of whatever runs when it fires.
/// </content>
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>
{
    private ParkedCalls<TResult, TPending>? _parked;

    public override bool Retire()
    {
        bool isFree = _guard?.EndTimer() ?? true;
        ParkedCalls<TResult, TPending>? parked = _parked;
        _parked = null;

        // The worker's timer, or whoever stopped the run, may still be looking through the calls. They are then left to the collector: in the hands of another
        // run, they would change under its eyes.
        if (isFree && !run.IsOver)
        {
            parked?.GiveBack();
        }

        return isFree;
    }

    /// <summary>Records the failure of a parked call on the current thread, and then works on.</summary>
    public void FailParked(long index, Exception error)
    {
        _index = index;
        _awaited = error;
        _wait = Wait.Failure;
        try
        {
            Work();
        }
        catch (Exception e)
        {
            Lost(e);
        }
    }

    private StepResult ParkCall(int next)
    {
        _pace.Reset();
        _chunk.Position = next;
        TPending pending = _pending;
        _pending = default;
        ParkedCalls<TResult, TPending> parked = _parked ??= ParkedCalls<TResult, TPending>.Take();
        try
        {
            pending.BecomeTask();
            ParkedCall<TResult, TPending> call = parked.Next();
            call.Begin(run, _index);
            call.Wait(pending);
            parked.Untold++;
            return StepResult.Ready;
        }
        catch (Exception e)
        {
            // A task source of the user that cannot be waited for, or no memory.
            parked.Spoil();
            return Fail(_index, ItemStatus.Failed, e);
        }
    }

    public override void TellParked()
    {
        if (_parked is { Untold: > 0 } parked)
        {
            run.AddParked(parked.Untold);
            parked.Untold = 0;
        }
    }

    /// <summary>The same for an item that can be given up: from the worker's hands into those of its call, with its deadline and token.</summary>
    private StepResult ParkGuardedCall(TPending pending, long inCall)
    {
        // Before it touches its calls: whoever gives up the item hands them to the worker that replaces this one, and two of them would park in the same call.
        if (!_guard!.TryMoveOn(inCall, ItemWord.Moving))
        {
            Observe(pending);
            return StepResult.Left;
        }

        ItemGuard guard = _guard;
        ParkedCalls<TResult, TPending> parked;
        ParkedCall<TResult, TPending> call;
        try
        {
            SetDeadlineIfNotSet(inCall);
            parked = _parked ??= ParkedCalls<TResult, TPending>.Take();
            call = parked.Next();
            call.Begin(run, _index);
        }
        catch (Exception e)
        {
            // No memory, or a clock of the user. The item is still the worker's own.
            guard.EndMoving(inCall, ItemWord.Idle);
            return Fail(_index, ItemStatus.Failed, e);
        }

        call.Guard(guard.Deadline, guard.Stop);
        _pace.Reset();
        guard.EndMoving(inCall, ItemWord.Idle);
        parked.Untold++;
        try
        {
            call.Wait(pending);
            return StepResult.Ready;
        }
        catch (Exception e)
        {
            // No memory to wait with.
            parked.Spoil();
            if (!call.TryEnd())
            {
                return StepResult.Ready;
            }

            parked.Untold--;
            return Fail(_index, ItemStatus.Failed, e);
        }
    }

    public override void AbandonParked(ItemStatus status, Exception? error, ref int abandoned)
    {
        if (Volatile.Read(ref _parked) is not { } parked)
        {
            return;
        }

        foreach (ParkedCall<TResult, TPending> call in parked.Used)
        {
            if (call.IsWaitingIn(run, out long word) && call.TryGiveUp(word))
            {
                abandoned++;
                run.Call.GivenUp(default, call.Index);
                run.Sink.Unsuccessful(call.Index, status, error);
            }
        }
    }

    /// <summary>Gives up the parked calls whose time is over.</summary>
    /// <param name="left">The time until something else has to be looked at.</param>
    /// <returns>The time until the next look.</returns>
    private TimeSpan CheckParkedDeadlines(TimeSpan left)
    {
        if (Volatile.Read(ref _parked) is not { } parked)
        {
            return left;
        }

        TimeProvider time = run.Settings.TimeProvider;
        long now = time.GetTimestamp();
        ReadOnlySpan<ParkedCall<TResult, TPending>> calls = parked.Used;
        FaultPoint.Pass("PumpWorker.CheckParkedDeadlines", run);
        foreach (ParkedCall<TResult, TPending> call in calls)
        {
            if (call.IsWaitingIn(run, out long word))
            {
                TimeSpan due = time.GetElapsedTime(now, call.Deadline);
                if (due <= TimeSpan.Zero)
                {
                    GiveUpParked(parked, call, word);
                }
                else if (due < left)
                {
                    left = due;
                }
            }
        }

        return left;
    }

    private void GiveUpParked(ParkedCalls<TResult, TPending> parked, ParkedCall<TResult, TPending> call, long word)
    {
        if (!call.TryGiveUp(word))
        {
            return;
        }

        // The call still waits, perhaps forever.
        parked.Spoil();
        PumpWorker<TItem, TResult, TPending, TCall, TSink> worker;
        try
        {
            run.Call.GivenUp(default, call.Index);
            Exception error = run.ItemTimedOut(call.Index);
            SafeCancel.Later(call.Stop!);
            FaultPoint.Pass("PumpWorker.GiveUpParked", run);
            worker = (PumpWorker<TItem, TResult, TPending, TCall, TSink>)run.CreateForParked();
            worker.HandOver(call.Index, error);
        }
        catch (Exception e)
        {
            run.LoseGivenUp(e);
            return;
        }

        try
        {
            FaultPoint.Pass("PumpWorker.GiveUp", run);
            run.Settings.Executor.QueueUrgently(worker);
        }
        catch (Exception e)
        {
            LoseHandedOver(worker, e);
        }
    }

    /// <summary>The orphan's parked calls, and what it has not told, are now those of the worker that replaces it.</summary>
    private void TakeParkedOf(PumpWorker<TItem, TResult, TPending, TCall, TSink> orphan)
    {
        if (orphan._parked is { } parked)
        {
            orphan._parked = null;
            Volatile.Write(ref _parked, parked);
            TellParked();
            StartTimer(_guard!);
            CheckDeadline();
        }
    }

    /// <summary>When the running item's own time limit passes.</summary>
    private long ItemDeadline => _guard?.ItemDeadline ?? long.MaxValue;

    /// <summary>Sets the deadline of the attempt: its own limit or the item's, whichever comes first.</summary>
    /// <returns>False if the item's time has already passed.</returns>
    private bool TryStartClock()
    {
        ItemGuard guard = _guard!;
        if (run.SeesStarts && _repetition is null && guard.Timer is not null)
        {
            // Most items end before anything needs to know when they began.
            guard.Stop = guard.Tokens!.Next();
            Volatile.Write(ref guard.Deadline, ItemGuard.NotSet);
            return true;
        }

        return TryStartClockNow(guard);
    }

    private bool TryStartClockNow(ItemGuard guard)
    {
        TimeProvider time = run.Settings.TimeProvider;
        long now = time.GetTimestamp();
        SetDeadline(now);
        if (now >= guard.ItemDeadline)
        {
            return false;
        }

        if (guard.Tokens is null)
        {
            run.AddTokens(guard.BeginTokens());
        }

        guard.Stop = guard.Tokens!.Next();
        if (guard.Timer is null)
        {
            StartTimer(guard);
        }
        else if (_repetition is not null)
        {
            // The remaining time of an item that comes back may be shorter than any limit.
            guard.Timer.Change(ItemLimits.RoundUp(time.GetElapsedTime(now, guard.Deadline)), Timeout.InfiniteTimeSpan);
        }

        return true;
    }

    // The timer stays on while the worker works, and checks the deadlines of whatever items run when it fires.
    private void StartTimer(ItemGuard guard) =>
        guard.BeginTimer(
            run.Settings.TimeProvider, static worker => ((PumpWorker<TItem, TResult, TPending, TCall, TSink>)worker!).CheckDeadline(), this)
            .Change(run.Limits.Shortest, Timeout.InfiniteTimeSpan);

    /// <summary>
    /// Sets the deadline of an item that started without one. Only for the owner of the item: its worker, or the thread that took it from the worker.
    /// </summary>
    private void SetDeadlineIfNotSet(long word)
    {
        if (_guard!.Deadline == ItemGuard.NotSet)
        {
            SetDeadline(_guard.SeenAt(word) ?? run.Settings.TimeProvider.GetTimestamp());
        }
    }

    private void SetDeadline(long start) => _guard!.SetDeadline(start, run.Limits, _repetition);

    private void CheckDeadline()
    {
        FaultPoint.Pass("PumpWorker.CheckDeadline", run);
        TimeProvider time = run.Settings.TimeProvider;
        ItemGuard guard = _guard!;
        long word = guard.Word;
        ItemLimits limits = run.Limits;
        TimeSpan left = limits.Shortest;
        switch (ItemWord.StateOf(word))
        {
            case ItemWord.Abandoned:
                return;
            case ItemWord.Moving:
            case ItemWord.Sharing:
                left = TimeSpan.FromMilliseconds(1);
                break;
            case ItemWord.InCall when guard.HasEnded(word):
                // Between two items.
                break;
            case ItemWord.InCall:
            case ItemWord.Shared:
            case ItemWord.Waiting:
                long deadline = Volatile.Read(ref guard.Deadline);
                if (deadline == ItemGuard.NotSet)
                {
                    if (guard.SeenAt(word) is not { } seen)
                    {
                        // The item has only just started.
                        break;
                    }

                    deadline = Math.Min(limits.OfItem(seen), limits.OfAttempt(seen));
                }

                if (deadline == ItemGuard.Never)
                {
                    break;
                }

                left = time.GetElapsedTime(time.GetTimestamp(), deadline);
                if (left <= TimeSpan.Zero)
                {
                    GiveUp(word);
                    return;
                }

                break;
        }

        left = CheckParkedDeadlines(left);
        guard.Timer?.Change(ItemLimits.RoundUp(left), Timeout.InfiniteTimeSpan);
    }

    private void GiveUp(long word)
    {
        PumpWorker<TItem, TResult, TPending, TCall, TSink>? successor = null;
        try
        {
            if (Detach(word))
            {
                successor = Replace(word);
                FaultPoint.Pass("PumpWorker.GiveUp", run);
                run.Settings.Executor.QueueUrgently(successor);
                return;
            }
        }
        catch (Exception e)
        {
            // Nothing throws before the item is taken from this worker. What it has not told is now for nobody else to tell.
            TellParked();
            LoseHandedOver(successor, e);
            return;
        }

        // The item has just ended, or its call has just started to wait. Its current state decides.
        CheckDeadline();
    }

    /// <summary>Makes the worker that takes the place of this one, whose item was given up.</summary>
    private PumpWorker<TItem, TResult, TPending, TCall, TSink> Replace(long word)
    {
        SetDeadlineIfNotSet(word);
        bool isItems = _guard!.Deadline >= _guard!.ItemDeadline;
        TimeSpan limit = (isItems ? run.Settings.PerItemTimeout : run.Recovery!.AttemptTimeout)!.Value;
        if (_around == Around.Call)
        {
            run.Settings.Adaptive?.TimedOut(limit);
        }

        Exception error = isItems ? run.ItemTimedOut(_index) : run.Recovery!.AttemptTimedOut((_repetition?.Attempts ?? 0) + 1);
        FaultPoint.Pass("PumpWorker.Replace", run);
        var successor = (PumpWorker<TItem, TResult, TPending, TCall, TSink>)run.CreateSuccessor(this);
        successor._item = _item;
        successor._repetition = _repetition;
        successor._guard!.ItemDeadline = _guard!.ItemDeadline;
        successor._guard.Tokens = _guard.Tokens;
        successor.TakeParkedOf(this);
        _guard!.Timer?.Dispose();
        successor.HandOver(_index, error);
        return successor;
    }
}
