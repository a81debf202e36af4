using System.Diagnostics;

namespace Weir.Core.Dispatch;

/// <content>When a run gets another worker for synchronous work.</content>
internal abstract partial class Pump
{
    /// <summary>Two workers that take turns for items smaller than this, in Stopwatch ticks, would only pass the turn back and forth.</summary>
    private static readonly long TurnThreshold = Math.Max(1, Stopwatch.Frequency / 6_000_000);

    // Of the processors, as a share: then more workers would not help.
    private const double Saturated = 0.85;

    // What is less cannot be measured, nor divided by.
    private const double LeastCores = 0.01;

    // Of one worker between two looks: then its items take less than about 100 us, and what they leave idle is not worth another worker.
    private const int ManyClaims = 100;

    // What the stall watch saw at its last look. Only for the watch, whose looks do not overlap.
    private long _claimsSeen;
    private int _executingSeen;

    // How many workers the last look asked for that have not come yet. Guarded by the lock.
    private int _wanted;
    private volatile bool _callsBlock;
    private HelpPace _helpPace = new();
    private WaitingReaders _waitingReaders;

    /// <summary>The workers that would read if no other one were reading.</summary>
    public ref WaitingReaders WaitingReaders => ref _waitingReaders;

    /// <summary>
    /// Whether the calls block, as far as the last look could tell, so that the worker on this thread may keep it. Going back to the pool after each call would
    /// tell the pool that its threads make progress, and it adds none while they do.
    /// </summary>
    public bool KeepsThread => _callsBlock && Settings.Executor.MayKeepThread;

    /// <summary>Called by a worker that has given up the turn and is about to run what it read. One of the workers that wait for the turn takes it.</summary>
    public void CallWaitingForTurn()
    {
        PumpWorker? worker;
        using (_lock.Hold())
        {
            // A worker that reads now calls the next one when it has read.
            if (IsBusy || !_waitingReaders.TryTakeNeedsLock())
            {
                return;
            }

            worker = AddNeedsLock(queued: true);
        }

        if (worker is not null)
        {
            try
            {
                Settings.Executor.QueueNext(worker);
            }
            catch (Exception e)
            {
                EngineFailed(e);
            }
        }
    }

    /// <summary>Called by a worker that has worked since <paramref name="started"/> without a suspension.</summary>
    /// <param name="started">When the worker began, as a Stopwatch timestamp.</param>
    /// <param name="now">Now.</param>
    /// <param name="perItem">The approximate time per item, in Stopwatch ticks.</param>
    public void ConsiderHelp(long started, long now, double perItem)
    {
        if (now - started < HelpPace.WakeUpThreshold
            || !_helpPace.MayAsk(now)
            || Volatile.Read(ref _live) >= Volatile.Read(ref _limit))
        {
            return;
        }

        if (ReadsOneByOne && perItem < TurnThreshold)
        {
            return;
        }

        int count = KnownCount;
        if (count >= 0 && (count - NextIndex) * perItem < HelpPace.WakeUpThreshold)
        {
            return;
        }

        _helpPace.Asked(now);
        if (CountExecuting() < Settings.Executor.Threads)
        {
            AddQueued();
        }
    }

    /// <summary>Called when a helper found the source busy and left without an item, or got one. The next helper then comes later, or soon.</summary>
    public void RecordHelp(bool useful) => _helpPace.Record(useful);

    /// <inheritdoc/>
    /// <remarks>Looks do not overlap.</remarks>
    public override void OnWatch(double cores)
    {
        int stuck = HelpIfStalled(cores);
        Settings.Pilot?.Tick(stuck, cores);
    }

    /// <summary>If items last and leave processors idle, as many workers start as would keep these busy, up to the limit.</summary>
    /// <param name="cores">How many cores the process has kept busy since the last look; not a number where the system does not say.</param>
    /// <returns>How many items have been inside their calls since the last look.</returns>
    public int HelpIfStalled(double cores)
    {
        int stuck = 0;
        long claims = 0;
        int executing = 0;
        int computing = 0;
        bool shared = false;
        for (PumpWorker? worker = _workers.First; worker is not null; worker = worker.NextCreated)
        {
            claims += worker.Claims;
            if (worker.IsExecuting)
            {
                executing++;
                computing += worker.IsWaiting ? 0 : 1;
            }

            shared |= worker.ShareIfStuck(out bool isStuck);
            stuck += isStuck ? 1 : 0;
        }

        if (shared)
        {
            AddQueued();
        }

        long claimed = claims - _claimsSeen;
        int seen = Math.Min(executing, _executingSeen);
        _claimsSeen = claims;
        _executingSeen = executing;
        bool lasts = executing > 0 && claimed <= (long)executing * ManyClaims && !_over;

        // Workers that came since the last look may not have had the time to use their processors, so they are not judged yet.
        double useful = seen * (double.IsNaN(cores) ? 2 : Free(cores, computing, out double busy) / busy);
        int wanted = lasts ? (int)Math.Min(_limit, Math.Max(Settings.Executor.Threads, useful)) - executing : 0;
        _callsBlock = lasts && useful > executing;
        PumpWorker? helper;
        using (_lock.Hold())
        {
            _wanted = wanted - _queued;
            helper = AddWantedNeedsLock();
        }

        if (helper is not null)
        {
            Settings.Executor.Queue(helper);
        }

        return stuck;
    }

    /// <summary>How many cores the run could keep busy: those that nothing else does, and some in any case, which is enough for calls that wait.</summary>
    /// <param name="cores">How many cores the process keeps busy.</param>
    /// <param name="computing">How many workers are inside calls that do not wait, as far as the runtime knows.</param>
    /// <param name="busy">How many of those cores the run keeps busy, at most.</param>
    private static double Free(double cores, int computing, out double busy)
    {
        busy = Math.Max(Math.Min(cores, computing), LeastCores);
        return Math.Max((1 - Saturated) * Environment.ProcessorCount, (Saturated * Environment.ProcessorCount) - (cores - busy));
    }

    /// <summary>
    /// The next of the workers that the last look asked for. Only one waits for a thread at any time, and brings the next when it has one: the pool gives no
    /// more threads for a longer queue, in which other work would wait behind them.
    /// </summary>
    private PumpWorker? AddWantedNeedsLock()
    {
        if (_wanted <= 0 || _queued > 0)
        {
            return null;
        }

        _wanted--;
        return AddNeedsLock(queued: true);
    }

    private int CountExecuting()
    {
        int executing = 0;
        for (PumpWorker? worker = _workers.First; worker is not null; worker = worker.NextCreated)
        {
            executing += worker.IsExecuting || worker.IsQueued ? 1 : 0;
        }

        return executing;
    }
}
