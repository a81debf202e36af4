namespace Weir.Delivery;

/// <summary>Why an item could not be processed.</summary>
public enum DeadLetterReason
{
    /// <summary>It failed at every attempt.</summary>
    Failed,

    /// <summary>It failed in a way that another attempt cannot fix.</summary>
    Rejected,

    /// <summary>It exceeded its time limit at every attempt.</summary>
    TimedOut,

    /// <summary>The process died repeatedly while the item ran alone.</summary>
    Crashed,

    /// <summary>The message could not be read.</summary>
    Undecodable,

    /// <summary>The message is longer than the limit.</summary>
    TooLarge,
}
