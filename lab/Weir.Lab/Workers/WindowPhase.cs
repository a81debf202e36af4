namespace Weir.Lab.Workers;

/// <summary>Where a window is. Workers look at it between operations.</summary>
internal enum WindowPhase
{
    /// <summary>Workers start; nothing counts until each has ended an operation.</summary>
    Ramp,

    /// <summary>All workers run and count.</summary>
    Measure,

    /// <summary>Each worker ends the operation that was under way, and keeps up the load until all have.</summary>
    Leave,

    /// <summary>Workers end.</summary>
    Stop,
}
