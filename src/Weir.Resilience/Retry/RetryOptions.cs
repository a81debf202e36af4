namespace Weir.Resilience;

/// <summary>Which failures are tried again, how often, and after what delay. Immutable.</summary>
/// <remarks>The values are checked when a <see cref="RetryPolicy"/> is made of them.</remarks>
public sealed record RetryOptions
{
    /// <summary>How many attempts may follow the first one.</summary>
    /// <value>At least 0. The default is 3: four attempts in all.</value>
    public int MaxRetries { get; init; } = 3;

    /// <summary>The delay that <see cref="BackoffStrategy"/> starts from.</summary>
    /// <value>From zero (retry at once) to <see cref="MaxDelay"/>, where there are retries. The default is 100 ms.</value>
    public TimeSpan BaseDelay { get; init; } = TimeSpan.FromMilliseconds(100);

    /// <summary>The longest delay before a retry, also for what <see cref="DelayHint"/> says.</summary>
    /// <value>From <see cref="BaseDelay"/> to 2^32 - 2 ms, about 49 days. The default is 5 minutes.</value>
    public TimeSpan MaxDelay { get; init; } = TimeSpan.FromMinutes(5);

    /// <summary>How the delay grows from retry to retry.</summary>
    /// <value>The default is <see cref="BackoffStrategy.Exponential"/>.</value>
    public BackoffStrategy BackoffStrategy { get; init; } = BackoffStrategy.Exponential;

    /// <summary>Whether a failure is worth another attempt.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for <see cref="Transient.IsTransient"/>: what the platform itself calls transient, time limits included, and nothing else.
    /// </value>
    /// <remarks>
    /// A function of your own takes its place and is asked about every failure, open circuits and cancellations included: <c>e => Transient.IsTransient(e) || e is MyException</c> adds to
    /// the default, <c>_ => true</c> tries everything again. It is never asked once the caller has cancelled.
    /// </remarks>
    public Func<Exception, bool>? IsTransient { get; init; }

    /// <summary>The delay that a failure itself asks for, as HTTP's <c>Retry-After</c> does; <see langword="null"/> when it asks for none.</summary>
    /// <value>The default is <see langword="null"/>: the delay is always that of <see cref="BackoffStrategy"/>.</value>
    /// <remarks>The hint replaces the computed delay. A negative one counts as zero, and one beyond <see cref="MaxDelay"/> as <see cref="MaxDelay"/>.</remarks>
    public Func<Exception, TimeSpan?>? DelayHint { get; init; }

    /// <summary>Called before the delay of each retry, with the number of the attempt that failed, from 1, and its exception.</summary>
    /// <remarks>
    /// Never called after the caller has cancelled. Called by <see cref="PolicyChain{TResult}"/>; a <see cref="RetryPolicy"/> by itself only decides.
    /// An exception from it ends the call.
    /// </remarks>
    public Func<int, Exception, ValueTask>? OnRetryAsync { get; init; }

    /// <summary>The randomness of the strategies with jitter: a number at least 0 and less than 1 at each call.</summary>
    /// <value><see langword="null"/>, the default, for a generator of the process, seeded by the system; give <see cref="SeededRandom.NextDouble"/> of your own for repeatable delays.</value>
    /// <remarks>Called from all threads that use the policy.</remarks>
    public Func<double>? Randomness { get; init; }

    internal void Validate() => Validate(MaxRetries, BaseDelay, MaxDelay, BackoffStrategy);

    /// <summary>The same for who has the values and no object of them: every run has, and few retry.</summary>
    internal static void Validate(int maxRetries, TimeSpan baseDelay, TimeSpan maxDelay, BackoffStrategy backoffStrategy)
    {
        Require.AtLeast(0, maxRetries, nameof(MaxRetries));
        Require.NotNegative(baseDelay, nameof(BaseDelay));
        Require.NotNegative(maxDelay, nameof(MaxDelay));
        if (maxRetries > 0)
        {
            Require.AtLeast(baseDelay, maxDelay, nameof(MaxDelay), nameof(BaseDelay));
        }

        Require.Named(backoffStrategy is >= BackoffStrategy.Exponential and <= BackoffStrategy.LinearJitter, backoffStrategy, nameof(BackoffStrategy));
    }
}
