using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using Weir.Core.Live;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Threads;
using Weir.Observability;

namespace Weir.Core.Dispatch;

// The runs of the process that are under way.
//
// - Each run is in one list until it ends, so a listener that comes late still finds it. A run that was read, or that ends while somebody listens, is handed to
//   the RunObserver, which adds its counts to those of ended runs in one step. Items report nothing, apart from call durations, spans and waits; whether these
//   are wanted is asked once per run or wait.
// - The watch looks at those that want it every 10 ms (OnWatch). All of it is under RunsLock, except for the looks themselves, which do not overlap.

/// <summary>
/// The active runs of the process. The watch looks at them every few milliseconds, because workers that are all stuck inside long synchronous calls cannot ask
/// for help themselves. There is one timer for the process, on the watch's own thread. It is stopped while no run needs a look. Observers find here what is
/// under way.
/// </summary>
internal static class StallWatch
{
    private const int PeriodMilliseconds = 10;

    // The idle periods before the timer is stopped, so that a series of short runs does not start and stop it each time.
    private const int IdlePeriods = 100;

    /// <summary>Guards all of this. Tests hold it so that the watch does not find a run of theirs.</summary>
    internal static readonly Lock RunsLock = new();

    private static readonly List<LiveRun> Runs = [];

    // Threads and their stalls are real, so this clock is the system's, not the run's.
    private static readonly WatchTimer Timer = new(Tick, null);
    private static bool _ticking;
    private static int _idle;
    private static TimeSpan _cpu;
    private static long _stamp;

    static StallWatch() => LiveSource.Add(new LiveRuns());

    /// <summary>Adds a run, unless it has ended already.</summary>
    public static void Add(LiveRun run)
    {
        bool start;
        lock (RunsLock)
        {
            if (run.HasLeft)
            {
                return;
            }

            run.WatchIndex = Runs.Count;
            Runs.Add(run);
            start = run.IsWatched && !_ticking;
            _ticking |= start;
        }

        if (start)
        {
            Timer.Change(TimeSpan.FromMilliseconds(PeriodMilliseconds), TimeSpan.FromMilliseconds(PeriodMilliseconds));
        }
    }

    /// <summary>Removes a run for good.</summary>
    /// <returns>False if that was done before.</returns>
    public static bool Remove(LiveRun run)
    {
        lock (RunsLock)
        {
            return RemoveNeedsLock(run);
        }
    }

    /// <summary>Removes a run for good, unless the observer is to count it.</summary>
    /// <returns>Whether it has left the list, now or before.</returns>
    public static bool RemoveUncounted(LiveRun run, bool wantsEnds)
    {
        lock (RunsLock)
        {
            if (!run.HasLeft && (wantsEnds || run.IsSeen))
            {
                return false;
            }

            RemoveNeedsLock(run);
            return true;
        }
    }

    private static bool RemoveNeedsLock(LiveRun run)
    {
        if (run.HasLeft)
        {
            return false;
        }

        run.HasLeft = true;
        run.IsWatched = false;
        int index = run.WatchIndex;
        if (index >= 0)
        {
            LiveRun last = Runs[^1];
            Runs[index] = last;
            last.WatchIndex = index;
            Runs.RemoveAt(Runs.Count - 1);
            run.WatchIndex = -1;
        }

        return true;
    }

    /// <summary>The runs under way that anybody may see.</summary>
    public static List<LiveRun> UnderWay()
    {
        lock (RunsLock)
        {
            return Runs.FindAll(static run => run.Operation is not null);
        }
    }

    /// <summary>The runs under way that the observer has not seen, or null if there are none.</summary>
    public static List<LiveRun>? Unseen()
    {
        lock (RunsLock)
        {
            List<LiveRun>? unseen = null;
            foreach (LiveRun run in Runs)
            {
                if (!run.IsSeen && run.Operation is not null)
                {
                    (unseen ??= []).Add(run);
                }
            }

            return unseen;
        }
    }

