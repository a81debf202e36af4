using Weir.Resilience;

namespace Weir;

/// <summary>How a parallel operator runs. Immutable: a <c>with</c> expression makes a changed copy.</summary>
/// <remarks>
/// An operator checks the values when it is called. A value out of range throws an <see cref="ArgumentOutOfRangeException"/> that names the property.
/// Any number of runs can use one instance at once; all of them then call its hooks.
/// </remarks>
public sealed record ParallelRunOptions
{
    internal static ParallelRunOptions Default { get; } = new();

    // Whether somebody has said how many, which is more than that there are some: whoever writes 0 wants no retries.
    private readonly bool _saysMaxRetries;

    /// <summary>How many items may be in flight at once.</summary>
    /// <value>At least 1. The default is the number of processors.</value>
    public int MaxDegreeOfParallelism { get; init; } = Environment.ProcessorCount;

    /// <summary>Pauses, limits and softly stops the run while it goes on, from outside or from its items. See docs/control.md.</summary>
    /// <value><see langword="null"/>, the default, for none. One control may be given to several runs.</value>
    public RunControl? Control { get; init; }

    /// <summary>Lets the run adjust the number of items in flight, within bounds. See docs/adaptive-concurrency.md.</summary>
    /// <value><see langword="null"/>, the default, for a fixed limit. Otherwise <see cref="MaxDegreeOfParallelism"/> has no effect.</value>
    public AdaptiveConcurrencyOptions? AdaptiveConcurrency { get; init; }

    /// <summary>
    /// How long one item may take, including all its attempts, the waits between them, and its start and completion hooks, but not the waits for
    /// <see cref="SharedConcurrencyLimit"/>, <see cref="ConcurrencyLimitByKey"/> and <see cref="RateLimitByKey"/>.
    /// </summary>
    /// <value>
    /// More than zero and at most <see cref="uint.MaxValue"/> - 1 milliseconds; <see langword="null"/>, the default, for no limit.
    /// <see cref="Timeout.InfiniteTimeSpan"/> is stored as <see langword="null"/>.
    /// </value>
    /// <remarks>
    /// At the limit, the item's token is cancelled and the item fails with an <see cref="OperationCanceledException"/> whose
    /// <see cref="Exception.InnerException"/> is a <see cref="TimeoutException"/>, as with <c>HttpClient</c>. This also happens if the call ignores its
    /// token or blocks its thread: the run continues without it, and its later result or exception is discarded.
    /// The limit is never enforced early. It can be late by the timer's own delay plus at most 10 ms, because items that complete synchronously do not read
    /// the clock.
    /// </remarks>
    public TimeSpan? PerItemTimeout { get; init => field = Require.NoneIfInfinite(value); }

    /// <summary>What happens when an item fails.</summary>
    /// <value>The default is <see cref="ErrorMode.FailFast"/>.</value>
    public ErrorMode ErrorMode { get; init; } = ErrorMode.FailFast;

    /// <summary>
    /// Whether <c>SelectParallelOutcomesAsync</c> returns the outcomes it has when the caller cancels it, instead of throwing an
    /// <see cref="OperationCanceledException"/>.
    /// </summary>
    /// <value>The default is <see langword="false"/>.</value>
    /// <remarks>
    /// Items that ended before keep their outcome. Those that were running, or waited for another attempt, are <see cref="ItemStatus.Cancelled"/>, the others
    /// <see cref="ItemStatus.NotRun"/>. The task still ends only when all running items have. Other operators ignore this option.
    /// </remarks>
    public bool ReturnOutcomesOnCancellation { get; init; }

    /// <summary>
    /// Whether the outcomes of <c>SelectParallelOutcomesAsync</c> and <c>SelectParallelOutcomesStreamAsync</c> have <see cref="ItemOutcome{TResult}.Details"/>:
    /// the item's index, how often its call was made and how long it took.
    /// </summary>
    /// <value>The default is <see langword="false"/>. Then they cost nothing.</value>
    /// <remarks>Details cost an object per item, and a record while the item is under way. Other operators ignore this option.</remarks>
    public bool IncludeDetails { get; init; }

