using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;

namespace Weir.Resilience;

/// <summary>
/// How many calls per second, and how many at once; or, in the option <c>RateLimit</c> of a run or a chain, a limit that is shared. Immutable.
/// </summary>
/// <remarks>
/// The values are checked when a <see cref="TokenBucket"/> is created from them. A <see cref="TokenBucket"/> and the limits of
/// <see cref="RateLimits.ByKey{TItem, TKey}"/> convert to options, so the option <c>RateLimit</c> takes them; for a limit of your own, see
/// <see cref="Shared(IRateLimit)"/>. Such options have no values of their own.
/// </remarks>
[SuppressMessage("Usage", "CA2225:Operator overloads have named alternates", Justification = "The options that they are set in name them.")]
public sealed record RateLimitOptions
{
    // The bucket counts time in a double, which must be able to hold the time of each call. A rate below is no rate: one call in 31,000 years.
    private const double MostSecondsAnOperation = 1e12;

    private static readonly RateLimitOptions Usual = new();

    // Null until somebody sets it, so that it follows a rate that is set later, in a copy too.
    private readonly double? _burst;

    /// <summary>How many tokens per second flow into the bucket.</summary>
    /// <value>A finite number greater than 0, at least a 1e-12th of <see cref="TokensPerOperation"/>. The default is 100.</value>
    public double TokensPerSecond { get; init; } = 100;

    /// <summary>How many tokens the bucket holds, and so how many can be used at once after a pause. The bucket starts full.</summary>
    /// <value>
    /// A finite number, at least <see cref="TokensPerOperation"/>. While it is not set, it follows the rate: <see cref="TokensPerSecond"/>, what flows in during
    /// a second, but at least one call's <see cref="TokensPerOperation"/>.
    /// </value>
    /// <remarks>
    /// With 10 tokens per second and no burst of its own, 10 calls start at once and 10 more during the first second; each later second has 10. With a burst of
    /// 1, they start one by one, each a tenth of a second after the last, from the first second on.
    /// </remarks>
    public double BurstCapacity
    {
        get => _burst ?? Math.Max(TokensPerSecond, TokensPerOperation);
        init => _burst = value;
    }

    /// <summary>How many tokens one call takes.</summary>
    /// <value>A finite number greater than 0. The default is 1.</value>
    public double TokensPerOperation { get; init; } = 1;

    /// <summary>What metrics call it, in the attribute <c>weir.policy.name</c>, such as the name of the called service.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for no name. Buckets of one name are counted together, and each name is a time series: use few.
    /// </value>
    public string? Name { get; init; }

    /// <summary>The clock.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    /// <summary>Whether these are no values but a limit that is shared: a <see cref="TokenBucket"/>, another <see cref="IRateLimit"/> or one for each key.</summary>
    public bool IsShared => Instance is not null;

    /// <summary>The limit that is shared, an <see cref="IRateLimit"/> or <see cref="RateLimits"/>; null if these are values.</summary>
    internal object? Instance { get; private init; }

    /// <summary>Shares a rate limit of any kind: <c>RateLimit = RateLimitOptions.Shared(limit)</c>.</summary>
    /// <param name="limit">The limit. A <see cref="TokenBucket"/> needs no call: <c>RateLimit = bucket</c>.</param>
    /// <returns>What the option <c>RateLimit</c> of runs and chains takes.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="limit"/> is <see langword="null"/>.</exception>
    public static RateLimitOptions Shared(IRateLimit limit)
    {
        ArgumentNullException.ThrowIfNull(limit);
        return new RateLimitOptions { Instance = limit };
    }

    /// <summary>Shares a token bucket.</summary>
    /// <param name="bucket">The bucket, or <see langword="null"/>.</param>
    [return: NotNullIfNotNull(nameof(bucket))]
    public static implicit operator RateLimitOptions?(TokenBucket? bucket) => bucket is null ? null : new RateLimitOptions { Instance = bucket };

    /// <summary>Takes a limit for each key.</summary>
    /// <param name="limits">The limits, or <see langword="null"/>.</param>
    [return: NotNullIfNotNull(nameof(limits))]
    public static implicit operator RateLimitOptions?(RateLimits? limits) => limits is null ? null : new RateLimitOptions { Instance = limits };

    /// <summary>Checks what the option <c>RateLimit</c> is set to.</summary>
    [StackTraceHidden]
    internal void ValidateSetting()
    {
        if (!IsShared)
        {
            Validate();
        }
        else if (TokensPerSecond != Usual.TokensPerSecond || _burst is not null || TokensPerOperation != Usual.TokensPerOperation || Name is not null
            || TimeProvider != Usual.TimeProvider)
        {
            throw new ArgumentException("RateLimit is a limit that is shared, which has its own values: set them where it is made.", "RateLimit");
        }
    }

    /// <summary>Checks the values of a limit to be made.</summary>
    [StackTraceHidden]
    internal void Validate()
    {
        if (IsShared)
        {
            throw new ArgumentException("A rate limit is made from values, and these are a limit that is shared: use that one.");
        }

        Require.Positive(TokensPerSecond, nameof(TokensPerSecond));
        Require.Positive(TokensPerOperation, nameof(TokensPerOperation));
        Require.Positive(BurstCapacity, nameof(BurstCapacity));
        if (BurstCapacity < TokensPerOperation)
        {
            throw new ArgumentOutOfRangeException(
                nameof(BurstCapacity), BurstCapacity, $"{nameof(BurstCapacity)} must be at least {nameof(TokensPerOperation)}, which is {TokensPerOperation}.");
        }

        if (TokensPerOperation / TokensPerSecond > MostSecondsAnOperation)
        {
            throw new ArgumentOutOfRangeException(
                nameof(TokensPerSecond),
                TokensPerSecond,
                $"{nameof(TokensPerSecond)} must be at least 1E-12 times {nameof(TokensPerOperation)}, which is {TokensPerOperation}.");
        }

        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}

/// <summary>Paces calls: Weir's own <see cref="TokenBucket"/>, or anything else that admits calls one by one.</summary>
/// <remarks>Set one of your own as <c>RateLimit = RateLimitOptions.Shared(limit)</c>.</remarks>
public interface IRateLimit
{
    /// <summary>Waits until a call may be made.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>
    /// What to dispose when the call has ended, or <see langword="null"/>. Await it once and without delay: until then, a waiting call may hold up those behind
    /// it.
    /// </returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    /// <exception cref="RateLimitRejectedException">The rate limit rejects the call.</exception>
    ValueTask<IDisposable?> EnterAsync(CancellationToken cancellationToken);
}

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
