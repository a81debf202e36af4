using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;

namespace Weir.Resilience;

/// <summary>
/// When a circuit opens, how long it stays open, and what closes it; or, in the option <c>CircuitBreaker</c> of a run or a chain, a circuit breaker that is
/// shared. Immutable.
/// </summary>
/// <remarks>
/// There are three ways to count failures: with <see cref="FailureRatio"/>, as a share of the calls in a window; with <see cref="SamplingDuration"/> alone, as
/// a number in a window; otherwise, as consecutive failures. The values are checked when a <see cref="CircuitBreaker"/> is created from them. A
/// <see cref="CircuitBreaker"/> and those of <see cref="CircuitBreakers.ByKey{TItem, TKey}"/> convert to options, so the option <c>CircuitBreaker</c> takes
/// them. Such options have no values of their own.
/// </remarks>
[SuppressMessage("Usage", "CA2225:Operator overloads have named alternates", Justification = "The options that they are set in name them.")]
public sealed record CircuitBreakerOptions
{
    private static readonly CircuitBreakerOptions Usual = new();

    /// <summary>
    /// How many failures open the circuit: consecutive failures or, with <see cref="SamplingDuration"/>, failures within that time, whatever succeeds
    /// meanwhile. It has no effect if <see cref="FailureRatio"/> is set.
    /// </summary>
    /// <value>At least 1. The default is 5.</value>
    public int FailureThreshold { get; init; } = 5;

    /// <summary>How many probes a half-open circuit admits at once, and how many successes close it.</summary>
    /// <value>At least 1. The default is 2.</value>
    public int SuccessThreshold { get; init; } = 2;

    /// <summary>
    /// How long the circuit rejects all calls before the next call becomes a probe, and how long a half-open circuit waits for its probes before it admits one
    /// more.
    /// </summary>
    /// <value>More than zero, at most 2^32 - 2 ms. The default is 30 seconds.</value>
    public TimeSpan OpenTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// Returns how long the circuit stays open, in place of <see cref="OpenTimeout"/>: for example longer each time. It gets how often the circuit has opened
    /// since it was last closed, from 1.
    /// </summary>
    /// <value>
    /// More than zero, at most 2^32 - 2 ms. <see langword="null"/>, the default, for always <see cref="OpenTimeout"/>, which stays the time of probes.
    /// </value>
    /// <remarks>
    /// It runs under no lock, in the call that opens the circuit; calls that fail at the same moment may each ask it. What it throws goes to that call's
    /// caller, and so does the <see cref="ArgumentOutOfRangeException"/> of a time out of range; the circuit is open for <see cref="OpenTimeout"/> then.
    /// </remarks>
    public Func<int, TimeSpan>? OpenTimeoutGenerator { get; init; }

    /// <summary>The window in which failures are counted.</summary>
    /// <value>More than zero, at most 2^32 - 2 ms. <see langword="null"/>, the default, to count consecutive failures.</value>
    public TimeSpan? SamplingDuration { get; init; }

    /// <summary>The share of failures among the calls of the window at which the circuit opens. Needs <see cref="SamplingDuration"/>.</summary>
    /// <value>More than 0 and at most 1. <see langword="null"/>, the default, to count failures instead.</value>
    /// <remarks>The window advances in tenths of <see cref="SamplingDuration"/> and is evaluated when a call fails.</remarks>
    public double? FailureRatio { get; init; }

    /// <summary>How many calls the window must contain before <see cref="FailureRatio"/> is evaluated. It has no effect without a ratio.</summary>
    /// <value>At least 1. The default is 10.</value>
    public int MinimumThroughput { get; init; } = 10;

    /// <summary>
    /// Whether an exception counts as a failure of the called service. An exception that does not counts as a success, because the service responded.
    /// </summary>
    /// <value>
    /// <see langword="null"/>, the default, for every exception except two kinds, which are ignored: an <see cref="OperationCanceledException"/> that is not a
    /// timeout (see <see cref="TimeoutFailure"/>), and what a limit inside the call refused, because then the service was not asked
    /// (<see cref="ConcurrencyLimitRejectedException"/>, <see cref="RateLimitRejectedException"/>).
    /// </value>
    /// <remarks>Called by <see cref="CircuitBreaker.Report"/>, but never for the caller's own cancellation, which is ignored.</remarks>
    public Func<Exception, bool>? IsFailure { get; init; }

    /// <summary>Called after each change of the state, with the old and the new state.</summary>
    /// <remarks>
    /// It is called on the thread pool, never under a lock and never by the call that caused the change, for one change after the other, in order. An
    /// exception from it changes nothing and ends as an unobserved task exception. While a call to it lasts, further changes wait; beyond 64 waiting changes,
    /// the newest are combined into one.
    /// </remarks>
    public Func<CircuitBreakerState, CircuitBreakerState, ValueTask>? OnStateChange { get; init; }

    /// <summary>What metrics call it, in the attribute <c>weir.policy.name</c>, such as the name of the called service.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for no name. Circuit breakers of one name are counted together, and each name is a time series: use few.
    /// </value>
    public string? Name { get; init; }

    /// <summary>The clock.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    /// <summary>Whether these are no values but a circuit breaker that is shared, or one for each key.</summary>
    public bool IsShared => Instance is not null;

    /// <summary>What is shared, a <see cref="CircuitBreaker"/> or <see cref="CircuitBreakers"/>; null if these are values.</summary>
    internal object? Instance { get; private init; }

