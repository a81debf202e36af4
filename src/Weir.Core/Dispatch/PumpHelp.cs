using System.Diagnostics;

namespace Weir.Core.Dispatch;

/// <content>When a run gets another worker for synchronous work.</content>
internal abstract partial class Pump
{
    /// <summary>Two workers that take turns for items smaller than this, in Stopwatch ticks, would only pass the turn back and forth.</summary>
    private static readonly long TurnThreshold = Math.Max(1, Stopwatch.Frequency / 6_000_000);

    private WorkerDemand _demand;
    private HelpPace _helpPace = new();
    private WaitingReaders _waitingReaders;

    /// <summary>The workers that would read if no other one were reading.</summary>
    public ref WaitingReaders WaitingReaders => ref _waitingReaders;

    /// <summary>
    /// Whether the calls block, as far as the last look could tell, so that the worker on this thread may keep it. Going back to the pool after each call would
    /// tell the pool that its threads make progress, and it adds none while they do.
    /// </summary>
    public bool KeepsThread => _demand.CallsBlock && Settings.Executor.MayKeepThread;

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
        WorkerActivity seen = default;
        for (PumpWorker? worker = _workers.First; worker is not null; worker = worker.NextCreated)
        {
            seen.Add(worker);
        }

        if (seen.HasShared)
        {
            AddQueued();
        }

        int wanted = _demand.Look(seen, cores, IsOver ? 0 : _limit, Settings.Executor.Threads, Environment.ProcessorCount);
        PumpWorker? helper;
        using (_lock.Hold())
        {
            _demand.WantNeedsLock(wanted - _queued);
            helper = AddWantedNeedsLock();
        }

        if (helper is not null)
        {
            Settings.Executor.QueueWhileBlocked(helper);
        }

        return seen.Stuck;
    }

    /// <summary>The next of the workers that the last look asked for.</summary>
    private PumpWorker? AddWantedNeedsLock() => _demand.TryTakeNeedsLock(_queued) ? AddNeedsLock(queued: true) : null;

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
