using System.Diagnostics.CodeAnalysis;
using Weir.Core.Sinks;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <content>
/// The time limits of items and attempts. Each worker has one timer, which stays on while it works and checks the deadline of whatever runs when it fires.
/// </content>
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>
{
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
            guard.Timer.Change(RoundUp(time.GetElapsedTime(now, guard.Deadline)), Timeout.InfiniteTimeSpan);
        }

        return true;
    }

    // The timer stays on while the worker works, and checks the deadlines of whatever items run when it fires.
    private void StartTimer(ItemGuard guard) =>
        guard.BeginTimer(
            run.Settings.TimeProvider, static worker => ((PumpWorker<TItem, TResult, TPending, TCall, TSink>)worker!).CheckDeadline(), this)
            .Change(ShortestLimit, Timeout.InfiniteTimeSpan);

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

    private void SetDeadline(long start)
    {
        ItemGuard guard = _guard!;
        guard.ItemDeadline = _repetition?.DeadlineAt(start) ?? After(start, run.Settings.PerItemTimeout);
        Volatile.Write(ref guard.Deadline, Math.Min(guard.ItemDeadline, After(start, run.Recovery?.AttemptTimeout)));
    }

    /// <summary>No attempt that starts from now on is due before this time has passed, except that of an item that comes back.</summary>
    private TimeSpan ShortestLimit
    {
        get
        {
            TimeSpan item = run.Settings.PerItemTimeout ?? TimeSpan.MaxValue;
            TimeSpan attempt = run.Recovery?.AttemptTimeout ?? TimeSpan.MaxValue;
            return item < attempt ? item : attempt;
        }
    }

    private long After(long now, TimeSpan? limit) =>
        limit is { } span ? now + (long)(span.TotalSeconds * run.Settings.TimeProvider.TimestampFrequency) : long.MaxValue;

    // Whole milliseconds, upwards: a timer that rounds to zero would spin.
    private static TimeSpan RoundUp(TimeSpan span) => TimeSpan.FromMilliseconds(Math.Max(0, Math.Ceiling(span.TotalMilliseconds)));

    private void CheckDeadline()
    {
        FaultPoint.Pass("PumpWorker.CheckDeadline", run);
        TimeProvider time = run.Settings.TimeProvider;
        ItemGuard guard = _guard!;
        long word = guard.Word;
        TimeSpan left = ShortestLimit;
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

                    deadline = Math.Min(After(seen, run.Settings.PerItemTimeout), After(seen, run.Recovery?.AttemptTimeout));
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
        guard.Timer?.Change(RoundUp(left), Timeout.InfiniteTimeSpan);
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

    /// <summary>
    /// A worker that has to record an outcome could not be made, or not be queued. The run does not wait for it, unless somebody has given it up already.
    /// </summary>
    private void LoseHandedOver(PumpWorker<TItem, TResult, TPending, TCall, TSink>? worker, Exception error)
    {
        if (worker is null || worker._guard!.TryLoseHanded())
        {
            run.LoseOrphan(error);
        }
        else
        {
            run.EngineFailed(error);
        }
    }

    /// <summary>The worker, which is new, has to record the outcome of an item that was given up.</summary>
    private void HandOver(long index, Exception error)
    {
        _wait = Wait.Handover;
        _index = index;
        _guard!.HandOver(error);
    }
}