    /// <summary>
    /// Whether the results that the caller of a run does not get are disposed of: those of a list or of outcomes whose run failed or was cancelled, and those
    /// of a stream that its consumer has not read when it leaves.
    /// </summary>
    /// <value>The default is <see langword="false"/>, because other code may still hold these results.</value>
    /// <remarks>
    /// The end of the run, or of the stream's disposal, waits for it, but no longer than <see cref="PerItemTimeout"/>. Results that come too late, after their
    /// item timed out, are disposed of in any case. See docs/operators/disposable-results.md.
    /// </remarks>
    public bool DisposeUnusedResults { get; init; }

    /// <summary>Called before an item's call, with the item's index in the source. An exception from it is a failure of the item.</summary>
    /// <remarks>Indices above <see cref="int.MaxValue"/>, which only an endless stream reaches, are passed as <see cref="int.MaxValue"/>.</remarks>
    public Func<int, ValueTask>? OnStartItemAsync { get; init; }

    /// <summary>Called after an item's call has returned its result, with the item's index. An exception from it is a failure of the item.</summary>
    public Func<int, ValueTask>? OnCompleteItemAsync { get; init; }

    /// <summary>
    /// Called once for each failed item, with its index and exception. Return <see langword="false"/> to stop the run: no further item starts, and running
    /// items are cancelled.
    /// </summary>
    /// <remarks>
    /// It is not called for items that are cancelled because the run stopped. The <see cref="ErrorMode"/> decides what a stopped run returns for the items
    /// that ran. An exception from this hook is one more failure of the item.
    /// </remarks>
    public Func<int, Exception, ValueTask<bool>>? OnErrorAsync { get; init; }

    /// <summary>
    /// Called when a stream pauses reading its source because its consumer is <see cref="ChannelCapacity"/> results behind. Gets the number of items read so
    /// far. Operators that do not return a stream never pause.
    /// </summary>
    public Func<int, ValueTask>? OnThrottleAsync { get; init; }

    /// <summary>Called when a paused stream resumes reading, before it starts its next item. Gets the number of items read so far.</summary>
    public Func<int, ValueTask>? OnDrainAsync { get; init; }

    /// <summary>How far a stream reads ahead: the number of results that may be ready for the consumer, in addition to the items in flight.</summary>
    /// <value>At least 1. The default is 1024.</value>
    /// <remarks>For items with keys, in every operator, this is also how many items that were read may wait for other items of their key.</remarks>
    public int ChannelCapacity { get; init; } = 1024;

    /// <summary>Whether a stream yields its results in source order rather than in completion order. Lists are always in source order.</summary>
    /// <value>The default is <see langword="false"/>.</value>
    public bool OrderedOutput { get; init; }

    /// <summary>How many items of one key may be in flight at once, for items with keys (<c>PartitionBy</c>).</summary>
    /// <value>At least 1. The default is 1: items of one key run one after the other, in source order.</value>
    public int MaxPerPartition { get; init; } = 1;

    /// <summary>How often a failed item is retried. Waiting for the next attempt holds no worker.</summary>
    /// <value>
    /// 0 or more. The default is 0: a run repeats nothing unless it is told to. <see cref="RetryOptions.MaxRetries"/> of a chain, whose retries are an object
    /// that somebody made, is 3.
    /// </value>
    public int MaxRetries
    {
        get;
        init
        {
            field = value;
            _saysMaxRetries = true;
        }
    }

    /// <summary>Decides which failures are retried.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for <see cref="Transient.IsTransient"/>: only failures that the platform itself calls transient, including attempts
    /// that timed out.
    /// </value>
    /// <remarks>
    /// Your own function replaces the default and is called for every failure: <c>e => Transient.IsTransient(e) || e is MyException</c> adds to the default,
    /// <c>_ => true</c> retries everything. An exception from it is the item's failure. It is not called after the run has been cancelled or has stopped.
    /// </remarks>
    public Func<Exception, bool>? IsTransient { get; init; }

