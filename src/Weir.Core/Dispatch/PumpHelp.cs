using System.Diagnostics;

namespace Weir.Core.Dispatch;

/// <content>When a run gets another worker for synchronous work.</content>
internal abstract partial class Pump
{
    // Waking another thread costs some microseconds on each side, so it is only worth it for work that lasts longer than this.
    private static readonly long WakeUpThreshold = Stopwatch.Frequency / 50_000;
    /// <summary>Two workers that take turns for items smaller than this, in Stopwatch ticks, would only pass the turn back and forth.</summary>
    public static readonly long TurnThreshold = Math.Max(1, Stopwatch.Frequency / 6_000_000);
    private static readonly long LongestPause = Stopwatch.Frequency / 1_000;

    // Of the processors, as a share: then more workers would not help.
    private const double Saturated = 0.85;

    private long _nextHelp;
    private long _helpPause = WakeUpThreshold;
    private long _claimsSeen = -1;
    private int _waitingForTurn;
    private int _spinning;

    /// <summary>Whether workers left that would have continued to read if no other worker had been reading.</summary>
    public bool HasWaitingForTurn => Volatile.Read(ref _waitingForTurn) > 0;

    /// <summary>Called by a worker that has given up the turn and is about to run what it read. One of the workers that wait for the turn takes it.</summary>
    public void CallWaitingForTurn()
    {
        PumpWorker? worker;
        using (_lock.Hold())
        {
            if (_waitingForTurn == 0 || IsBusy)
            {
                // The worker that reads now calls the next one when it has read.
                return;
            }

            _waitingForTurn--;
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

    /// <summary>
    /// Whether a worker may briefly wait for the turn without leaving its thread. Not too many may, or they would keep the reader from its processor.
    /// </summary>
    public bool TryBeginSpinning()
    {
        if (Interlocked.Increment(ref _spinning) < Environment.ProcessorCount)
        {
            return true;
        }

        EndSpinning();
        return false;
    }

    public void EndSpinning() => Interlocked.Decrement(ref _spinning);

    /// <summary>Called by a worker that has worked since <paramref name="started"/> without a suspension.</summary>
    /// <param name="started">When the worker began, as a Stopwatch timestamp.</param>
    /// <param name="now">Now.</param>
    /// <param name="perItem">The approximate time per item, in Stopwatch ticks.</param>
    public void ConsiderHelp(long started, long now, double perItem)
    {
        if (now - started < WakeUpThreshold
            || now < Volatile.Read(ref _nextHelp)
            || Volatile.Read(ref _live) >= Volatile.Read(ref _limit))
        {
            return;
        }

        if (ReadsOneByOne && perItem < TurnThreshold)
        {
            return;
        }

        int count = KnownCount;
        if (count >= 0 && (count - NextIndex) * perItem < WakeUpThreshold)
        {
            return;
        }

        Volatile.Write(ref _nextHelp, now + Volatile.Read(ref _helpPause));
        if (CountExecuting() < Settings.Executor.Threads)
        {
            AddQueued();
        }
    }

    /// <summary>Called when a helper found the source busy and left without an item, or got one. The next helper then comes later, or soon.</summary>
    public void RecordHelp(bool useful)
    {
        long pause = useful ? WakeUpThreshold : Math.Min(LongestPause, _helpPause * 2);
        if (pause != _helpPause)
        {
            Volatile.Write(ref _helpPause, pause);
        }
    }

    /// <inheritdoc/>
    /// <remarks>Looks do not overlap.</remarks>
    public override void OnWatch(double cores)
    {
        HelpIfStalled(saturated: cores > Saturated * Environment.ProcessorCount);
        Settings.OnLook?.Invoke(cores);
    }

    /// <summary>If no item was claimed since the last look while synchronous calls run, one more worker starts.</summary>
    /// <param name="saturated">Whether the process keeps all processors busy, so that workers beyond their number would not help.</param>
    public void HelpIfStalled(bool saturated)
    {
        long claims = 0;
        int executing = 0;
        bool shared = false;
        for (PumpWorker? worker = Volatile.Read(ref _created); worker is not null; worker = worker.NextCreated)
        {
            claims += worker.Claims;
            executing += worker.IsExecuting ? 1 : 0;
            shared |= worker.ShareIfStuck();
        }

        if (shared)
        {
            AddQueued();
        }

        bool stalled = claims == Interlocked.Exchange(ref _claimsSeen, claims) && executing > 0;
        if (!stalled || _over || (saturated && executing >= Settings.Executor.Threads))
        {
            return;
        }

        // The worker that keeps the turn is inside an item that takes long.
        TakeKeptTurnAway();

        // Half as many again, so that a limit of hundreds is reached within a few ticks if the calls block.
        for (int more = Math.Max(1, executing / 2); more > 0 && AddQueued(); more--)
        {
        }
    }

    /// <summary>Takes the turn from a worker that keeps it while it is inside a long call.</summary>
    private void TakeKeptTurnAway()
    {
        int keptAs = EndKeeping();
        if (keptAs == 0)
        {
            return;
        }

        for (PumpWorker? worker = Volatile.Read(ref _created); worker is not null; worker = worker.NextCreated)
        {
            if (Volatile.Read(ref worker.Reads))
            {
                return;
            }
        }

        GiveUpKept(keptAs);
    }

    private int CountExecuting()
    {
        int executing = 0;
        for (PumpWorker? worker = Volatile.Read(ref _created); worker is not null; worker = worker.NextCreated)
        {
            executing += worker.IsExecuting || worker.IsQueued ? 1 : 0;
        }

        return executing;
    }
}
