namespace Weir.Lab.Workers;

/// <summary>Where a window is. Workers look at it between operations.</summary>
internal enum WindowPhase
{
    /// <summary>Workers start; nothing counts until all run.</summary>
    Ramp,

    /// <summary>All workers run and count.</summary>
    Measure,

    /// <summary>Each worker ends its part with its current operation, and keeps up the load until all have.</summary>
    Leave,

    /// <summary>Workers end.</summary>
    Stop,
}