    /// <summary>Records that the observer shows a run from now on.</summary>
    /// <returns>False if it has ended, or is shown already.</returns>
    public static bool TrySee(LiveRun run)
    {
        lock (RunsLock)
        {
            bool isNew = run is { IsSeen: false, HasLeft: false };
            run.IsSeen |= isNew;
            return isNew;
        }
    }

    private static void Tick(object? state)
    {
        LiveRun[] runs;
        lock (RunsLock)
        {
            runs = WatchedNeedsLock();
            _idle = runs.Length == 0 ? _idle + 1 : 0;
            if (_idle > IdlePeriods)
            {
                _idle = 0;
                _ticking = false;
                Timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
                return;
            }

            if (runs.Length == 0)
            {
                return;
            }
        }

        Look(runs);
    }

    private static void Look(LiveRun[] runs)
    {
        double cores = BusyCores();
        foreach (LiveRun run in runs)
        {
            try
            {
                FaultPoint.Pass("StallWatch.Look", run);
                run.OnWatch(cores);
            }
            catch (Exception e)
            {
                // No user code gets here. If the engine itself fails, the run fails with it, and the others keep their watch.
                Unattended.TryReport(run, e);
            }
        }
    }

    private static LiveRun[] WatchedNeedsLock()
    {
        int count = 0;
        foreach (LiveRun run in Runs)
        {
            count += run.IsWatched ? 1 : 0;
        }

        if (count == 0)
        {
            return [];
        }

        LiveRun[] watched = new LiveRun[count];
        foreach (LiveRun run in Runs)
        {
            // It may have been cleared meanwhile, but is set only before the run is added.
            if (run.IsWatched && count > 0)
            {
                watched[--count] = run;
            }
        }

        return count == 0 ? watched : watched[count..];
    }

    [SuppressMessage("Interoperability", "CA1416:Validate platform compatibility", Justification = "Guarded by the platform checks.")]
    private static double BusyCores()
    {
        if (OperatingSystem.IsIOS() || OperatingSystem.IsTvOS() || OperatingSystem.IsBrowser())
        {
            return double.NaN;
        }

        TimeSpan cpu = Environment.CpuUsage.TotalTime;
        long stamp = TimeProvider.System.GetTimestamp();
        TimeSpan wall = TimeProvider.System.GetElapsedTime(_stamp, stamp);
        double cores = wall > TimeSpan.Zero ? (cpu - _cpu) / wall : double.NaN;
        _cpu = cpu;
        _stamp = stamp;
        return cores;
    }
}

/// <summary>
/// What goes on for a while and can be seen meanwhile: in the list of the <see cref="StallWatch"/> from its start to its end. Nothing here costs an item.
/// </summary>
internal abstract class LiveRun
{
    /// <summary>The index in the watch's list, or -1 if it is not in the list. Guarded by the watch's lock, as the next two are.</summary>
    public int WatchIndex = -1;

    /// <summary>Whether the observer has shown it to somebody, so that its counts must not be lost.</summary>
    public bool IsSeen;

    /// <summary>Whether it has left the list for good.</summary>
    public bool HasLeft;

    /// <summary>Whether the stall watch looks at it.</summary>
    public volatile bool IsWatched;

    /// <summary>When it started, as a timestamp of its clock.</summary>
    public long StartedAt;

    /// <summary>What the caller called, such as SelectParallelAsync; null if nobody is to see it.</summary>
    public abstract string? Operation { get; }

    /// <summary>What observers know the caller's own name and tags from.</summary>
    public abstract IRunAbout? About { get; }

    /// <summary>What pauses, limits and stops it, or null.</summary>
    public virtual RunControl? Control => null;

    /// <summary>How many items there are, or null if that is not known before the end.</summary>
    public virtual long? Total => null;

    /// <summary>How many items are in the batches that have ended, if it counts batches; otherwise null.</summary>
    public virtual BatchTally? Tally => null;

    /// <summary>Whether nothing more of it begins, because it was stopped.</summary>
    public virtual bool IsStopping => false;

    /// <summary>What its workers do at this moment; null if that says nothing.</summary>
    public virtual StageSample? Stage() => null;

    /// <summary>The last failure of an item or the source, or null.</summary>
    public virtual Exception? LastError => null;

