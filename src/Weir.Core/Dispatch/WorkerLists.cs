using System.Diagnostics;

namespace Weir.Core.Dispatch;

/// <summary>The workers of a run: all of them, and those that have nothing to do and are taken again first.</summary>
/// <remarks>
/// Both lists change under the run's lock only. The stall watch and whoever gives up items walk the list of all without it, so a worker joins at the front, by
/// a volatile write after its link is set; otherwise such a thread could end at a worker whose link it does not see yet. A worker that leaves the list keeps
/// its link: a thread that is just at it goes on from there, and would miss the others otherwise.
/// </remarks>
internal struct WorkerLists
{
    private PumpWorker? _all;
    private PumpWorker? _idle;

    /// <summary>The newest of all workers; the others follow by <see cref="PumpWorker.NextCreated"/>. Null before the start.</summary>
    public readonly PumpWorker? First => Volatile.Read(in _all);

    /// <summary>A worker that has nothing to do: before the start, the one that the run was kept with.</summary>
    public readonly PumpWorker? Idle => _idle;

    /// <summary>The run starts with its first worker.</summary>
    public void StartNeedsLock(PumpWorker first)
    {
        _all = first;
        _idle = null;
    }

    public void AddNeedsLock(PumpWorker worker)
    {
        worker.NextCreated = _all;
        Volatile.Write(ref _all, worker);
    }

    public void RemoveNeedsLock(PumpWorker worker)
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

    /// <summary>A worker has nothing to do.</summary>
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

    /// <summary>The run has ended and is kept: it forgets all workers but one.</summary>
    /// <returns>That one.</returns>
    public PumpWorker KeepOne()
    {
        Debug.Assert(_idle is not null, "The last worker of a run left it with nothing to do.");
        _all = null;
        return _idle;
    }
}