    /// <summary>Shares a circuit breaker.</summary>
    /// <param name="breaker">The circuit breaker, or <see langword="null"/>.</param>
    [return: NotNullIfNotNull(nameof(breaker))]
    public static implicit operator CircuitBreakerOptions?(CircuitBreaker? breaker) => breaker is null ? null : new CircuitBreakerOptions { Instance = breaker };

    /// <summary>Takes a circuit breaker for each key.</summary>
    /// <param name="breakers">The circuit breakers, or <see langword="null"/>.</param>
    [return: NotNullIfNotNull(nameof(breakers))]
    public static implicit operator CircuitBreakerOptions?(CircuitBreakers? breakers) =>
        breakers is null ? null : new CircuitBreakerOptions { Instance = breakers };

    /// <summary>Checks what the option <c>CircuitBreaker</c> is set to.</summary>
    [StackTraceHidden]
    internal void ValidateSetting()
    {
        if (!IsShared)
        {
            Validate();
        }
        else if (FailureThreshold != Usual.FailureThreshold || SuccessThreshold != Usual.SuccessThreshold || OpenTimeout != Usual.OpenTimeout
            || OpenTimeoutGenerator is not null || SamplingDuration is not null || FailureRatio is not null || MinimumThroughput != Usual.MinimumThroughput
            || IsFailure is not null || OnStateChange is not null || Name is not null || TimeProvider != Usual.TimeProvider)
        {
            throw new ArgumentException(
                "CircuitBreaker is one that is shared, which has its own values: set them where it is made.", "CircuitBreaker");
        }
    }

    /// <summary>Checks the values of a circuit breaker to be made.</summary>
    [StackTraceHidden]
    internal void Validate()
    {
        if (IsShared)
        {
            throw new ArgumentException("A circuit breaker is made from values, and these are one that is shared: use that one.");
        }

        Require.AtLeast(1, FailureThreshold, nameof(FailureThreshold));
        Require.AtLeast(1, SuccessThreshold, nameof(SuccessThreshold));
        Require.AtLeast(1, MinimumThroughput, nameof(MinimumThroughput));
        Require.Positive(OpenTimeout, nameof(OpenTimeout));
        Require.Positive(SamplingDuration, nameof(SamplingDuration));
        if (FailureRatio is { } ratio && !(ratio is > 0 and <= 1))
        {
            throw new ArgumentOutOfRangeException(
                nameof(FailureRatio), ratio, $"{nameof(FailureRatio)} must be more than 0 and at most 1, or null to count failures.");
        }

        if (FailureRatio is not null && SamplingDuration is null)
        {
            throw new ArgumentOutOfRangeException(nameof(SamplingDuration), null, $"{nameof(SamplingDuration)} must be set when {nameof(FailureRatio)} is.");
        }

        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}

/// <summary>The states of a <see cref="CircuitBreaker"/>.</summary>
public enum CircuitBreakerState
{
    /// <summary>Calls pass, and their failures are counted.</summary>
    Closed,

    /// <summary>Calls are rejected.</summary>
    Open,

    /// <summary>A few calls pass as probes. Their outcome decides whether the circuit closes or opens again.</summary>
    HalfOpen,
}

/// <summary>What a call does if the circuit is open.</summary>
public enum OpenCircuitMode
{
    /// <summary>It fails at once with a <see cref="CircuitBreakerOpenException"/>.</summary>
    FailFast,

    /// <summary>It waits until the circuit admits a call, so that an open circuit does not fail a whole queue.</summary>
    WaitForHalfOpen,
}

/// <summary>The call was not made, because the circuit breaker rejected it.</summary>
public sealed class CircuitBreakerOpenException : Exception
{
    /// <summary>Creates the exception of an open circuit.</summary>
    public CircuitBreakerOpenException()
        : this(CircuitBreakerState.Open, TimeSpan.Zero)
    {
    }

    /// <summary>Creates the exception of an open circuit.</summary>
    /// <param name="message">The message.</param>
    public CircuitBreakerOpenException(string message)
        : base(message) => State = CircuitBreakerState.Open;

    /// <summary>Creates the exception of an open circuit.</summary>
    /// <param name="message">The message.</param>
    /// <param name="innerException">What opened it.</param>
    public CircuitBreakerOpenException(string message, Exception? innerException)
        : base(message, innerException) => State = CircuitBreakerState.Open;

    /// <summary>Creates the exception for a rejected call.</summary>
    /// <param name="state">The state of the circuit that rejected the call.</param>
    /// <param name="retryAfter">The time until the circuit may admit a call.</param>
    /// <param name="innerException">What opened it.</param>
    public CircuitBreakerOpenException(CircuitBreakerState state, TimeSpan retryAfter, Exception? innerException = null)
        : base(state == CircuitBreakerState.HalfOpen
            ? "The circuit is half-open and all its probes are taken."
            : "The circuit is open.",
            innerException)
    {
        State = state;
        RetryAfter = retryAfter;
    }

    /// <summary>
    /// The state of the circuit when it rejected the call: <see cref="CircuitBreakerState.Open"/> or <see cref="CircuitBreakerState.HalfOpen"/>.
    /// </summary>
    public CircuitBreakerState State { get; }

    /// <summary>The time until the circuit may admit a call. A half-open circuit may do so earlier, when its probes end.</summary>
    public TimeSpan RetryAfter { get; }

    /// <summary>The circuit that refused, or null when somebody else made the exception: a call may have a circuit of its own.</summary>
    internal CircuitBreaker? RefusedBy { get; init; }
}
