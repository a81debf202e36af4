using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Threads;
using Weir.Observability;
using Weir.Operators;
using Weir.Policies;
using Weir.Resilience;

namespace Weir.Runtimes;

/// <summary>
/// A long-lived object that processes batches of items. The call and the contract are the same, whether the items run on the caller's thread, as many calls
/// in flight, or on dedicated threads.
/// </summary>
/// <remarks>
/// Any number of callers can use one runtime at once. <see cref="IAsyncDisposable.DisposeAsync"/> rejects new calls, lets the running calls finish within the
/// runtime's grace period, and then ends them: items that never started are <see cref="ItemStatus.NotRun"/>, and running items are
/// <see cref="ItemStatus.Cancelled"/>.
/// </remarks>
public interface IExecutionRuntime : IAsyncDisposable
{
    /// <summary>The short name of this kind of runtime, such as <c>direct</c>.</summary>
    string Name { get; }

    /// <summary>What the runtime has done so far, over all calls.</summary>
    RuntimeStatistics Statistics { get; }

    /// <summary>Runs all items and returns one outcome per item, in input order.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="items">
    /// The items. A list must not change during the call; any other sequence is read while the call goes on, one step at a time. With
    /// <see cref="ParallelOperators.PartitionBy{TSource, TKey}(IEnumerable{TSource}, Func{TSource, TKey}, int)"/>, those with the same key run one at a time,
    /// in input order, each after the previous one has ended or was given up.
    /// </param>
    /// <param name="processor">The call for an item. Its token is cancelled when the time limit of the item or of the call passes.</param>
    /// <param name="options">The time limits; <see langword="null"/> for none.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    /// <returns>Exactly one outcome per item. An item's failure is never thrown, but one of the sequence or of its keys is, and ends the call.</returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="items"/> or <paramref name="processor"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    Task<ItemOutcome<TItem, TResult>[]> ProcessManyAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default);

    /// <summary>Runs all items and yields each one's outcome, with its index, as soon as it is known.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="items">
    /// The items. A list must not change during the enumeration; any other sequence is read while it goes on, one step at a time. They may have keys, as for
    /// a call that returns all outcomes together.
    /// </param>
    /// <param name="processor">The call for an item. Its token is cancelled when the time limit of the item or of the call passes.</param>
    /// <param name="orderedOutput">Whether the outcomes come in input order rather than in completion order.</param>
    /// <param name="options">The time limits; <see langword="null"/> for none. The batch timeout counts from the first step.</param>
    /// <param name="cancellationToken">Cancels the enumeration.</param>
    /// <returns>
    /// Exactly one outcome per item, each index once. Nothing runs before the first step, and each enumeration is a separate run. Leaving it early cancels the
    /// running items and waits for them. A consumer that is 1,024 outcomes behind holds the run back.
    /// </returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="items"/> or <paramref name="processor"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed. Thrown at the first step.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    IAsyncEnumerable<(int Index, ItemOutcome<TItem, TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default);
}

