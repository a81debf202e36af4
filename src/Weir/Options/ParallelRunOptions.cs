using System.Diagnostics.CodeAnalysis;
using Weir.Resilience;

namespace Weir;

/// <summary>How a parallel operator runs. Immutable: a <c>with</c> expression makes a changed copy.</summary>
/// <remarks>
/// An operator checks the values when it is called. A value out of range throws an <see cref="ArgumentOutOfRangeException"/> that names the property.
/// Any number of runs can use one instance at once; all of them then call its hooks. The options of retries, limits and circuit breakers have the names and
/// types of those of a <see cref="PolicyChain"/>. Rivulet's names for what is in <see cref="Retry"/>, <see cref="Hooks"/> and <see cref="Output"/> work too.
/// </remarks>
public sealed partial record ParallelRunOptions
{
    internal static ParallelRunOptions Default { get; } = new();

    /// <summary>A limit and nothing else: <c>urls.SelectParallelAsync(LoadAsync, 4)</c>.</summary>
    /// <param name="maxDegreeOfParallelism">The <see cref="MaxDegreeOfParallelism"/>.</param>
    [SuppressMessage("Usage", "CA2225:Operator overloads have named alternates", Justification = "new ParallelRunOptions { ... } is the same.")]
    public static implicit operator ParallelRunOptions(int maxDegreeOfParallelism) => new() { MaxDegreeOfParallelism = maxDegreeOfParallelism };

    /// <summary>How many items may be in flight at once.</summary>
    /// <value>At least 1. The default is the number of processors.</value>
    public int MaxDegreeOfParallelism { get; init; } = Environment.ProcessorCount;

    /// <summary>Pauses, limits and softly stops the run while it goes on, from outside or from its items. See docs/reference/control.md.</summary>
    /// <value><see langword="null"/>, the default, for none. One control may be given to several runs.</value>
    public RunControl? Control { get; init; }

    /// <summary>Lets the run adjust the number of items in flight, within bounds. See docs/reference/adaptive-concurrency.md.</summary>
    /// <value><see langword="null"/>, the default, for a fixed limit. Otherwise <see cref="MaxDegreeOfParallelism"/> has no effect.</value>
    public AdaptiveConcurrencyOptions? AdaptiveConcurrency { get; init; }

    /// <summary>
    /// How long one item may take, including all its attempts, the waits between them, and its start and completion hooks, but not the waits for
    /// <see cref="ConcurrencyLimit"/> and a <see cref="RateLimit"/> by key.
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

    /// <summary>Whether a stream yields its results in source order rather than in completion order. Lists are always in source order.</summary>
    /// <value>The default is <see langword="false"/>.</value>
    public bool OrderedOutput { get; init; }

    /// <summary>
    /// What the caller gets besides the order: details of outcomes, outcomes of a cancelled run, what becomes of results that nobody gets, and how far a stream
    /// reads ahead.
    /// </summary>
    /// <value>Not <see langword="null"/>.</value>
    public OutputOptions Output { get; init; } = OutputOptions.Default;

    /// <summary>
    /// Which failed items are retried, how often, and after what delay: <c>Retry = new() { MaxRetries = 3 }</c>. Waiting for the next attempt holds no worker.
    /// </summary>
    /// <value><see langword="null"/>, the default, for no retries. <c>new()</c> allows three.</value>
    /// <remarks>
    /// <see cref="RetryOptions.IsTransient"/> is not called after the run has been cancelled or has stopped. An exception from it, or from
    /// <see cref="RetryOptions.OnRetryAsync"/>, is the item's failure.
    /// </remarks>
    public RetryOptions? Retry { get; init; }

    /// <summary>
    /// Decides which attempts are followed by another, from their results or exceptions:
    /// <c>RetryRule.Of&lt;Answer&gt;(outcome => outcome.HasResult ? outcome.Result.IsPartial : Transient.IsTransient(outcome.Exception))</c>.
    /// </summary>
    /// <value>
    /// <see langword="null"/>, the default, for <see cref="RetryOptions.IsTransient"/> of <see cref="Retry"/>, which is about exceptions only; you cannot set
    /// both. The result type must be the operator's.
    /// </value>
    /// <remarks>
    /// It needs <see cref="Retry"/>, and is asked after every attempt that another may follow. After the last attempt it is not asked: a result is the item's,
    /// whatever it is. A refused result that is disposable is disposed of. Hooks get a <see cref="ResultRejectedException"/> for it. For the circuit
    /// breaker, every result is a success. An exception from the rule is the item's failure.
    /// </remarks>
    public RetryRule? ShouldRetry { get; init; }

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

    /// <summary>
    /// A circuit breaker: <c>new() { FailureThreshold = 5 }</c> for one of this run only, a <see cref="Weir.Resilience.CircuitBreaker"/> that is shared with
    /// other runs and calls, or one for each key, such as each server, from <see cref="CircuitBreakers.ByKey{TItem, TKey}"/>.
    /// </summary>
    /// <value><see langword="null"/>, the default, for none. Keys must be those of the operator's items.</value>
    public CircuitBreakerOptions? CircuitBreaker { get; init; }

    /// <summary>Whether an item that meets an open circuit fails at once, or waits, without a worker, until it may try.</summary>
    /// <value>The default is <see cref="OpenCircuitMode.FailFast"/>.</value>
    public OpenCircuitMode OpenCircuitMode { get; init; }

