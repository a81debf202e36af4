namespace Weir.Resilience;

/// <summary>The call was not made, because the rate limiter refused it. <see cref="TokenBucket"/> never refuses: it lets wait.</summary>
public sealed class RateLimitRejectedException : Exception
{
    /// <summary>Makes the exception.</summary>
    public RateLimitRejectedException()
        : this((TimeSpan?)null)
    {
    }

    /// <summary>Makes the exception.</summary>
    /// <param name="message">The message.</param>
    public RateLimitRejectedException(string message)
        : base(message)
    {
    }

    /// <summary>Makes the exception.</summary>
    /// <param name="message">The message.</param>
    /// <param name="innerException">Why.</param>
    public RateLimitRejectedException(string message, Exception? innerException)
        : base(message, innerException)
    {
    }

    /// <summary>Makes the exception.</summary>
    /// <param name="retryAfter">When the limiter says that another try is worth it, counted from now.</param>
    public RateLimitRejectedException(TimeSpan? retryAfter)
        : base("The rate limiter refused the call.") => RetryAfter = retryAfter;

    /// <summary>When another try is worth it, counted from the refusal; <see langword="null"/> when the limiter does not say.</summary>
    public TimeSpan? RetryAfter { get; }
}