/// <summary>The limits of one call of an <see cref="IExecutionRuntime"/>. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record ProcessManyOptions
{
    internal static ProcessManyOptions Default { get; } = new();

    /// <summary>
    /// How long one item may take, from its start. Then it is <see cref="ItemStatus.TimedOut"/>, its own token is cancelled, and the other items continue.
    /// </summary>
    /// <value>
    /// More than zero and at most <see cref="uint.MaxValue"/> - 1 milliseconds; <see langword="null"/>, the default, for no limit.
    /// <see cref="Timeout.InfiniteTimeSpan"/> is stored as <see langword="null"/>.
    /// </value>
    public TimeSpan? PerItemTimeout { get; init => field = Require.NoneIfInfinite(value); }

    /// <summary>
    /// How long the whole call may take. Then running items are <see cref="ItemStatus.TimedOut"/>, items that have not started are
    /// <see cref="ItemStatus.NotRun"/>, and the call returns. The errors of both say so: they have an inner <see cref="RunTimeoutException"/>.
    /// </summary>
    /// <value>
    /// More than zero and at most <see cref="uint.MaxValue"/> - 1 milliseconds; <see langword="null"/>, the default, for no limit.
    /// <see cref="Timeout.InfiniteTimeSpan"/> is stored as <see langword="null"/>.
    /// </value>
    public TimeSpan? TotalTimeout { get; init => field = Require.NoneIfInfinite(value); }

    /// <summary>Pauses, limits and softly stops the call while it goes on. See docs/reference/control.md.</summary>
    /// <value><see langword="null"/>, the default, for the runtime's own, if it has one. One control may be given to several calls.</value>
    public RunControl? Control { get; init; }

    /// <summary>The policies around each item: the options of an operator, such as retries, a circuit breaker and a rate limit.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for <see cref="RuntimeOptions.Policies"/>. A circuit breaker and a rate limit that are not shared are those of
    /// the call.
    /// </value>
    /// <remarks>
    /// What concerns an item is used: the policies, the hooks, the reports, and <see cref="ParallelRunOptions.PerItemTimeout"/> where
    /// <see cref="PerItemTimeout"/> is null. The limit, the clock, the name and the order of the output are the runtime's and the call's.
    /// <see cref="ParallelRunOptions.AdaptiveConcurrency"/>, <see cref="ParallelRunOptions.Control"/> and <see cref="ParallelRunOptions.TotalTimeout"/> must be
    /// null. See docs/runtimes.md.
    /// </remarks>
    public ParallelRunOptions? Policies { get; init; }

    /// <summary>
    /// Whether the results that the caller does not get are disposed of: those of a call that was cancelled or whose sequence failed, and those of a stream
    /// that its consumer has not read when it leaves.
    /// </summary>
    /// <value>
    /// The default is <see langword="false"/>, because other code may still hold these results. The same as
    /// <see cref="OutputOptions.DisposeUnusedResults"/> of the policies.
    /// </value>
    /// <remarks>
    /// The end of the call waits for it, but no longer than the time limit of an item or, without one, of the call. Results that come too late, after their
    /// item was given up, are disposed of in any case. See docs/reference/operators/disposable-results.md.
    /// </remarks>
    public bool DisposeUnusedResults { get; init; }

    /// <summary>Your own name for what the call does, such as <c>import.orders</c>: it tells the call apart from others of the same runtime.</summary>
    /// <value>Any text but an empty one; <see langword="null"/>, the default, for none.</value>
    /// <remarks>See <see cref="ParallelRunOptions.OperationName"/>.</remarks>
    public string? OperationName { get; init; }

    /// <summary>Your own tags for the metrics and the span of the call, in addition to the library's.</summary>
    /// <value><see langword="null"/>, the default, for none. Keys must not be empty. Values other than text, numbers and booleans become text.</value>
    public IReadOnlyList<KeyValuePair<string, object?>>? Tags { get; init; }

    internal void Validate()
    {
        Require.Timeout(PerItemTimeout, nameof(PerItemTimeout));
        Require.Timeout(TotalTimeout, nameof(TotalTimeout));
        RuntimePolicies.Validate(Policies);
        Require.NotEmpty(OperationName, nameof(OperationName));
        Require.Keys(Tags, nameof(Tags));
    }
}

