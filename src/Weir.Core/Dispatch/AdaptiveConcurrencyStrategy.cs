namespace Weir;

/// <summary>How an adaptive limit changes: by how much it grows after a good window of calls, or falls after a bad one.</summary>
public enum AdaptiveConcurrencyStrategy
{
    /// <summary>
    /// Growth: doubles until the latency rises, and then goes to where a few calls queue at the server. Decrease: to that limit, or to a half for failures.
    /// Uses the latency whether or not a target is set.
    /// </summary>
    Gradient = 0,

    /// <summary>Growth: by 1. Decrease: to a half.</summary>
    AIMD = 1,

    /// <summary>Growth: by a tenth, at least 1. Decrease: to a half.</summary>
    Aggressive = 2,

    /// <summary>Growth: by 1. Decrease: to three quarters.</summary>
    Gradual = 3,
}
