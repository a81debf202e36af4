using System.ComponentModel;
using System.Diagnostics.CodeAnalysis;
using Weir.Checkpoints;
using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Resilience;

namespace Weir;

/// <summary>How a parallel operator runs. Immutable: a <c>with</c> expression makes a changed copy.</summary>
/// <remarks>
/// An operator checks the values when it is called. A value out of range throws an <see cref="ArgumentOutOfRangeException"/> that names the property.
/// Any number of runs can use one instance at once; all of them then call its hooks. The options of retries, limits and circuit breakers have the names and
/// types of those of a <see cref="PolicyChain"/>. Rivulet's names for what is in <see cref="Retry"/>, <see cref="Hooks"/> and <see cref="Output"/> work too.
/// </remarks>
public sealed record ParallelRunOptions : IRunAbout
{
    internal static ParallelRunOptions Default { get; } = new();

    /// <summary>The options of a call: those that it was given, or the defaults. A value out of range is refused.</summary>
    internal static ParallelRunOptions Of(ParallelRunOptions? given)
    {
        ParallelRunOptions options = given ?? Default;
        options.Validate();
        return options;
    }

    string? IRunAbout.Name => OperationName;

    object? IRunAbout.Runtime => null;

    long? IRunAbout.Total => Progress?.Total;

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

    /// <summary>
    /// Goes on where an earlier run stopped: items that are done are left out, and those that this run does are noted, in <c>Checkpoint.File("import.done")</c>.
    /// See docs/reference/resume.md.
    /// </summary>
    /// <value><see langword="null"/>, the default, for a run that always begins anew. One run at a time may use a checkpoint.</value>
    /// <remarks>
    /// Failed items are not done, and run again. The results, outcomes and indices of the run are those of the items that are left. In a stream, an item is done
    /// when its consumer asks for the next result.
    /// </remarks>
    public Checkpoint? Resume { get; init; }

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
    /// A delay before another attempt that is longer than what is left of it is not waited for: the item fails at once, with the error that it has.
    /// The limit is never enforced early. It can be late by the timer's own delay plus at most 10 ms, because items that complete synchronously do not read
    /// the clock.
    /// </remarks>
    public TimeSpan? PerItemTimeout { get; init => field = Require.NoneIfInfinite(value); }

    /// <summary>How long the whole run may take, from its start; that of a stream starts at its first step.</summary>
    /// <value>
    /// More than zero and at most <see cref="uint.MaxValue"/> - 1 milliseconds; <see langword="null"/>, the default, for no limit.
    /// <see cref="Timeout.InfiniteTimeSpan"/> is stored as <see langword="null"/>.
    /// </value>
    /// <remarks>
    /// At the limit, no other item starts, the tokens of those that run are cancelled, and the run ends without waiting for calls that go on. In every
    /// <see cref="ErrorMode"/>, it throws an <see cref="OperationCanceledException"/> whose <see cref="Exception.InnerException"/> is a
    /// <see cref="RunTimeoutException"/>. Operators with outcomes return them instead: those of items that were running are <see cref="ItemStatus.TimedOut"/>,
    /// those of items that had not started <see cref="ItemStatus.NotRun"/>, both with that exception. A source that blocks is no item: the run ends only after
    /// its step has.
    /// </remarks>
    public TimeSpan? TotalTimeout { get; init => field = Require.NoneIfInfinite(value); }

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
    /// An item that waits for the rate of its key holds no worker and no permit of a concurrency limit, so the items of other keys go on. No new item starts
    /// while 1,024 items plus four times <see cref="MaxDegreeOfParallelism"/> wait.
    /// </remarks>
    public RateLimitOptions? RateLimit { get; init; }

    /// <summary>
    /// Limits how many attempts are in flight at once beyond this run: a <see cref="SharedConcurrencyLimit"/> over everything that uses the same instance,
    /// which may be any number of runs, operators, runtimes and single calls, or one for each key from <c>ByKey</c> of <see cref="ConcurrencyLimits"/>.
    /// </summary>
    /// <value>
    /// <see langword="null"/>, the default, for none. Keys must be those of the operator's items. <see cref="MaxDegreeOfParallelism"/> limits each run besides.
    /// </value>
    /// <remarks>
    /// An item that waits for its permit holds no worker, so other items of the run go on, and the wait does not count towards <see cref="PerItemTimeout"/>. See
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
        Output.IncludeDetails || Hooks is { Items: not null } || ShouldRetry is not null || OnFallback is { ItemType: not null } || HasBudgetByKey;