/// <summary>The options of all runtimes. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record RuntimeOptions
{
    internal static RuntimeOptions Default { get; } = new();

    /// <summary>How long <see cref="IAsyncDisposable.DisposeAsync"/> lets running calls continue before it ends them.</summary>
    /// <value>Zero or more, or <see cref="Timeout.InfiniteTimeSpan"/> to wait for as long as they take. The default is 30 seconds.</value>
    public TimeSpan GracePeriod { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// How many items may be in flight at once over all calls of the runtime. The limit that a runtime's constructor takes is that of a single call: without
    /// this one, ten callers have ten times as many items in flight.
    /// </summary>
    /// <value>At least 1; <see langword="null"/>, the default, for no such limit. Not together with <see cref="ConcurrencyLimit"/>.</value>
    /// <remarks>The calls' items are served first come, first served. See docs/limits.md.</remarks>
    public int? TotalConcurrency { get; init; }

    /// <summary>A limit of all calls together, shared with everything else that uses the instance: other runtimes, runs, chains and single calls.</summary>
    /// <value><see langword="null"/>, the default, for none. Not together with <see cref="TotalConcurrency"/>.</value>
    public SharedConcurrencyLimit? ConcurrencyLimit { get; init; }

    /// <summary>Pauses, limits and softly stops all calls of the runtime that have no <see cref="ProcessManyOptions.Control"/> of their own.</summary>
    /// <value><see langword="null"/>, the default, for none. See docs/reference/control.md.</value>
    public RunControl? Control { get; init; }

    /// <summary>The policies around each item of the calls that have no <see cref="ProcessManyOptions.Policies"/> of their own.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for none. All calls share the circuit breaker and the rate limit. Without a concurrency limit if the runtime has
    /// one.
    /// </value>
    public ParallelRunOptions? Policies { get; init; }

    /// <summary>The clock for time limits and the grace period.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    /// <summary>The limit over all calls of one runtime, or null.</summary>
    internal SharedConcurrencyLimit? MakeLimit() => TotalConcurrency is { } total ? new SharedConcurrencyLimit(total) : ConcurrencyLimit;

    internal void Validate()
    {
        Require.AtLeastOne(TotalConcurrency ?? 1, nameof(TotalConcurrency));
        Require.NotBoth(TotalConcurrency, ConcurrencyLimit, nameof(TotalConcurrency), nameof(ConcurrencyLimit));
        RuntimePolicies.Validate(Policies);
        RuntimePolicies.RefuseResume(Policies);
        RuntimePolicies.RefuseTwoLimits(Policies, (object?)TotalConcurrency ?? ConcurrencyLimit);
        Require.GracePeriod(GracePeriod, nameof(GracePeriod));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}

/// <summary>What a runtime has done since it was created, read at one moment. The counts of running calls are not read atomically.</summary>
public readonly record struct RuntimeStatistics
{
    /// <summary>Calls that are running.</summary>
    public int ActiveCalls { get; init; }

    /// <summary>Items in flight.</summary>
    public int InFlight { get; init; }

    /// <summary>Items that ended with a result.</summary>
    public long Succeeded { get; init; }

    /// <summary>Items that failed or timed out.</summary>
    public long Failed { get; init; }

    /// <summary>Items that started and were cancelled because their call stopped.</summary>
    public long Cancelled { get; init; }

    /// <summary>Workers that were abandoned because their item passed its own time limit or the call's, or outlived the grace period.</summary>
    public long AbandonedWorkers { get; init; }

    /// <summary>Dedicated threads that were replaced because they were stuck in an abandoned item or had died.</summary>
    public long ReplacedThreads { get; init; }
}

/// <summary>The policies around the items of a runtime's calls: options of an operator, of which only those that concern an item are used.</summary>
[SuppressMessage("Usage", "CA2208:Instantiate argument exceptions correctly", Justification = "Wrong options are named after their property.")]
internal sealed class RuntimePolicies
{
    private readonly RuntimeOptions _options;
    private readonly ParallelRunOptions? _own;

    public RuntimePolicies(RuntimeOptions options)
    {
        _options = options;
        Limit = options.MakeLimit();
        if (options.Policies is { } policies)
        {
            // All calls of the runtime share them.
            _own = Adapted(policies with
            {
                CircuitBreaker = PolicySettings.Made(policies.CircuitBreaker, options.TimeProvider),
                RateLimit = PolicySettings.Made(policies.RateLimit, options.TimeProvider),
            });
        }
        else if (Limit is not null)
        {
            _own = Adapted(ParallelRunOptions.Default);
        }
    }

    /// <summary>The limit over all calls of the runtime, or null.</summary>
    public SharedConcurrencyLimit? Limit { get; }

    /// <summary>Whether a call has policies besides <see cref="Limit"/>.</summary>
    public bool AreSet(ProcessManyOptions options) => options.Policies is not null || _options.Policies is not null;

    /// <summary>The policies of a call, with the limit; null if there are none.</summary>
    /// <exception cref="ArgumentException">They are not those of the call's items or results, or there are two concurrency limits.</exception>
    public ParallelRunOptions? Of<TItem, TResult>(ProcessManyOptions options)
    {
        RefuseTwoLimits(options.Policies, Limit);
        ParallelRunOptions? policies = options.Policies is { } own ? Adapted(own) : _own;
        if (policies is not null)
        {
            OperatorRun.CheckTypes<TItem, TResult>(policies);
        }

        return policies;
    }

    /// <summary>Checks policies, if there are any.</summary>
    /// <exception cref="ArgumentOutOfRangeException">A value is out of range.</exception>
    /// <exception cref="ArgumentException">An option concerns a run, and not its items.</exception>
    [StackTraceHidden]
    public static void Validate(ParallelRunOptions? policies)
    {
        if (policies is null)
        {
            return;
        }

        policies.Validate();
        Refuse(policies.AdaptiveConcurrency, nameof(policies.AdaptiveConcurrency));
        Refuse(policies.Control, nameof(policies.Control));
        Refuse(policies.TotalTimeout, nameof(policies.TotalTimeout));
    }

    /// <exception cref="ArgumentException">The runtime has a limit over all calls, and the policies have another.</exception>
    [StackTraceHidden]
    public static void RefuseTwoLimits(ParallelRunOptions? policies, object? limit)
    {
        if (limit is not null && policies is { ConcurrencyLimit: not null })
        {
            throw new ArgumentException(
                "The runtime has a TotalConcurrency or ConcurrencyLimit, so its Policies cannot have a concurrency limit too.",
                nameof(policies.ConcurrencyLimit));
        }
    }

    /// <exception cref="ArgumentException">The policies have a checkpoint.</exception>
    [StackTraceHidden]
    public static void RefuseResume(ParallelRunOptions? policies)
    {
        if (policies is { Resume: not null })
        {
            throw new ArgumentException(
                "Resume must be null in the Policies of a runtime, whose calls would share the checkpoint: set it in the Policies of a call.", nameof(policies.Resume));
        }
    }

    [StackTraceHidden]
    private static void Refuse(object? value, string property)
    {
        if (value is not null)
        {
            throw new ArgumentException($"{property} must be null in the Policies of a runtime: it concerns a run, and not an item.", property);
        }
    }

    private ParallelRunOptions Adapted(ParallelRunOptions policies) => policies with
    {
        TimeProvider = _options.TimeProvider,
        ConcurrencyLimit = Limit ?? policies.ConcurrencyLimit,
        Output = policies.Output.IncludeDetails ? policies.Output with { IncludeDetails = false } : policies.Output,
    };
}
