namespace Weir.Core.Dispatch;

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

    /// <summary>Adds a worker.</summary>
    public void Add(PumpWorker worker)
    {
        Claims += worker.Claims;
        if (worker.IsExecuting)
        {
            Executing++;
            Computing += worker.IsWaiting ? 0 : 1;
        }

        HasShared |= worker.ShareIfStuck(out bool isStuck);
        Stuck += isStuck ? 1 : 0;
    }
}