    /// <summary>The clock.</summary>
    public abstract TimeProvider Time { get; }

    /// <summary>Who is told of each wait, besides the observer, or null.</summary>
    protected virtual WaitListener? Waits => null;

    /// <summary>The counts so far.</summary>
    public abstract RunSample Sample();

    /// <summary>Called by the stall watch.</summary>
    /// <param name="cores">How many cores the process has kept busy since the last look; not a number where the system does not say.</param>
    public virtual void OnWatch(double cores)
    {
    }

    /// <summary>An item begins to wait.</summary>
    /// <param name="kind">What it waits for.</param>
    /// <param name="first">Since when, as a timestamp of the run's clock, counting the waits right before it for the same.</param>
    public void WaitBegins(WaitKind kind, long first) => Waits?.Began(kind, first);

    /// <summary>An item has waited, and goes on.</summary>
    /// <param name="kind">What it waited for.</param>
    /// <param name="since">When it began to wait, as a timestamp of the run's clock.</param>
    /// <param name="first">What <see cref="WaitBegins"/> was told.</param>
    public void WaitEnds(WaitKind kind, long since, long first)
    {
        if (Operation is not null && RunObserver.Current is { WantsWaits: true } observer)
        {
            observer.Waited(this, kind, Time.GetElapsedTime(since));
        }

        Waits?.Ended(kind, first);
    }

    /// <summary>All has ended: it leaves the list, and is counted if somebody has seen it or wants to know of each end.</summary>
    protected void LeaveWatch(ItemStatus ending)
    {
        RunObserver? observer = Operation is null ? null : RunObserver.Current;
        if (observer is null)
        {
            StallWatch.Remove(this);
        }
        else if (!StallWatch.RemoveUncounted(this, observer.WantsEnds))
        {
            observer.Ended(this, ending);
        }
    }
}

/// <summary>What the caller has said of a run.</summary>
internal interface IRunAbout
{
    /// <summary>The caller's own name for it, or null.</summary>
    string? Name { get; }

    /// <summary>The runtime that it is a call of, or null.</summary>
    object? Runtime { get; }

    /// <summary>How many items there are, if the caller has said it.</summary>
    long? Total { get; }
}

/// <summary>Reads the runs under way for snapshots.</summary>
internal sealed class LiveRuns : LiveSource
{
    private static readonly LiveAction[] Controlled = [LiveAction.Pause, LiveAction.Resume, LiveAction.Stop, LiveAction.SetLimit];

    public override void Read(LiveReading reading)
    {
        foreach (LiveRun run in StallWatch.UnderWay())
        {
            RunSample sample = run.Sample();
            RunControl? control = run.Control;
            BatchTally? tally = run.Tally;
            reading.Entries.Add(new LiveEntry
            {
                Id = LiveIds.Of(LiveKind.Run, run),
                Kind = LiveKind.Run,
                Type = run.Operation!,
                Name = run.About?.Name,
                State = run.IsStopping || control is { IsStopped: true } ? LiveState.Stopping
                    : control is { IsPaused: true } ? LiveState.Paused
                    : LiveState.Running,
                Parent = run.About?.Runtime is { } runtime ? LiveIds.Of(LiveKind.Runtime, runtime) : null,
                Since = reading.At(run.Time, run.StartedAt),
                Done = tally?.Succeeded ?? sample.Succeeded,
                Failed = tally?.Failed ?? sample.Failed,
                Cancelled = tally?.Cancelled ?? sample.Cancelled,
                Batches = tally is null ? null : sample.Succeeded + sample.Unsuccessful,
                Retried = sample.Retries,
                InFlight = sample.Active,
                Waiting = Math.Max(0, sample.Claimed - sample.Succeeded - sample.Unsuccessful - sample.Active),
                Waits = sample.Delayed + sample.AtRateLimit == 0 ? null : new LiveWaits(
                    Math.Max(0, sample.Delayed - sample.WaitingForCircuit - sample.WaitingForPermit - sample.WaitingForRate),
                    sample.WaitingForCircuit,
                    sample.WaitingForPermit,
                    sample.AtRateLimit + sample.WaitingForRate),
                Output = sample.Undelivered,
                Limit = sample.Limit,
                Total = run.About?.Total ?? run.Total,
                LastError = LiveError.Of(run.LastError),
                Circuits = sample.CircuitsClosed + sample.CircuitsOpen + sample.CircuitsHalfOpen == 0
                    ? null
                    : new LiveCircuits(sample.CircuitsClosed, sample.CircuitsHalfOpen, sample.CircuitsOpen),
                Actions = control is null ? [] : Controlled,
            });
        }
    }