    /// <summary>
    /// A rate limit: <c>new() { TokensPerSecond = 20 }</c> for one of this run only, a <see cref="TokenBucket"/> that is shared with other runs and calls, or
    /// one for each key, such as each customer, from <see cref="RateLimits.ByKey{TItem, TKey}"/>. Any other <see cref="IRateLimit"/> is set with
    /// <see cref="RateLimitOptions.Shared(IRateLimit)"/>. Every attempt takes tokens, first come, first served.
    /// </summary>
    /// <value><see langword="null"/>, the default, for none. Keys must be those of the operator's items.</value>
    /// <remarks>
    /// An item that waits for the rate of its key holds no worker and no place of a concurrency limit, so the items of other keys go on. No new item starts
    /// while 1,024 items plus four times <see cref="MaxDegreeOfParallelism"/> wait.
    /// </remarks>
    public RateLimitOptions? RateLimit { get; init; }

    /// <summary>
    /// Limits how many attempts are in flight at once beyond this run: a <see cref="SharedConcurrencyLimit"/> over everything that uses the same instance,
    /// which may be any number of runs, operators, runtimes and single calls, or one for each key from <see cref="ConcurrencyLimits.ByKey{TItem, TKey}"/>.
    /// </summary>
    /// <value>
    /// <see langword="null"/>, the default, for none. Keys must be those of the operator's items. <see cref="MaxDegreeOfParallelism"/> limits each run besides.
    /// </value>
    /// <remarks>
    /// An item that waits for its place holds no worker, so other items of the run go on, and the wait does not count towards <see cref="PerItemTimeout"/>. See
    /// docs/limits.md.
    /// </remarks>
    public IConcurrencyLimitSetting? ConcurrencyLimit { get; init; }

    /// <summary>Your own name for what the run does, such as <c>import.orders</c>: it tells the run apart from others of the same operator.</summary>
    /// <value>Any text but an empty one; <see langword="null"/>, the default, for none.</value>
    /// <remarks>
    /// It is the tag <c>weir.operation.name</c> of all metrics, the name of the run's span, and part of each progress report and metrics sample. Use few names:
    /// each is a time series of its own. Above 1,000 combinations of name and <see cref="MetricsOptions.Tags"/> in a process, metrics of further ones are
    /// counted together.
    /// </remarks>
    public string? OperationName { get; init; }

    /// <summary>Progress reports.</summary>
    /// <value><see langword="null"/>, the default, for none.</value>
    public ProgressOptions? Progress { get; init; }

    /// <summary>Metrics samples, and your own tags for all metrics of the run.</summary>
    /// <value><see langword="null"/>, the default, for none.</value>
    public MetricsOptions? Metrics { get; init; }

    /// <summary>
    /// What is called for items that start, end, fail or are retried, and for pauses: <c>new() { OnErrorAsync = (index, e) => … }</c> with an item's index,
    /// <c>new ItemHooks&lt;T&gt; { OnErrorAsync = attempt => … }</c> with the item itself, of type T.
    /// </summary>
    /// <value><see langword="null"/>, the default, for none.</value>
    /// <remarks><see cref="ItemHooks{TItem}"/> leave hooks by index that are set already.</remarks>
    public RunHooks? Hooks { get; init => field = value is { HasOnlyItems: true } ? (field ?? RunHooks.None) with { Items = value.Items } : value; }

    /// <summary>The clock for time limits, delays and reports.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    /// <summary>Whether a hook has to be called for each item.</summary>
    internal bool HasItemHooks => Hooks is { OnStartItemAsync: not null } or { OnCompleteItemAsync: not null };

    /// <summary>Whether the run has to remember its items while they are under way.</summary>
    internal bool NeedsRecords =>
        Output.IncludeDetails || Hooks is { Items: not null } || ShouldRetry is not null || OnFallback is { ItemType: not null };

    /// <summary>What tells a log of the run, or null.</summary>
    internal RunEvents? Events { get; init; }

    /// <summary>Whether a policy depends on the item.</summary>
    internal bool HasKeys => BreakersByKey is not null || ConcurrencyLimit is ConcurrencyLimits || RatesByKey is not null;

    /// <summary>The circuit breakers of the keys, or null.</summary>
    internal CircuitBreakers? BreakersByKey => CircuitBreaker?.Instance as CircuitBreakers;

    /// <summary>The rate limits of the keys, or null.</summary>
    internal RateLimits? RatesByKey => RateLimit?.Instance as RateLimits;

    internal void Validate()
    {
        if (ReferenceEquals(this, Default))
        {
            return;
        }

        Require.AtLeastOne(MaxDegreeOfParallelism, nameof(MaxDegreeOfParallelism));
        AdaptiveConcurrency?.Validate();
        ArgumentNullException.ThrowIfNull(Output, nameof(Output));
        Output.Validate();
        Require.Timeout(PerItemTimeout, nameof(PerItemTimeout));
        Require.Timeout(AttemptTimeout, nameof(AttemptTimeout));
        if (ErrorMode is not (>= ErrorMode.FailFast and <= ErrorMode.BestEffort))
        {
            throw Require.Undefined(ErrorMode, nameof(ErrorMode), "FailFast, CollectAndContinue or BestEffort");
        }

        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
        Require.NotEmpty(OperationName, nameof(OperationName));
        Progress?.Validate();
        Metrics?.Validate();
        Retry?.Validate();
        CircuitBreaker?.ValidateSetting();
        RateLimit?.ValidateSetting();
        PolicySettings.Validate(ConcurrencyLimit);
        if (OpenCircuitMode is not (OpenCircuitMode.FailFast or OpenCircuitMode.WaitForHalfOpen))
        {
            throw Require.Undefined(OpenCircuitMode, nameof(OpenCircuitMode), "FailFast or WaitForHalfOpen");
        }

        Require.Other(ShouldRetry, Retry, nameof(ShouldRetry), nameof(Retry), ", such as Retry = new() { MaxRetries = 3 }");
        Require.NotBoth(Retry?.IsTransient, ShouldRetry, "Retry.IsTransient", nameof(ShouldRetry));
    }
}