    /// <summary>What tells a log of the run, or null.</summary>
    internal RunEvents? Events { get; init; }

    /// <summary>What notes the items of the run that are done, or null. Set by the run itself, in place of <see cref="Resume"/>.</summary>
    internal ResumeSession? Session { get; init; }

    /// <summary>Whether a policy depends on the item.</summary>
    internal bool HasKeys => BreakersByKey is not null || ConcurrencyLimit is ConcurrencyLimits || RatesByKey is not null || HasBudgetByKey;

    /// <summary>Whether retries are paid for by key.</summary>
    internal bool HasBudgetByKey => Retry is { MaxRetries: > 0, Budget: RetryBudgets };

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
        Require.Timeout(TotalTimeout, nameof(TotalTimeout));
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
        if (ConcurrencyLimit is not null)
        {
            PolicySettings.Validate(ConcurrencyLimit);
        }

        if (OpenCircuitMode is not (OpenCircuitMode.FailFast or OpenCircuitMode.WaitForHalfOpen))
        {
            throw Require.Undefined(OpenCircuitMode, nameof(OpenCircuitMode), "FailFast or WaitForHalfOpen");
        }

        Require.Other(ShouldRetry, Retry, nameof(ShouldRetry), nameof(Retry), ", such as Retry = new() { MaxRetries = 3 }");
        Require.NotBoth(Retry?.IsTransient, ShouldRetry, "Retry.IsTransient", nameof(ShouldRetry));
    }

    // Rivulet's names for what is in a group. Each reads and changes the group, and is not shown where the options are written.

    // What the names of retries start from: whoever sets only a delay has not asked for retries.
    private static readonly RetryOptions NoRetries = new() { MaxRetries = 0 };

    /// <summary>How often a failed item is retried: <see cref="RetryOptions.MaxRetries"/> of <see cref="Retry"/>.</summary>
    /// <value>0 or more. The default is 0. A <see cref="Retry"/> that is set later replaces it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public int MaxRetries
    {
        get => Retry?.MaxRetries ?? 0;
        init => Retry = (Retry ?? NoRetries) with { MaxRetries = value };
    }

    /// <summary>Which failures are retried: <see cref="RetryOptions.IsTransient"/> of <see cref="Retry"/>.</summary>
    /// <value>The default is <see langword="null"/>. A <see cref="Retry"/> that is set later replaces it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public Func<Exception, bool>? IsTransient
    {
        get => Retry?.IsTransient;
        init => Retry = (Retry ?? NoRetries) with { IsTransient = value };
    }

    /// <summary>The delay that the <see cref="BackoffStrategy"/> starts from: <see cref="RetryOptions.BaseDelay"/> of <see cref="Retry"/>.</summary>
    /// <value>Zero or more. The default is 100 ms. A <see cref="Retry"/> that is set later replaces it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public TimeSpan BaseDelay
    {
        get => (Retry ?? NoRetries).BaseDelay;
        init => Retry = (Retry ?? NoRetries) with { BaseDelay = value };
    }

    /// <summary>How the delay grows from attempt to attempt: <see cref="RetryOptions.BackoffStrategy"/> of <see cref="Retry"/>.</summary>
    /// <value>The default is <see cref="BackoffStrategy.ExponentialJitter"/>. A <see cref="Retry"/> that is set later replaces it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public BackoffStrategy BackoffStrategy
    {
        get => (Retry ?? NoRetries).BackoffStrategy;
        init => Retry = (Retry ?? NoRetries) with { BackoffStrategy = value };
    }

    /// <summary>Called before an item's call: <see cref="RunHooks.OnStartItemAsync"/> of <see cref="Hooks"/>.</summary>
    /// <value>The default is <see langword="null"/>. <see cref="Hooks"/> that are set later replace it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public Func<int, ValueTask>? OnStartItemAsync
    {
        get => Hooks?.OnStartItemAsync;
        init => Hooks = (Hooks ?? RunHooks.None) with { OnStartItemAsync = value };
    }

    /// <summary>Called after an item's call: <see cref="RunHooks.OnCompleteItemAsync"/> of <see cref="Hooks"/>.</summary>
    /// <value>The default is <see langword="null"/>. <see cref="Hooks"/> that are set later replace it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public Func<int, ValueTask>? OnCompleteItemAsync
    {
        get => Hooks?.OnCompleteItemAsync;
        init => Hooks = (Hooks ?? RunHooks.None) with { OnCompleteItemAsync = value };
    }

    /// <summary>Called for each failed item: <see cref="RunHooks.OnErrorAsync"/> of <see cref="Hooks"/>.</summary>
    /// <value>The default is <see langword="null"/>. <see cref="Hooks"/> that are set later replace it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public Func<int, Exception, ValueTask<bool>>? OnErrorAsync
    {
        get => Hooks?.OnErrorAsync;
        init => Hooks = (Hooks ?? RunHooks.None) with { OnErrorAsync = value };
    }

    /// <summary>Called before an item waits for another attempt: <see cref="RunHooks.OnRetryAsync"/> of <see cref="Hooks"/>.</summary>
    /// <value>The default is <see langword="null"/>. <see cref="Hooks"/> that are set later replace it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public Func<int, int, Exception, ValueTask>? OnRetryAsync
    {
        get => Hooks?.OnRetryAsync;
        init => Hooks = (Hooks ?? RunHooks.None) with { OnRetryAsync = value };
    }

    /// <summary>Called when a stream pauses: <see cref="RunHooks.OnThrottleAsync"/> of <see cref="Hooks"/>.</summary>
    /// <value>The default is <see langword="null"/>. <see cref="Hooks"/> that are set later replace it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public Func<int, ValueTask>? OnThrottleAsync
    {
        get => Hooks?.OnThrottleAsync;
        init => Hooks = (Hooks ?? RunHooks.None) with { OnThrottleAsync = value };
    }

    /// <summary>Called when a paused stream resumes: <see cref="RunHooks.OnDrainAsync"/> of <see cref="Hooks"/>.</summary>
    /// <value>The default is <see langword="null"/>. <see cref="Hooks"/> that are set later replace it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public Func<int, ValueTask>? OnDrainAsync
    {
        get => Hooks?.OnDrainAsync;
        init => Hooks = (Hooks ?? RunHooks.None) with { OnDrainAsync = value };
    }

    /// <summary>How far a stream reads ahead: <see cref="OutputOptions.ChannelCapacity"/> of <see cref="Output"/>.</summary>
    /// <value>At least 1. The default is 1024. An <see cref="Output"/> that is set later replaces it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public int ChannelCapacity
    {
        get => Output.ChannelCapacity;
        init => Output = Output with { ChannelCapacity = value };
    }
}

