namespace Weir.Delivery;

/// <summary>What a <see cref="WorkHost{T}"/> is doing.</summary>
public enum WorkHostState
{
    /// <summary>It has not been started.</summary>
    Created,

    /// <summary>It reads and processes.</summary>
    Running,

    /// <summary>It reads no more, and finishes what it has.</summary>
    Draining,

    /// <summary>It has ended in an orderly way: everything that was read is done or has been given back.</summary>
    Stopped,

    /// <summary>It has ended with an exception. What was read and not done will be delivered again.</summary>
    Failed,
}
