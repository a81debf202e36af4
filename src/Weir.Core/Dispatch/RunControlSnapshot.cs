namespace Weir;

/// <summary>How far the runs of a <see cref="RunControl"/> are. The counts include runs that have ended.</summary>
/// <remarks><see cref="Started"/> is the sum of all the counts below it.</remarks>
public readonly record struct RunControlSnapshot
{
    /// <summary>Whether no item begins for now.</summary>
    public bool IsPaused { get; init; }

    /// <summary>Whether no item begins any more.</summary>
    public bool IsStopped { get; init; }

    /// <summary>The limit of each run that the control sets; <see langword="null"/> if it sets none.</summary>
    public int? MaxDegreeOfParallelism { get; init; }

    /// <summary>How many runs have begun and not ended.</summary>
    public int RunningRuns { get; init; }

    /// <summary>Items that have started, whether or not they have ended.</summary>
    public long Started { get; init; }

    /// <summary>Items that ended with a result.</summary>
    public long Succeeded { get; init; }

    /// <summary>Items that failed or timed out.</summary>
    public long Failed { get; init; }

    /// <summary>Items that were cancelled because their run was cancelled, failed or was left.</summary>
    public long Cancelled { get; init; }

    /// <summary>Items that are inside their call.</summary>
    public long InFlight { get; init; }

    /// <summary>Items that wait for another attempt, or for a place of a shared limit or a circuit, and hold no worker meanwhile.</summary>
    public long Waiting { get; init; }
}
