namespace Weir.Resilience;

/// <summary>The call was not made, because the rate limiter rejected it. <see cref="TokenBucket"/> never rejects a call; it makes it wait.</summary>
public sealed class RateLimitRejectedException : Exception
{
    /// <summary>Creates the exception.</summary>
    public RateLimitRejectedException()
        : this((TimeSpan?)null)
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    public RateLimitRejectedException(string message)
        : base(message)
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    /// <param name="innerException">The cause.</param>
    public RateLimitRejectedException(string message, Exception? innerException)
        : base(message, innerException)
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="retryAfter">How long to wait before another attempt, according to the limiter.</param>
    public RateLimitRejectedException(TimeSpan? retryAfter)
        : base("The rate limiter refused the call.") => RetryAfter = retryAfter;

    /// <summary>How long to wait before another attempt, from the rejection; <see langword="null"/> if the limiter does not say.</summary>
    public TimeSpan? RetryAfter { get; }
}
