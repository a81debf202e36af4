namespace Weir.Core.Metering;

/// <summary>What an item waits for without being inside its call.</summary>
internal enum WaitKind : byte
{
    /// <summary>The delay before its next attempt.</summary>
    Retry,

    /// <summary>An open circuit.</summary>
    CircuitBreaker,

    /// <summary>A place of a shared concurrency limit.</summary>
    ConcurrencyLimit,

    /// <summary>A rate limit.</summary>
    RateLimit,
}
