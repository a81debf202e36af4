namespace Weir.Delivery;

/// <summary>What a <see cref="WorkHost{T}"/> is doing.</summary>
public enum WorkHostState
{
    /// <summary>It has not been started.</summary>
    Created,

    /// <summary>It reads and processes.</summary>
    Running,

    /// <summary>It has stopped reading, and finishes its items.</summary>
    Draining,

    /// <summary>It has ended normally: everything that was read is done or returned.</summary>
    Stopped,

    /// <summary>It has ended with an exception. Items that were read but are not done will be delivered again.</summary>
    Failed,
}