    /// <summary>
    /// Decides which attempts are followed by another, from their results or exceptions:
    /// <c>RetryRule.Of&lt;Answer&gt;(outcome => outcome.HasResult ? outcome.Result.IsPartial : Transient.IsTransient(outcome.Exception))</c>.
    /// </summary>
    /// <value>
    /// <see langword="null"/>, the default, for <see cref="IsTransient"/>, which is about exceptions only; you cannot set both. The result type must be the
    /// operator's.
    /// </value>
    /// <remarks>
    /// It is asked after every attempt that another may follow, as <see cref="MaxRetries"/> says. After the last attempt it is not asked: a result is the
    /// item's, whatever it is. A run whose options leave <see cref="MaxRetries"/> out is refused; with a 0 that is written there, the rule is not asked.
    /// A refused result that is disposable is disposed of. Hooks get a <see cref="ResultRejectedException"/> for it. For the circuit
    /// breaker, every result is a success. An exception from the rule is the item's failure.
    /// </remarks>
    public RetryRule? ShouldRetry { get; init; }

    /// <summary>The delay that the <see cref="BackoffStrategy"/> starts from.</summary>
    /// <value>Zero or more. The default is 100 ms.</value>
    public TimeSpan BaseDelay { get; init; } = TimeSpan.FromMilliseconds(100);

    /// <summary>The longest delay between two attempts.</summary>
    /// <value>At least <see cref="BaseDelay"/> when there are retries. The default is 5 minutes.</value>
    public TimeSpan MaxDelay { get; init; } = TimeSpan.FromMinutes(5);

    /// <summary>How the delay grows from attempt to attempt. For the formulas, see <see cref="Backoff"/>.</summary>
    /// <value>
    /// The default is <see cref="BackoffStrategy.ExponentialJitter"/>, so that calls that failed together are not repeated together. For repeatable delays, set
    /// <see cref="Randomness"/>.
    /// </value>
    public BackoffStrategy BackoffStrategy { get; init; } = BackoffStrategy.ExponentialJitter;

    /// <summary>
    /// Returns the delay that the exception itself states, such as an HTTP <c>Retry-After</c>; <see langword="null"/> to use the strategy's delay.
    /// </summary>
    public Func<Exception, TimeSpan?>? DelayHint { get; init; }

    /// <summary>The random numbers for the strategies with jitter, from 0 to less than 1. Called from several threads at once.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for the process's generator, which is seeded by the system. For repeatable delays, as in tests, set
    /// <c>new SeededRandom(seed).NextDouble</c>.
    /// </value>
    public Func<double>? Randomness { get; init; }

    /// <summary>Called before an item waits for another attempt, with its index, the number of the failed attempt (from 1) and its exception.</summary>
    /// <remarks>An exception from it is the item's failure.</remarks>
    public Func<int, int, Exception, ValueTask>? OnRetryAsync { get; init; }

    /// <summary>How long one attempt may take, from the moment the rate limit admits it.</summary>
    /// <value>
    /// More than zero; <see langword="null"/>, the default, for no limit but <see cref="PerItemTimeout"/>. <see cref="Timeout.InfiniteTimeSpan"/> is taken as
    /// <see langword="null"/>.
    /// </value>
    public TimeSpan? AttemptTimeout { get; init => field = Require.NoneIfInfinite(value); }

    /// <summary>
    /// Supplies a result after the last attempt has failed: <see cref="Fallback.Of{TResult}(Func{int, Exception, TResult})"/> from the item's index and
    /// exception, <see cref="Fallback.Of{TItem, TResult}(Func{ItemAttempt{TItem}, TResult})"/> from the item itself too.
    /// </summary>
    /// <value><see langword="null"/>, the default, for none. The types of the items and the results must be the operator's.</value>
    public Fallback? OnFallback { get; init; }

    /// <summary>A circuit breaker for this run only.</summary>
    /// <value><see langword="null"/>, the default, for none.</value>
    public CircuitBreakerOptions? CircuitBreaker { get; init; }

    /// <summary>A circuit breaker that is shared with other runs and calls. It replaces <see cref="CircuitBreaker"/>; you cannot set both.</summary>
    /// <value><see langword="null"/>, the default, for none.</value>
    public CircuitBreaker? SharedCircuitBreaker { get; init; }

