namespace Weir.Resilience;

/// <summary>The call was not made, because too many calls already wait for a place of a <see cref="SharedConcurrencyLimit"/>.</summary>
public sealed class ConcurrencyLimitRejectedException : Exception
{
    /// <summary>Creates the exception.</summary>
    public ConcurrencyLimitRejectedException()
        : this("The concurrency limit has been reached, and too many calls already wait.")
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    public ConcurrencyLimitRejectedException(string message)
        : base(message)
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    /// <param name="innerException">The cause.</param>
    public ConcurrencyLimitRejectedException(string message, Exception? innerException)
        : base(message, innerException)
    {
    }

    /// <summary>Creates the exception for a rejected call.</summary>
    /// <param name="limit">The limit.</param>
    /// <param name="maxWaiting">How many calls may wait.</param>
    public ConcurrencyLimitRejectedException(int limit, int maxWaiting)
        : base($"All {limit} places of the concurrency limit are in use, and {maxWaiting} calls, the most allowed, already wait. The limit's maxWaiting sets how many may.")
    {
        Limit = limit;
        MaxWaiting = maxWaiting;
    }

    /// <summary>The limit when the call was rejected.</summary>
    public int Limit { get; }

    /// <summary>How many calls may wait.</summary>
    public int MaxWaiting { get; }
}