    public override void Sample(Action<string, StageSample> add)
    {
        foreach (LiveRun run in StallWatch.UnderWay())
        {
            if (LiveIds.Known(run) is { } id && run.Stage() is { } sample)
            {
                add(id, sample);
            }
        }
    }

    protected override IEnumerable<object> Targets() => StallWatch.UnderWay();

    protected override IEnumerable<object?> Sides(object target) => [((LiveRun)target).Control, target];
}

/// <summary>Who reads the runs of the process while they go on, and counts them when they end. There is one once something can be listened to.</summary>
internal abstract class RunObserver
{
    private static volatile RunObserver? _current;

    /// <summary>The observer of the process, or null until there is one.</summary>
    public static RunObserver? Current
    {
        get => _current;
        set => _current = value;
    }

    /// <summary>Whether runs that nobody has seen are told too when they end.</summary>
    public abstract bool WantsEnds { get; }

    /// <summary>Whether waits are told.</summary>
    public abstract bool WantsWaits { get; }

    /// <summary>An item of a run has waited. Must not throw.</summary>
    public abstract void Waited(LiveRun run, WaitKind kind, TimeSpan elapsed);

    /// <summary>A run has ended, and its counts are final. It is in the list of the watch until the observer removes it. Must not throw.</summary>
    /// <param name="run">The run.</param>
    /// <param name="ending"><see cref="ItemStatus.Succeeded"/> if it was completed.</param>
    public abstract void Ended(LiveRun run, ItemStatus ending);
}

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

    // An item that takes longer than this is no accident of tiny ones: then the next worker need not wait for the time above, only for as much work.
    private static readonly long LastingThreshold = Stopwatch.Frequency / 250_000;

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
    private volatile bool _expected;
    private volatile bool _expects;
    private volatile bool _lasts;
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
        long least = perItem >= LastingThreshold ? LastingThreshold : WakeUpThreshold;
        if (now - started < least || now < Volatile.Read(in _next))
        {
            return false;
        }

        int count = source.KnownCount;
        return count < 0
            ? !source.TakesTurns || perItem >= TurnThreshold
            : (count - source.NextIndex) * perItem >= Math.Min(WakeUpThreshold, 2 * least);
    }

    /// <summary>Whether items of this run last.</summary>
    public readonly bool Lasts => _lasts;

    /// <summary>Whether a worker that begins is to bring the next one: items of this run last, or are expected to.</summary>
    public readonly bool ExpectsMore => _expects;

    /// <summary>Whether the run was expected to be otherwise.</summary>
    public readonly bool WasWrong => _lasts != _expected;

    /// <summary>What the last run was like. Before the start.</summary>
    public void Expect(bool lasts) => _expected = _expects = lasts;

    /// <summary>Notes how long items take.</summary>
    public void Note(double perItem)
    {
        bool lasts = perItem >= LastingThreshold;
        if (lasts && !_lasts)
        {
            _lasts = true;
        }

        if (_expects != lasts && (lasts || !_lasts))
        {
            _expects = lasts;
        }
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

/// <summary>What the workers of a run do at one look.</summary>
internal struct WorkerActivity
{
    /// <summary>How many items all of them have claimed since the start.</summary>
    public long Claims;

    /// <summary>How many are inside a call.</summary>
    public int Executing;

    /// <summary>How many of these do not wait there, as far as the runtime knows.</summary>
    public int Computing;

    /// <summary>How many have been inside the same call since the look before.</summary>
    public int Stuck;

    /// <summary>Whether one of these has shared what it had claimed with the others.</summary>
    public bool HasShared;
}
