using System.Diagnostics;
using Weir.Core.Sources;

namespace Weir.Core.Dispatch;

/// <summary>How many more workers a run could use, as its workers see it after their items, and as the looks of the stall watch see it.</summary>
/// <remarks>
/// Workers ask for another one less often while those that come find nothing to read. They read and write the pause without a lock: two that ask at the same
/// moment call two helpers; one of them may find nothing, leaves, and makes the pause longer. No worker is ever missing for good, because each asks again after
/// its next items. Looks do not overlap, so what the last one saw belongs to them alone. What it asked for and has not come is guarded by the run's lock.
/// Workers read without it whether calls block: one that sees the answer of an earlier look returns to the pool once too often, or once too seldom.
/// </remarks>
internal struct WorkerDemand()
{
    // Waking another thread costs some microseconds on each side, so it is only worth it for work that lasts longer than this.
    private static readonly long WakeUpThreshold = Stopwatch.Frequency / 50_000;

    // Two workers that take turns for items smaller than this would only pass the turn back and forth.
    private static readonly long TurnThreshold = Math.Max(1, Stopwatch.Frequency / 6_000_000);

    private static readonly long LongestPause = Stopwatch.Frequency / 1_000;

    // Of the processors, as a share: then more workers would not help.
    private const double Saturated = 0.85;

    // What is less cannot be measured, nor divided by.
    private const double LeastCores = 0.01;

    // Of one worker between two looks: then its items take less than about 100 us, and what they leave idle is not worth another worker.
    private const int ManyClaims = 100;

    private long _claims;
    private int _executing;
    private int _wanted;
    private volatile bool _callsBlock;
    private long _next;
    private long _pause = WakeUpThreshold;

    /// <summary>Whether the calls of the run block, as far as the last look could tell.</summary>
    public readonly bool CallsBlock => _callsBlock;

    /// <summary>Whether another worker is of use to one that has worked since <paramref name="started"/> without a suspension.</summary>
    /// <param name="started">When the worker began, as a Stopwatch timestamp.</param>
    /// <param name="now">Now.</param>
    /// <param name="perItem">The approximate time per item, in Stopwatch ticks.</param>
    /// <param name="source">What is left to do.</param>
    public readonly bool IsHelpOfUse(long started, long now, double perItem, Source source)
    {
        if (now - started < WakeUpThreshold || now < Volatile.Read(in _next))
        {
            return false;
        }

        int count = source.KnownCount;
        return count < 0 ? !source.TakesTurns || perItem >= TurnThreshold : (count - source.NextIndex) * perItem >= WakeUpThreshold;
    }

    public void Asked(long now) => Volatile.Write(ref _next, now + Volatile.Read(ref _pause));

    /// <summary>A helper found the source busy and left without an item, or got one. The next one then comes later, or soon.</summary>
    public void RecordHelp(bool useful)
    {
        long pause = useful ? WakeUpThreshold : Math.Min(LongestPause, _pause * 2);
        if (pause != _pause)
        {
            Volatile.Write(ref _pause, pause);
        }
    }

    /// <summary>
    /// Judges what a look has seen. If items last and leave processors idle, as many workers are of use as would keep these busy, up to the limit.
    /// </summary>
    /// <param name="seen">What the run's workers do.</param>
    /// <param name="cores">How many cores the process has kept busy since the last look; not a number where the system does not say.</param>
    /// <param name="limit">How many workers there may be; 0 if the run is over.</param>
    /// <param name="threads">How many workers are of use in any case.</param>
    /// <param name="processors">How many cores there are.</param>
    /// <returns>How many more workers are of use.</returns>
    public int Look(in WorkerActivity seen, double cores, int limit, int threads, int processors)
    {
        long claimed = seen.Claims - _claims;
        int judged = Math.Min(seen.Executing, _executing);
        _claims = seen.Claims;
        _executing = seen.Executing;
        bool lasts = seen.Executing > 0 && claimed <= (long)seen.Executing * ManyClaims && limit > 0;

        // Workers that came since the last look may not have had the time to use their processors, so they are not judged yet.
        double useful = judged * (double.IsNaN(cores) ? 2 : Free(cores, seen.Computing, processors, out double busy) / busy);
        _callsBlock = lasts && useful > seen.Executing;
        return lasts ? (int)Math.Min(limit, Math.Max(threads, useful)) - seen.Executing : 0;
    }

    /// <summary>Sets how many workers are asked for.</summary>
    public void WantNeedsLock(int workers) => _wanted = workers;

    /// <summary>
    /// Takes one of those that are asked for. Only one waits for a thread at any time, and brings the next when it has one: the pool gives no more threads for
    /// a longer queue, in which other work would wait behind them.
    /// </summary>
    /// <param name="queued">How many workers wait for a thread.</param>
    public bool TryTakeNeedsLock(int queued)
    {
        if (_wanted <= 0 || queued > 0)
        {
            return false;
        }

        _wanted--;
        return true;
    }

    /// <summary>How many cores the run could keep busy: those that nothing else does, and some in any case, which is enough for calls that wait.</summary>
    /// <param name="cores">How many cores the process keeps busy.</param>
    /// <param name="computing">How many workers are inside calls that do not wait, as far as the runtime knows.</param>
    /// <param name="processors">How many cores there are.</param>
    /// <param name="busy">How many of those cores the run keeps busy, at most.</param>
    private static double Free(double cores, int computing, int processors, out double busy)
    {
        busy = Math.Max(Math.Min(cores, computing), LeastCores);
        return Math.Max((1 - Saturated) * processors, (Saturated * processors) - (cores - busy));
    }
}
