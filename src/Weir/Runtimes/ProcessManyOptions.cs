namespace Weir.Runtimes;

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
    /// <see cref="ItemStatus.NotRun"/>, and the call returns.
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
    /// <see cref="ParallelRunOptions.AdaptiveConcurrency"/> and <see cref="ParallelRunOptions.Control"/> must be null. See docs/runtimes.md.
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
