using System.Threading.RateLimiting;

namespace Weir.Resilience;

/// <summary>Uses any <see cref="PartitionedRateLimiter{TResource}"/> in place of Weir's own rate limits by key.</summary>
public static class PartitionedRateLimiterExtensions
{
    /// <summary>The limiter for <c>RateLimit</c> of a chain or a run, whose items are its resources.</summary>
    /// <typeparam name="TResource">The type of the items.</typeparam>
    /// <param name="limiter">The limiter. It chooses the partition of an item, and remains its owner's: it is not disposed.</param>
    /// <param name="permits">The number of permits that one call takes; at least 1.</param>
    /// <returns>The rate limits. A lease is held until its call has ended. An item of a run waits for its lease with its worker.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="limiter"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="permits"/> is less than 1.</exception>
    public static RateLimits ToRateLimits<TResource>(this PartitionedRateLimiter<TResource> limiter, int permits = 1)
    {
        ArgumentNullException.ThrowIfNull(limiter);
        ArgumentOutOfRangeException.ThrowIfLessThan(permits, 1);
        return RateLimits.Of<TResource>((item, cancellationToken) => RateLimiterAdapter.EnterAsync(limiter.AcquireAsync(item, permits, cancellationToken)));
    }
}
