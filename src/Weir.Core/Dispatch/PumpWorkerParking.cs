using Weir.Core.Sinks;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <content>Calls that the worker does not wait for itself; see <see cref="ParkedCall"/>.</content>
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
}
