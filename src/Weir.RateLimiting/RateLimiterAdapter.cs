using System.Diagnostics.CodeAnalysis;
using System.Threading.RateLimiting;

namespace Weir.Resilience;

/// <summary>Uses any <see cref="RateLimiter"/> to pace calls, in place of Weir's own <see cref="TokenBucket"/>.</summary>
/// <remarks>
/// The adapter is as fair, exact and thread-safe as the limiter. It holds a lease until the call has ended, so a concurrency limiter works as well. It does not
/// dispose the limiter, which remains its owner's.
/// </remarks>
[SuppressMessage("Usage", "CA2225:Operator overloads have named alternates", Justification = "RateLimitOptions.Shared is the same.")]
public sealed class RateLimiterAdapter : IRateLimit
{
    private readonly RateLimiter _limiter;
    private readonly int _permits;

    /// <summary>Creates an adapter for a limiter.</summary>
    /// <param name="limiter">The limiter. Its own settings decide how many calls may wait, and which.</param>
    /// <param name="permits">The number of permits that one call takes; at least 1.</param>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="permits"/> is less than 1.</exception>
    public RateLimiterAdapter(RateLimiter limiter, int permits = 1)
    {
        ArgumentNullException.ThrowIfNull(limiter);
        ArgumentOutOfRangeException.ThrowIfLessThan(permits, 1);
        _limiter = limiter;
        _permits = permits;
    }

    /// <summary>What the option <c>RateLimit</c> of runs and chains takes.</summary>
    /// <param name="adapter">The adapter, or <see langword="null"/>.</param>
    [return: NotNullIfNotNull(nameof(adapter))]
    public static implicit operator RateLimitOptions?(RateLimiterAdapter? adapter) => adapter is null ? null : RateLimitOptions.Shared(adapter);

    /// <inheritdoc/>
    public ValueTask<IDisposable?> EnterAsync(CancellationToken cancellationToken) => EnterAsync(_limiter.AcquireAsync(_permits, cancellationToken));

    /// <summary>The lease that a limiter gives, or its refusal as an exception.</summary>
    internal static ValueTask<IDisposable?> EnterAsync(ValueTask<RateLimitLease> wait)
    {
        if (!wait.IsCompletedSuccessfully)
        {
            return WaitAsync(wait);
        }

        RateLimitLease lease = wait.Result;
        return lease.IsAcquired ? new ValueTask<IDisposable?>(lease) : ValueTask.FromException<IDisposable?>(Reject(lease));
    }

    private static async ValueTask<IDisposable?> WaitAsync(ValueTask<RateLimitLease> wait)
    {
        RateLimitLease lease = await wait.ConfigureAwait(false);
        return lease.IsAcquired ? lease : throw Reject(lease);
    }

    private static RateLimitRejectedException Reject(RateLimitLease lease)
    {
        TimeSpan? retryAfter = lease.TryGetMetadata(MetadataName.RetryAfter, out TimeSpan after) ? after : null;
        lease.Dispose();
        return new RateLimitRejectedException(retryAfter);
    }
}
