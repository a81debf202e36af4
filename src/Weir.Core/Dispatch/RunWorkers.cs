using System.Diagnostics;

namespace Weir.Core.Dispatch;

/// <summary>
/// The workers of a run: all of them, those that have nothing to do and are taken again first, how many are at work or wait for their items, and how many there
/// may be.
/// </summary>
/// <remarks>
/// All of it changes under the run's lock only. The stall watch and whoever gives up items walk the list of all without it, so a worker joins at the front, by
/// a volatile write after its link is set; otherwise such a thread could end at a worker whose link it does not see yet. A worker that leaves the list keeps
/// its link: a thread that is just at it goes on from there, and would miss the others otherwise. The numbers are read without the lock as hints, with one
/// exception: a worker that leaves is subtracted with a full fence before it looks whether its reason still holds, and whoever removes the reason looks at the
/// number after that. So one of both sees the other; in any other order, a worker could be missing for good.
/// </remarks>
internal struct RunWorkers(int limit)
{
    private PumpWorker? _all;
    private PumpWorker? _idle;
    private int _limit = limit;
    private int _live;
    private int _queued;

    /// <summary>Whether one is missing because the consumer of a stream is behind, or items wait in a backlog.</summary>
    public bool IsThrottled;

    /// <summary>The newest of all workers; the others follow by <see cref="PumpWorker.NextCreated"/>. Null before the start.</summary>
    public readonly PumpWorker? First => Volatile.Read(in _all);

    /// <summary>How many items may be in flight at once. A worker above the limit leaves when its item ends.</summary>
    public readonly int Limit => Volatile.Read(in _limit);

    /// <summary>How many workers are at work or waiting for their items, or for a thread.</summary>
    public readonly int Live => Volatile.Read(in _live);

    /// <summary>How many of these wait for a thread. They hold no item.</summary>
    public readonly int Queued => _queued;

    /// <summary>How many workers have a thread or started just now.</summary>
    public readonly int Executing
    {
        get
        {
            int executing = 0;
            for (PumpWorker? worker = First; worker is not null; worker = worker.NextCreated)
            {
                executing += worker.IsExecuting || worker.IsQueued ? 1 : 0;
            }

            return executing;
        }
    }

    /// <summary>What the workers do. Whoever has been inside one call for long gives to others what it claimed beyond it.</summary>
    public readonly WorkerActivity Look()
    {
        WorkerActivity seen = default;
        for (PumpWorker? worker = First; worker is not null; worker = worker.NextCreated)
        {
            seen.Add(worker);
        }

        return seen;
    }

    /// <summary>The run starts with its first worker, which waits for a thread.</summary>
    public void StartNeedsLock(PumpWorker first)
    {
        _all = first;
        _live = 1;
        QueueNeedsLock(first);
    }

    /// <summary>Changes the limit.</summary>
    /// <returns>By how many it is higher.</returns>
    public int SetLimitNeedsLock(int limit)
    {
        int more = limit - _limit;
        Volatile.Write(ref _limit, limit);
        return more;
    }

    /// <summary>A worker waits for a thread.</summary>
    public void QueueNeedsLock(PumpWorker worker)
    {
        worker.IsQueued = true;
        _queued++;
    }

    /// <summary>A worker that waited for a thread has one.</summary>
    public void EnterNeedsLock(PumpWorker worker)
    {
        worker.IsQueued = false;
        _queued--;
    }

    /// <summary>A worker is in the run, which has just created it if it was not in the list.</summary>
    public void AddNeedsLock() => Interlocked.Increment(ref _live);

    /// <summary>A worker is about to leave; see above.</summary>
    public void LeaveNeedsLock() => Interlocked.Decrement(ref _live);

    /// <summary>It stays after all.</summary>
    public void StayNeedsLock() => Interlocked.Increment(ref _live);

    /// <summary>A worker that has left has nothing to do.</summary>
    public void RestNeedsLock(PumpWorker worker)
    {
        worker.NextIdle = _idle;
        _idle = worker;
    }

    /// <summary>Takes a worker that has nothing to do, or null.</summary>
    public PumpWorker? TakeIdleNeedsLock()
    {
        PumpWorker? worker = _idle;
        if (worker is not null)
        {
            _idle = worker.NextIdle;
            worker.NextIdle = null;
        }

        return worker;
    }

    /// <summary>A new worker joins the list of all.</summary>
    public void JoinNeedsLock(PumpWorker worker)
    {
        worker.NextCreated = _all;
        Volatile.Write(ref _all, worker);
    }

    /// <summary>The run forgets a worker.</summary>
    public void ForgetNeedsLock(PumpWorker worker)
    {
        if (_all == worker)
        {
            Volatile.Write(ref _all, worker.NextCreated);
            return;
        }

        PumpWorker before = _all!;
        while (before.NextCreated != worker)
        {
            before = before.NextCreated!;
        }

        before.NextCreated = worker.NextCreated;
    }

    [Conditional("DEBUG")]
    public readonly void AssertInvariants()
    {
        Debug.Assert(_queued >= 0, "A worker enters once for each time it is queued.");
        Debug.Assert(_live >= _queued, "A queued worker is a live one.");
        Debug.Assert(_all is not null || _live == 0, "Live workers were created.");
    }
}
