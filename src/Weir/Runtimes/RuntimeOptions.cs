using Weir.Resilience;

namespace Weir.Runtimes;

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

    /// <summary>The same limit, but shared with everything else that uses the instance: other runtimes, runs, chains and single calls.</summary>
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
        RuntimePolicies.RefuseTwoLimits(Policies, (object?)TotalConcurrency ?? ConcurrencyLimit);
        Require.GracePeriod(GracePeriod, nameof(GracePeriod));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}