/// <summary>What the caller of a run gets, besides the order. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record OutputOptions
{
    internal static OutputOptions Default { get; } = new();

    /// <summary>
    /// Whether the outcomes of <c>SelectParallelOutcomesAsync</c> and <c>SelectParallelOutcomesStreamAsync</c> have <see cref="ItemOutcome{TResult}.Details"/>:
    /// the item's index, how often its call was made and how long it took.
    /// </summary>
    /// <value>The default is <see langword="false"/>. Then they cost nothing.</value>
    /// <remarks>Details cost an object per item, and a record while the item is under way. Other operators ignore this option.</remarks>
    public bool IncludeDetails { get; init; }

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
    /// Whether the results that the caller of a run does not get are disposed of: those of a list or of outcomes whose run failed or was cancelled, and those
    /// of a stream that its consumer has not read when it leaves.
    /// </summary>
    /// <value>The default is <see langword="false"/>, because other code may still hold these results.</value>
    /// <remarks>
    /// The end of the run, or of the stream's disposal, waits for it, but no longer than <see cref="ParallelRunOptions.PerItemTimeout"/> or, without one,
    /// <see cref="ParallelRunOptions.TotalTimeout"/>. Results that come too late, after their item timed out, are disposed of in any case. See
    /// docs/reference/operators/disposable-results.md.
    /// </remarks>
    public bool DisposeUnusedResults { get; init; }

    /// <summary>How far a stream reads ahead: the number of results that may be ready for the consumer, in addition to the items in flight.</summary>
    /// <value>At least 1. The default is 1024.</value>
    /// <remarks>For items with keys, in every operator, this is also how many items that were read may wait for other items of their key.</remarks>
    public int ChannelCapacity { get; init; } = 1024;

    internal void Validate() => Require.AtLeastOne(ChannelCapacity, nameof(ChannelCapacity));
}