    /// <summary>Whether an item that meets an open circuit fails at once, or waits, without a worker, until it may try.</summary>
    /// <value>The default is <see cref="OpenCircuitMode.FailFast"/>.</value>
    public OpenCircuitMode OpenCircuitMode { get; init; }

    /// <summary>A rate limit for this run only. Every attempt takes tokens, first come, first served.</summary>
    /// <value><see langword="null"/>, the default, for none.</value>
    public RateLimitOptions? RateLimit { get; init; }

    /// <summary>A rate limit that is shared with other runs and calls. It replaces <see cref="RateLimit"/>; you cannot set both.</summary>
    /// <value><see langword="null"/>, the default, for none.</value>
    public IRateLimit? SharedRateLimit { get; init; }

    /// <summary>
    /// Limits how many attempts are in flight at once, over everything that uses the same instance: any number of runs, operators, runtimes and single calls.
    /// </summary>
    /// <value><see langword="null"/>, the default, for none. <see cref="MaxDegreeOfParallelism"/> limits each run besides.</value>
    /// <remarks>
    /// An item that waits for its place holds no worker, so other items of the run go on, and the wait does not count towards <see cref="PerItemTimeout"/>. See
    /// docs/limits.md.
    /// </remarks>
    public SharedConcurrencyLimit? SharedConcurrencyLimit { get; init; }

    /// <summary>Your own name for what the run does, such as <c>import.orders</c>: it tells the run apart from others of the same operator.</summary>
    /// <value>Any text but an empty one; <see langword="null"/>, the default, for none.</value>
    /// <remarks>
    /// It is the tag <c>weir.operation.name</c> of all metrics, the name of the run's span, and part of each progress report and metrics sample. Use few names:
    /// each is a time series of its own. Above 1,000 combinations of name and <see cref="Tags"/> in a process, metrics of further ones are counted together.
    /// </remarks>
    public string? OperationName { get; init; }

    /// <summary>Your own tags for the metrics and the span of the run, in addition to the library's.</summary>
    /// <value><see langword="null"/>, the default, for none. Keys must not be empty. Values other than text, numbers and booleans become text.</value>
    public IReadOnlyList<KeyValuePair<string, object?>>? Tags { get; init; }

    /// <summary>
    /// A circuit breaker for each key, such as each server, which may be shared with other runs. See <see cref="CircuitBreakers.ByKey{TItem, TKey}"/>.
    /// </summary>
    /// <value><see langword="null"/>, the default, for none. The keys must be those of the operator's items. Not together with another circuit breaker.</value>
    public CircuitBreakers? CircuitBreakerByKey { get; init; }

    /// <summary>
    /// A concurrency limit for each key, which may be shared with other runs. See <see cref="ConcurrencyLimits.ByKey{TItem, TKey}"/>.
    /// </summary>
    /// <value>
    /// <see langword="null"/>, the default, for none. The keys must be those of the operator's items. Not together with
    /// <see cref="SharedConcurrencyLimit"/>.
    /// </value>
    public ConcurrencyLimits? ConcurrencyLimitByKey { get; init; }

    /// <summary>A rate limit for each key, which may be shared with other runs. See <see cref="RateLimits.ByKey{TItem, TKey}"/>.</summary>
    /// <value><see langword="null"/>, the default, for none. The keys must be those of the operator's items. Not together with another rate limit.</value>
    /// <remarks>
    /// An item that waits for the rate of its key holds no worker and no place of a concurrency limit, so the items of other keys go on. No new item starts
    /// while 1,024 items plus four times <see cref="MaxDegreeOfParallelism"/> wait.
    /// </remarks>
    public RateLimits? RateLimitByKey { get; init; }

    /// <summary>Progress reports.</summary>
    /// <value><see langword="null"/>, the default, for none.</value>
    public ProgressOptions? Progress { get; init; }

    /// <summary>Metrics samples.</summary>
    /// <value><see langword="null"/>, the default, for none.</value>
    public MetricsOptions? Metrics { get; init; }

