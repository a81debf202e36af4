namespace Weir.Delivery;

/// <summary>Why an item could not be processed.</summary>
public enum DeadLetterReason
{
    /// <summary>It failed at each attempt it had.</summary>
    Failed,

    /// <summary>It failed in a way that no further attempt can change.</summary>
    Rejected,

    /// <summary>It ran longer than its time limit at each attempt it had.</summary>
    TimedOut,

    /// <summary>The process died of it, repeatedly, while it ran alone.</summary>
    Crashed,

    /// <summary>The message could not be read.</summary>
    Undecodable,

    /// <summary>The message is longer than the limit.</summary>
    TooLarge,
}
