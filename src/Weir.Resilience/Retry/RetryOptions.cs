namespace Weir.Resilience;

/// <summary>Which failures are retried, how often, and after what delay. Immutable.</summary>
/// <remarks>The values are checked when a <see cref="RetryPolicy"/> is created from them.</remarks>
public sealed record RetryOptions
{
    /// <summary>How many attempts may follow the first one.</summary>
    /// <value>At least 0. The default is 3: four attempts in all. Who makes retry options wants retries.</value>
    /// <remarks>A run or a chain without retry options retries nothing.</remarks>
    public int MaxRetries { get; init; } = 3;

    /// <summary>The delay that <see cref="BackoffStrategy"/> starts from.</summary>
    /// <value>From zero (retry at once) to <see cref="MaxDelay"/>, if there are retries. The default is 100 ms.</value>
    public TimeSpan BaseDelay { get; init; } = TimeSpan.FromMilliseconds(100);

    /// <summary>The longest delay before a retry, including delays from <see cref="DelayHint"/>.</summary>
    /// <value>From <see cref="BaseDelay"/> to 2^32 - 2 ms, about 49 days. The default is 5 minutes.</value>
    public TimeSpan MaxDelay { get; init; } = TimeSpan.FromMinutes(5);

    /// <summary>How the delay grows from retry to retry.</summary>
    /// <value>
    /// The default is <see cref="BackoffStrategy.ExponentialJitter"/>, so that calls that failed together are not repeated together. For repeatable delays, set
    /// <see cref="Randomness"/>.
    /// </value>
    public BackoffStrategy BackoffStrategy { get; init; } = BackoffStrategy.ExponentialJitter;

    /// <summary>Decides whether a failure is retried.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for <see cref="Transient.IsTransient"/>: only failures that the platform itself calls transient, including time
    /// limits. An <see cref="System.IO.IOException"/> of a file is none of them.
    /// </value>
    /// <remarks>
    /// Your own function replaces the default and is called for every failure, including open circuits and cancellations: <c>e => Transient.IsTransient(e) || e
    /// is MyException</c> adds to the default, <c>_ => true</c> retries everything. It is never called after the caller has cancelled.
    /// </remarks>
    public Func<Exception, bool>? IsTransient { get; init; }

    /// <summary>Returns the delay that a failure itself asks for, such as HTTP's <c>Retry-After</c>; <see langword="null"/> if it asks for none.</summary>
    /// <value>The default is <see langword="null"/>: the delay is always that of <see cref="BackoffStrategy"/>.</value>
    /// <remarks>
    /// The hint replaces the computed delay. A hint below zero counts as none, and one above <see cref="MaxDelay"/> as <see cref="MaxDelay"/>.
    /// </remarks>
    public Func<Exception, TimeSpan?>? DelayHint { get; init; }

    /// <summary>Called before the delay of each retry, with the number of the failed attempt, from 1, and its exception.</summary>
    /// <remarks>
    /// <see cref="PolicyChain{TResult}"/> and runs call it, but never after the caller has cancelled. A <see cref="RetryPolicy"/> by itself only decides and
    /// does not call it. An exception from it ends the call.
    /// </remarks>
    public Func<int, Exception, ValueTask>? OnRetryAsync { get; init; }

    /// <summary>The randomness for the strategies with jitter. Returns a number from 0 to less than 1 at each call.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for the process's generator, which is seeded by the system. For repeatable delays, set your own
    /// <see cref="SeededRandom.NextDouble"/>.
    /// </value>
    /// <remarks>Called from all threads that use the policy.</remarks>
    public Func<double>? Randomness { get; init; }

    internal void Validate() => Validate(MaxRetries, BaseDelay, MaxDelay, BackoffStrategy);

    /// <summary>The same check for code that has the values but no options object: every run checks them, and few runs retry.</summary>
    internal static void Validate(int maxRetries, TimeSpan baseDelay, TimeSpan maxDelay, BackoffStrategy backoffStrategy)
    {
        Require.AtLeast(0, maxRetries, nameof(MaxRetries));
        Require.NotNegative(baseDelay, nameof(BaseDelay));
        Require.NotNegative(maxDelay, nameof(MaxDelay));
        if (maxRetries > 0)
        {
            Require.AtLeast(baseDelay, maxDelay, nameof(MaxDelay), nameof(BaseDelay));
        }

        if (backoffStrategy is not (>= BackoffStrategy.Exponential and <= BackoffStrategy.LinearJitter))
        {
            throw Require.Undefined(backoffStrategy, nameof(BackoffStrategy), "one of the named strategies");
        }
    }
}

/// <summary>How the delay before a retry grows. Here b is the base delay, n the number of the retry from 1, cap the longest delay.</summary>
public enum BackoffStrategy
{
    /// <summary>min(cap, b * 2^(n-1)).</summary>
    Exponential = 0,

    /// <summary>A random delay from zero to min(cap, b * 2^(n-1)).</summary>
    ExponentialJitter = 1,

    /// <summary>b before the first retry, then a random delay from b to min(cap, max(b, 3 * the previous delay)).</summary>
    DecorrelatedJitter = 2,

    /// <summary>min(cap, b * n).</summary>
    Linear = 3,

    /// <summary>A random delay from zero to min(cap, b * n).</summary>
    LinearJitter = 4,
}
