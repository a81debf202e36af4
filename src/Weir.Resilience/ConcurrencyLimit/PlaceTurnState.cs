namespace Weir.Resilience;

/// <summary>How far a <see cref="PlaceTurn"/> is.</summary>
internal enum PlaceTurnState
{
    /// <summary>In the queue.</summary>
    Waiting,

    /// <summary>It has a permit.</summary>
    Served,

    /// <summary>It left the queue without a permit.</summary>
    Removed,
}
