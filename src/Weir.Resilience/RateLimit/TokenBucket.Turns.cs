using System.Diagnostics;

namespace Weir.Resilience;

// Items of runs that wait elsewhere, in a bucket that only they use. One timer calls the first item when its tokens should be there, and the items take them
// when they start. An item may start late, or never if its run is paused. So there are two marks: that of the tokens that were taken, which alone decides who
// may start, and a later one, as if all items that were called had taken theirs at that moment. It decides who is called next. So those behind an item leave
// its tokens to it, but do not wait for it for longer than it takes these to flow in.
public sealed partial class TokenBucket
{
    private static readonly TimeSpan RetryPause = TimeSpan.FromMilliseconds(10);

    private LinkedList<ItemRateTurn>? _turns;
    private int _called;
    private double _calledMark;
    private long _turnNumber;
    private ITimer? _timer;
    private long _timerFor;

    private int Turns => (_turns?.Count ?? 0) + _called;

    /// <summary>Takes the tokens of an item that may start at once, or gives it a turn at the end of the queue.</summary>
    /// <param name="turn">Its turn; null if it has its tokens.</param>
    internal bool TryEnter(out ItemRateTurn? turn)
    {
        ToldTurns<ItemRateTurn> called;
        turn = null;
        long now = Now;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            if (Turns == 0)
            {
                _calledMark = _mark;
            }

            if (_turns is not { Count: > 0 } && _calledMark - _reach <= now)
            {
                _mark = MarkAfter(_mark, now);
                _calledMark = MarkAfter(_calledMark, now);
            }
            else
            {
                turn = new ItemRateTurn(this) { Number = ++_turnNumber };
                (_turns ??= []).AddLast(turn.Node);
            }

            called = CallNeedsLock(now);
        }

        called.Tell();
        return turn is null;
    }

    /// <summary>Takes the tokens of an item that was called, or makes it wait again, before all that came after it.</summary>
    internal bool TryEnter(ItemRateTurn turn)
    {
        ToldTurns<ItemRateTurn> called;
        bool taken;
        long now = Now;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            if (!turn.IsCalled)
            {
                return false;
            }

            taken = TryTakeNeedsLock(now);
            UncallNeedsLock(turn, taken);
            if (!taken)
            {
                turn.WaitAgain();
                turn.InsertInto(_turns!);
            }

            called = CallNeedsLock(now);
        }

        called.Tell();
        return taken;
    }

    /// <summary>Takes a turn out of the queue. Never throws: the item has ended, and its run may be ending too.</summary>
    internal void Drop(ItemRateTurn turn)
    {
        ToldTurns<ItemRateTurn> called;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            if (turn.IsCalled)
            {
                UncallNeedsLock(turn, taken: false);
            }
            else
            {
                _turns!.Remove(turn.Node);
            }

            called = CallOthersNeedsLock();
        }

        called.Tell();
    }

    private ToldTurns<ItemRateTurn> CallOthersNeedsLock()
    {
        try
        {
            // Without anybody to call, the time does not matter.
            return CallNeedsLock(_turns is { Count: > 0 } ? Now : 0);
        }
        catch (Exception)
        {
            CallLaterNeedsLock();
            return default;
        }
    }

    private void UncallNeedsLock(ItemRateTurn turn, bool taken)
    {
        turn.IsCalled = false;
        _called--;

        // Rounding must not add up, so the marks are the same when no item has tokens to take. An item that started late may have moved its mark beyond the
        // other.
        _calledMark = _called == 0 ? _mark : Math.Max(_mark, taken ? _calledMark : _calledMark - _cost);
    }

    /// <summary>The last step of every change: calls the items whose time has come, and sets the timer for the next one.</summary>
    /// <param name="now">The time since the origin.</param>
    /// <returns>Those to be told, without the lock.</returns>
    private ToldTurns<ItemRateTurn> CallNeedsLock(long now)
    {
        ToldTurns<ItemRateTurn> called = default;
        if (_turns is { Count: > 0 } turns)
        {
            while (turns.First is { } node && _calledMark - _reach <= now)
            {
                ItemRateTurn turn = node.Value;
                turns.RemoveFirst();
                turn.IsCalled = true;
                _called++;
                _calledMark = MarkAfter(_calledMark, now);
                called.Add(turn);
            }

            SetTimerNeedsLock(turns, now);
        }
        else
        {
            StopTimerNeedsLock();
        }

        return called;
    }

    private void SetTimerNeedsLock(LinkedList<ItemRateTurn> turns, long now)
    {
        if (turns.Count == 0)
        {
            StopTimerNeedsLock();
            return;
        }

        long start = StartTicks(_calledMark);
        if (_timer is null)
        {
            // Without the execution context of the first one that waits.
            using (ExecutionContext.IsFlowSuppressed() ? default : ExecutionContext.SuppressFlow())
            {
                _timer = _clock.Provider.CreateTimer(
                    static bucket => Unattended.Run(
                        (TokenBucket)bucket!, static bucket => bucket.CallTurns(), static (bucket, _) => bucket.CallTurnsAgain()),
                    this,
                    Timeout.InfiniteTimeSpan,
                    Timeout.InfiniteTimeSpan);
            }
        }
        else if (start == _timerFor)
        {
            return;
        }

        _timer.Change(TimerDelay.RoundUp(_clock.ToTimeSpan(start - now)), Timeout.InfiniteTimeSpan);
        _timerFor = start;
    }

    private void StopTimerNeedsLock()
    {
        ITimer? timer = _timer;
        _timer = null;
        timer?.Dispose();
    }

    // There was no memory, or the clock is the user's. The items still wait.
    private void CallTurnsAgain()
    {
        lock (_lock)
        {
            CallLaterNeedsLock();
        }
    }

    private void CallLaterNeedsLock()
    {
        _timerFor = -1;
        _timer?.Change(RetryPause, Timeout.InfiniteTimeSpan);
    }

    private void CallTurns()
    {
        ToldTurns<ItemRateTurn> called;
        long now = Now;
        lock (_lock)
        {
            if (Turns == 0)
            {
                return;
            }

            AssertInvariantsNeedsLock();

            // It has fired, perhaps early.
            _timerFor = -1;
            called = CallNeedsLock(now);
        }

        called.Tell();
    }
}