    /// <summary>
    /// Hooks that get the item itself, the attempt and the exception: <c>new ItemHooks&lt;T&gt; { OnRetryAsync = attempt => … }</c> for items of type T.
    /// </summary>
    /// <value><see langword="null"/>, the default, for none. They must be those of the operator's items.</value>
    /// <remarks>The run remembers its items while they are under way, which costs some 150 bytes per item.</remarks>
    public ItemHooks? Hooks { get; init; }

    /// <summary>The clock for time limits, delays and reports.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    /// <summary>Whether a hook has to be called for each item.</summary>
    internal bool HasItemHooks => OnStartItemAsync is not null || OnCompleteItemAsync is not null;

    /// <summary>Whether the run has to remember its items while they are under way.</summary>
    internal bool NeedsRecords => IncludeDetails || Hooks is not null || ShouldRetry is not null || OnFallback is { ItemType: not null };

    /// <summary>What tells a log of the run, or null.</summary>
    internal RunEvents? Events { get; init; }

    /// <summary>Whether a policy depends on the item.</summary>
    internal bool HasKeys => CircuitBreakerByKey is not null || ConcurrencyLimitByKey is not null || RateLimitByKey is not null;

    internal void Validate()
    {
        if (ReferenceEquals(this, Default))
        {
            return;
        }

        Require.AtLeastOne(MaxDegreeOfParallelism, nameof(MaxDegreeOfParallelism));
        AdaptiveConcurrency?.Validate();
        Require.AtLeastOne(ChannelCapacity, nameof(ChannelCapacity));
        Require.AtLeastOne(MaxPerPartition, nameof(MaxPerPartition));
        Require.Timeout(PerItemTimeout, nameof(PerItemTimeout));
        Require.Timeout(AttemptTimeout, nameof(AttemptTimeout));
        if (ErrorMode is not (>= ErrorMode.FailFast and <= ErrorMode.BestEffort))
        {
            throw Require.Undefined(ErrorMode, nameof(ErrorMode), "FailFast, CollectAndContinue or BestEffort");
        }

        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
        Require.NotEmpty(OperationName, nameof(OperationName));
        Require.Keys(Tags, nameof(Tags));
        Progress?.Validate();
        Metrics?.Validate();
        RetryOptions.Validate(MaxRetries, BaseDelay, MaxDelay, BackoffStrategy);
        CircuitBreaker?.Validate();
        RateLimit?.Validate();
        if (OpenCircuitMode is not (OpenCircuitMode.FailFast or OpenCircuitMode.WaitForHalfOpen))
        {
            throw Require.Undefined(OpenCircuitMode, nameof(OpenCircuitMode), "FailFast or WaitForHalfOpen");
        }

        Require.NotBoth(IsTransient, ShouldRetry, nameof(IsTransient), nameof(ShouldRetry));
        Require.Other(ShouldRetry, _saysMaxRetries || MaxRetries > 0 ? ShouldRetry : null, nameof(ShouldRetry), nameof(MaxRetries), "; 0 means no retries");
        Require.NotBoth(CircuitBreaker, SharedCircuitBreaker, nameof(CircuitBreaker), nameof(SharedCircuitBreaker));
        Require.NotBoth(RateLimit, SharedRateLimit, nameof(RateLimit), nameof(SharedRateLimit));
        Require.NotBoth(SharedConcurrencyLimit, ConcurrencyLimitByKey, nameof(SharedConcurrencyLimit), nameof(ConcurrencyLimitByKey));
        Require.NotBoth(CircuitBreaker, CircuitBreakerByKey, nameof(CircuitBreaker), nameof(CircuitBreakerByKey));
        Require.NotBoth(SharedCircuitBreaker, CircuitBreakerByKey, nameof(SharedCircuitBreaker), nameof(CircuitBreakerByKey));
        Require.NotBoth(RateLimit, RateLimitByKey, nameof(RateLimit), nameof(RateLimitByKey));
        Require.NotBoth(SharedRateLimit, RateLimitByKey, nameof(SharedRateLimit), nameof(RateLimitByKey));
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
