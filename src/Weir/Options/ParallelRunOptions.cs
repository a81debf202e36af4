using Weir.Resilience;

namespace Weir;

/// <summary>How a parallel operator runs. Immutable: a <c>with</c> expression makes a changed copy.</summary>
/// <remarks>
/// The values are checked when an operator is called with them, and a wrong one is an <see cref="ArgumentOutOfRangeException"/> that
/// names the property. One instance may be used by any number of runs at once; the hooks then are called from all of them.
/// </remarks>
public sealed record ParallelRunOptions
{
    internal static ParallelRunOptions Default { get; } = new();

    /// <summary>How many items may be in flight at once.</summary>
    /// <value>At least 1. The default is the number of processors.</value>
    public int MaxDegreeOfParallelism { get; init; } = Environment.ProcessorCount;

    /// <summary>Lets the run find out by itself how many items to have in flight, within bounds. See docs/adaptive-concurrency.md.</summary>
    /// <value><see langword="null"/>, the default, for a fixed limit. Otherwise <see cref="MaxDegreeOfParallelism"/> has no effect.</value>
    public AdaptiveConcurrencyOptions? AdaptiveConcurrency { get; init; }

    /// <summary>How long one item may take, its start and completion hooks included.</summary>
    /// <value>More than zero and at most <see cref="uint.MaxValue"/> - 1 milliseconds; <see langword="null"/>, the default, for no limit. <see cref="Timeout.InfiniteTimeSpan"/> is taken as <see langword="null"/>.</value>
    /// <remarks>
    /// At the limit the item's token is cancelled and the item fails with an <see cref="OperationCanceledException"/> whose
    /// <see cref="Exception.InnerException"/> is a <see cref="TimeoutException"/>, as <c>HttpClient</c> reports it. This also
    /// happens when the call ignores its token, or blocks its thread: the run goes on without it, and its later result or exception is dropped.
    /// It never happens before its time. It happens late by what the timer is, and by at most 10 ms more, because items that end at once do not read the clock.
    /// </remarks>
    public TimeSpan? PerItemTimeout { get; init => field = Require.NoneIfInfinite(value); }

    /// <summary>What happens when an item fails.</summary>
    /// <value>The default is <see cref="ErrorMode.FailFast"/>.</value>
    public ErrorMode ErrorMode { get; init; } = ErrorMode.FailFast;

    /// <summary>Called before an item's call, with the item's index in the source. An exception from it is a failure of the item.</summary>
    /// <remarks>Indices beyond <see cref="int.MaxValue"/>, which only an endless stream reaches, are given as <see cref="int.MaxValue"/>.</remarks>
    public Func<int, ValueTask>? OnStartItemAsync { get; init; }

    /// <summary>Called after an item's call has returned its result, with the item's index. An exception from it is a failure of the item.</summary>
    public Func<int, ValueTask>? OnCompleteItemAsync { get; init; }

    /// <summary>
    /// Called once for each item that failed, with its index and exception; <see langword="false"/> stops the run: nothing further
    /// starts, and running items are cancelled.
    /// </summary>
    /// <remarks>
    /// Not called for items that end as cancelled because the run has stopped. What a stopped run gives is what its <see cref="ErrorMode"/> says,
    /// for the items that ran. An exception from this hook counts as one more failure of the item.
    /// </remarks>
    public Func<int, Exception, ValueTask<bool>>? OnErrorAsync { get; init; }

    /// <summary>
    /// Called when a stream pauses reading its source, because its consumer is <see cref="ChannelCapacity"/> results behind; with
    /// the number of items read so far. Operators that return no stream never pause.
    /// </summary>
    public Func<int, ValueTask>? OnThrottleAsync { get; init; }

    /// <summary>Called when a stream that had paused reads on, before it starts its next item; with the number of items read so far.</summary>
    public Func<int, ValueTask>? OnDrainAsync { get; init; }

    /// <summary>How many results of a stream may lie ready for the consumer, beside the items in flight: how far a stream reads ahead.</summary>
    /// <value>At least 1. The default is 1024.</value>
    /// <remarks>With a <c>partitionBy</c> it is also how many items that were read may wait for others of their key, in every operator.</remarks>
    public int ChannelCapacity { get; init; } = 1024;

    /// <summary>Whether a stream yields its results in source order instead of in the order of their completion. Lists are always in source order.</summary>
    /// <value>The default is <see langword="false"/>.</value>
    public bool OrderedOutput { get; init; }

    /// <summary>How many items of one key may be in flight at once, for operators that are given a <c>partitionBy</c>.</summary>
    /// <value>At least 1. The default is 1: items of one key run one after the other, in source order.</value>
    public int MaxPerPartition { get; init; } = 1;

    /// <summary>How often a failed item is tried again. Waiting for the next attempt holds no worker.</summary>
    /// <value>0 or more. The default is 0: no retries.</value>
    public int MaxRetries { get; init; }

    /// <summary>Which failures are worth another attempt.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for <see cref="Transient.IsTransient"/>: what the platform itself calls transient, an attempt that ran out of time included, and nothing else.
    /// </value>
    /// <remarks>
    /// A function of your own takes its place and is asked about every failure: <c>e => Transient.IsTransient(e) || e is MyException</c> adds to the default, <c>_ => true</c> tries
    /// everything again. An exception from it is the item's failure. It is not asked once the run has been cancelled or has stopped.
    /// </remarks>
    public Func<Exception, bool>? IsTransient { get; init; }

