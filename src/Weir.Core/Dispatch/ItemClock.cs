using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>
/// The clock of a worker's items: when the running one has to have ended, the token that tells it so, and the timer. The worker has one timer, which stays on
/// while it works and checks the deadlines of whatever runs when it fires, so an item costs none.
/// </summary>
/// <remarks>The worker sets it, and timers read it: the deadline last, so that who sees it sees the rest.</remarks>
internal struct ItemClock()
{
    /// <summary>Used in place of a deadline: the attempt has begun, but no thread has read the clock for it yet. See <see cref="ItemGuard.SeenAt"/>.</summary>
    public const long NotSet = long.MinValue;

    /// <summary>Used in place of a deadline: there is none.</summary>
    public const long Never = long.MaxValue;

    private ItemTokens? _tokens;
    private ITimer? _timer;

    /// <summary>When the attempt's time limit passes, as a timestamp of the run's clock; or <see cref="NotSet"/>.</summary>
    public long Deadline;

    /// <summary>When the item's own time limit, which covers all its attempts, passes. Only valid while <see cref="Deadline"/> is set.</summary>
    public long ItemDeadline = Never;

    /// <summary>
    /// The item's own token. It is cancelled when the item's time limit passes or the run stops. See <see cref="PumpSettings.SharesTokens"/>.
    /// </summary>
    public CancellationTokenSource? Stop;

    /// <summary>The timer, for the timer's own call and for who gives the worker up. The end of the run may just end it.</summary>
    public readonly ITimer? TimerNow => Volatile.Read(in _timer);

    /// <summary>An attempt begins: gives it a token and a deadline, its own limit or the item's, whichever comes first.</summary>
    /// <param name="run">The run.</param>
    /// <param name="worker">The worker, for its timer.</param>
    /// <param name="repetition">What the item brought along, if it comes back.</param>
    /// <returns>False if the item's time has already passed.</returns>
    public bool TryStart(Pump run, PumpWorker worker, Repetition? repetition)
    {
        if (run.SeesStarts && repetition is null && _timer is not null)
        {
            // Most items end before anything needs to know when they began.
            Stop = NextToken(run);
            Volatile.Write(ref Deadline, NotSet);
            return true;
        }

        return TryStartNow(run, worker, repetition);
    }

    private bool TryStartNow(Pump run, PumpWorker worker, Repetition? repetition)
    {
        long now = run.Time.GetTimestamp();
        Set(now, run.Limits, repetition);
        if (now >= ItemDeadline)
        {
            return false;
        }

        if (_tokens is null)
        {
            _tokens = new ItemTokens();
            run.AddTokens(_tokens);
        }

        Stop = NextToken(run);
        if (_timer is null)
        {
            StartTimer(run, worker);
        }
        else if (repetition is not null)
        {
            // The remaining time of an item that comes back may be shorter than any limit.
            _timer.Change(ItemLimits.RoundUp(run.Time.GetElapsedTime(now, Deadline)), Timeout.InfiniteTimeSpan);
        }

        return true;
    }

    // An item that was given up has left its token, which may be cancelled later than this, to the worker that ran it. Its successor begins with a new one.
    private readonly CancellationTokenSource NextToken(Pump run) =>
        run.Settings.SharesTokens && Stop is { IsCancellationRequested: false } ? Stop : _tokens!.Next();

    /// <summary>Sets the deadlines of an attempt that began at a given time. In this order: the item's is valid when that of the attempt is set.</summary>
    public void Set(long start, in ItemLimits limits, Repetition? repetition)
    {
        ItemDeadline = repetition?.DeadlineAt(start) ?? limits.OfItem(start);
        Volatile.Write(ref Deadline, Math.Min(ItemDeadline, limits.OfAttempt(start)));
    }

    public void StartTimer(Pump run, PumpWorker worker)
    {
        _timer = WatchTime.CreateTimer(run.Time, static worker => ((PumpWorker)worker!).CheckDeadline(), worker);
        _timer.Change(run.Limits.Shortest, Timeout.InfiniteTimeSpan);
    }

    public void EndTimer()
    {
        _timer?.Dispose();
        _timer = null;
    }

    /// <summary>The worker, which is new, goes on with the item and the tokens of one that was given up.</summary>
    public void Continue(in ItemClock orphan)
    {
        ItemDeadline = orphan.ItemDeadline;
        _tokens = orphan._tokens;
    }
}
