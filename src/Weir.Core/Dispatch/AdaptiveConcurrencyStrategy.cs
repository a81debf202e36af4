namespace Weir;

/// <summary>How an adaptive limit moves: by how much it grows after a good window of calls, or falls after a bad one.</summary>
public enum AdaptiveConcurrencyStrategy
{
    /// <summary>
    /// Growing: doubles until the first bad sign, then by about half the square root of the limit. Falling: to the load at which the latency
    /// would be back at its baseline. Looks at the latency whether or not a target is set.
    /// </summary>
    Gradient = 0,

    /// <summary>Growing: by 1. Falling: to a half.</summary>
    AIMD = 1,

    /// <summary>Growing: by a tenth, at least 1. Falling: to a half.</summary>
    Aggressive = 2,

    /// <summary>Growing: by 1. Falling: to three quarters.</summary>
    Gradual = 3,
}