    /// <summary>The delay that the <see cref="BackoffStrategy"/> starts from.</summary>
    /// <value>Zero or more. The default is 100 ms.</value>
    public TimeSpan BaseDelay { get; init; } = TimeSpan.FromMilliseconds(100);

    /// <summary>The longest delay between two attempts.</summary>
    /// <value>At least <see cref="BaseDelay"/> when there are retries. The default is 5 minutes.</value>
    public TimeSpan MaxDelay { get; init; } = TimeSpan.FromMinutes(5);

    /// <summary>How the delay grows from attempt to attempt; <see cref="Backoff"/> has the formulas.</summary>
    /// <value>The default is <see cref="BackoffStrategy.Exponential"/>.</value>
    public BackoffStrategy BackoffStrategy { get; init; } = BackoffStrategy.Exponential;

    /// <summary>Takes the delay from the exception instead, where that says one, as an HTTP <c>Retry-After</c> does.</summary>
    public Func<Exception, TimeSpan?>? DelayHint { get; init; }

    /// <summary>Chance for the strategies with jitter: numbers from 0 to less than 1. Called from several threads at once.</summary>
    public Func<double>? Randomness { get; init; }

    /// <summary>Called before an item is put aside for another attempt, with its index, the attempt that failed (from 1) and its exception.</summary>
    /// <remarks>An exception from it is the item's failure.</remarks>
    public Func<int, int, Exception, ValueTask>? OnRetryAsync { get; init; }

    /// <summary>How long one attempt may take. Its time begins when the rate limit has let it through.</summary>
    /// <value>More than zero; <see langword="null"/>, the default, for no limit but <see cref="PerItemTimeout"/>. <see cref="Timeout.InfiniteTimeSpan"/> is taken as <see langword="null"/>.</value>
    public TimeSpan? AttemptTimeout { get; init => field = Require.NoneIfInfinite(value); }

    /// <summary>A result in place of a failure, after the last attempt: see <see cref="Fallback.Of{TResult}(Func{int, Exception, TResult})"/>.</summary>
    /// <value><see langword="null"/>, the default, for none. Its result type must be that of the operator.</value>
    public Fallback? OnFallback { get; init; }

    /// <summary>A circuit breaker of the run's own.</summary>
    /// <value><see langword="null"/>, the default, for none.</value>
    public CircuitBreakerOptions? CircuitBreaker { get; init; }

    /// <summary>A circuit breaker that is shared with other runs and calls. It takes the place of <see cref="CircuitBreaker"/>; setting both is refused.</summary>
    public CircuitBreaker? SharedCircuitBreaker { get; init; }

    /// <summary>Whether an item that meets an open circuit fails at once, or waits until it may try, without a worker.</summary>
    /// <value>The default is <see cref="OpenCircuitMode.FailFast"/>.</value>
    public OpenCircuitMode OpenCircuitMode { get; init; }

    /// <summary>A rate limit of the run's own: every attempt takes a token, first come first served.</summary>
    /// <value><see langword="null"/>, the default, for none.</value>
    public RateLimitOptions? RateLimit { get; init; }

    /// <summary>A rate limit that is shared with other runs and calls. It takes the place of <see cref="RateLimit"/>; setting both is refused.</summary>
    public IRateGate? SharedRateLimit { get; init; }

    /// <summary>Reports of how far the run is.</summary>
    /// <value><see langword="null"/>, the default, for none.</value>
    public ProgressOptions? Progress { get; init; }

    /// <summary>Samples of what the run is doing.</summary>
    /// <value><see langword="null"/>, the default, for none.</value>
    public MetricsOptions? Metrics { get; init; }

    /// <summary>The clock for time limits, delays and reports.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        Require.AtLeastOne(MaxDegreeOfParallelism, nameof(MaxDegreeOfParallelism));
        AdaptiveConcurrency?.Validate();
        Require.AtLeastOne(ChannelCapacity, nameof(ChannelCapacity));
        Require.AtLeastOne(MaxPerPartition, nameof(MaxPerPartition));
        Require.Timeout(PerItemTimeout, nameof(PerItemTimeout));
        Require.Timeout(AttemptTimeout, nameof(AttemptTimeout));
        Require.Defined(ErrorMode, nameof(ErrorMode));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
        Progress?.Validate();
        Metrics?.Validate();
        RetryOptions.Validate(MaxRetries, BaseDelay, MaxDelay, BackoffStrategy);
        CircuitBreaker?.Validate();
        RateLimit?.Validate();
        Require.Defined(OpenCircuitMode, nameof(OpenCircuitMode));
        Require.NotBoth(CircuitBreaker, SharedCircuitBreaker, nameof(CircuitBreaker), nameof(SharedCircuitBreaker));
        Require.NotBoth(RateLimit, SharedRateLimit, nameof(RateLimit), nameof(SharedRateLimit));
    }

    internal RetryOptions Retry => new()
    {
        MaxRetries = MaxRetries,
        BaseDelay = BaseDelay,
        MaxDelay = MaxDelay,
        BackoffStrategy = BackoffStrategy,
        IsTransient = IsTransient,
        DelayHint = DelayHint,
        Randomness = Randomness,
    };
}
