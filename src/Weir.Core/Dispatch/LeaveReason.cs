namespace Weir.Core.Dispatch;

/// <summary>Why a worker has nothing to do. Checked once more under the lock before it leaves.</summary>
internal enum LeaveReason
{
    /// <summary>Nothing is left to claim, or the run has ended.</summary>
    Exhausted,

    /// <summary>Another worker is reading the source, and this one has not had an item since it came.</summary>
    Busy,

    /// <summary>Another worker is reading the source. This one had items before, and is called when the turn is given up.</summary>
    WaitsForTurn,

    /// <summary>The consumer of the results is behind.</summary>
    Throttled,

    /// <summary>There are more workers than the limit allows.</summary>
    TooMany,

    /// <summary>The run is paused, and nothing that has begun waits for a worker.</summary>
    Paused,
}
