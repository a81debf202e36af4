namespace Weir.Resilience;

/// <summary>See <see cref="PlaceTurn"/>.</summary>
internal enum PlaceTurnState
{
    /// <summary>In the queue.</summary>
    Waiting,

    /// <summary>It has a place.</summary>
    Served,

    /// <summary>It left the queue without a place.</summary>
    Removed,
}