/// <summary>What disposes of the results that a run's caller does not get; null unless the options ask for it and the results may be disposable.</summary>
internal static class UnusedOf
{
    public static UnusedResults<TResult>? Results<TResult>(ParallelRunOptions options) =>
        Asked<TResult>(options.Output.DisposeUnusedResults) ? new(static result => result, PatienceOf(options), options.TimeProvider) : null;

    public static UnusedResults<(long Index, TResult Result)>? NumberedResults<TResult>(ParallelRunOptions options) =>
        Asked<TResult>(options.Output.DisposeUnusedResults) ? new(static item => item.Result, options.PerItemTimeout, options.TimeProvider) : null;

    /// <summary>The end of a run whose results are a list.</summary>
    public static ListCompletion<TResult> ListOf<TResult>(ParallelRunOptions options, int count) =>
        Results<TResult>(options) is { } unused ? new OwningListCompletion<TResult>(count, unused) : new ListCompletion<TResult>(count);

    public static UnusedResults<ItemOutcome<TItem, TResult>>? Outcomes<TItem, TResult>(ParallelRunOptions options) =>
        Asked<TResult>(options.Output.DisposeUnusedResults) ? new(static outcome => ResultOf(outcome), PatienceOf(options), options.TimeProvider) : null;

    public static UnusedResults<(int Index, ItemOutcome<TItem, TResult> Outcome)>? IndexedOutcomes<TItem, TResult>(ParallelRunOptions options) =>
        Asked<TResult>(options.Output.DisposeUnusedResults) ? new(static item => ResultOf(item.Outcome), PatienceOf(options), options.TimeProvider) : null;

    private static TimeSpan? PatienceOf(ParallelRunOptions options) => options.PerItemTimeout ?? options.TotalTimeout;

    public static bool Asked<TResult>(bool isSet) => isSet && DiscardedResult<TResult>.MayBeDisposable;

    // The default value of a disposable structure is no result.
    public static object? ResultOf<TItem, TResult>(in ItemOutcome<TItem, TResult> outcome) => outcome.IsSuccess ? outcome.Value : null;
}

/// <summary>What a run tells a log, besides the metrics and the spans. Each method is called on the thread where it happens, and must not throw.</summary>
internal abstract class RunEvents
{
    /// <summary>The events of one run.</summary>
    /// <param name="options">The run's options, with the caller's own name and tags.</param>
    /// <param name="operation">The name of the operator.</param>
    public abstract RunEvents ForRun(ParallelRunOptions options, string operation);

    /// <summary>The run is about to start.</summary>
    public abstract void Started(int? totalItems);

    /// <summary>The run has ended.</summary>
    public abstract void Ended(string outcome, long succeeded, long failed, long cancelled, long retries, TimeSpan elapsed, Exception? error);

    /// <summary>An item waits for its next attempt.</summary>
    public abstract void Retrying(long index, int attempt, TimeSpan delay, Exception error);

    /// <summary>From when on a wait is long; <see cref="Timeout.InfiniteTimeSpan"/> if nobody wants to know of waits.</summary>
    public abstract TimeSpan LongWait { get; }

    /// <summary>An item has waited long at a limit that it shares with others, and goes on.</summary>
    /// <param name="limit">Which kind of limit.</param>
    /// <param name="elapsed">How long.</param>
    public abstract void WaitedLong(string limit, TimeSpan elapsed);

    /// <summary>Items wait, and at least one of them has waited long.</summary>
    /// <param name="limit">What they wait for.</param>
    /// <param name="waiting">How many wait for it, long or not.</param>
    /// <param name="longest">How long the first of them has waited.</param>
    public abstract void StillWaiting(string limit, int waiting, TimeSpan longest);

    /// <summary>An item has failed for good.</summary>
    public abstract void ItemFailed(long index, bool timedOut, Exception? error);
}
