using Weir.Resilience;

namespace Weir.Delivery;

/// <summary>The options of a <see cref="WorkHost{T}"/>. Immutable: a <c>with</c> expression makes a changed copy.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
public sealed record WorkHostOptions<T>
{
    /// <summary>Where items go that cannot be processed, such as <see cref="IWorkQueue{T}.DeadLetters"/>.</summary>
    public required IDeadLetters DeadLetters { get; init; }

    /// <summary>Writes an item's value into its dead letter.</summary>
    public required IWorkSerializer<T> Serializer { get; init; }

    /// <summary>
    /// Returns the key of an item: items with the same key are processed one at a time, in the order of delivery, across all batches; those with other keys
    /// overtake them. An item without a key has no order. It is called once an item, for one item at a time.
    /// </summary>
    /// <value><see langword="null"/>, the default, for no order at all. For the key that the publisher gave: <c>item => item.Key</c>.</value>
    /// <remarks>
    /// An item that fails holds up those behind it while <see cref="Retry"/> repeats it. Then it is a dead letter, and those behind it go on: an attempt after
    /// others of its key would break the order, so nothing is redelivered with a delay.
    /// </remarks>
    public Func<WorkItem<T>, string?>? PartitionBy { get; init; }

    /// <summary>Retries on the spot, before an item counts as failed. They share the time limit of the item.</summary>
    /// <value><see langword="null"/>, the default, for none. Breakers and limits belong to the runtime: see docs/limits.md.</value>
    public RetryOptions? Retry { get; init; }

    /// <summary>How long the processor has for an item, retries on the spot included. After that, its token is cancelled and the item has timed out.</summary>
    /// <value>More than zero; <see langword="null"/>, the default, for no limit. Set one wherever an item can hang.</value>
    public TimeSpan? PerItemTimeout { get; init; }

    /// <summary>How many attempts an item has until it is a dead letter, where the source can redeliver and there is no order of keys.</summary>
    /// <value>At least 1. The default is 5.</value>
    public int MaxAttempts { get; init; } = 5;

    /// <summary>How long a failed item waits for its next attempt: the first value after the first attempt, and so on; the last one after all others.</summary>
    /// <value>At least one, none negative. The default is 1, 10 and 60 seconds.</value>
    public IReadOnlyList<TimeSpan> RedeliveryDelays { get; init; } = [TimeSpan.FromSeconds(1), TimeSpan.FromSeconds(10), TimeSpan.FromSeconds(60)];

    /// <summary>Whether another attempt may help. Otherwise the item is a dead letter at once.</summary>
    /// <value><see langword="null"/>, the default, for every failure. For those that the platform calls transient: <see cref="Transient.IsTransient"/>.</value>
    public Func<Exception, bool>? IsTransient { get; init; }

    /// <summary>How many items may be read and not yet acknowledged: no batch is read beyond that. The bound of the host's memory.</summary>
    /// <value>At least 1. The default is 4,096.</value>
    public int MaxItemsInFlight { get; init; } = 4096;

    /// <summary>How many items go to the runtime in one call, at most, out of one batch or several.</summary>
    /// <value>At least 1. The default is 256.</value>
    public int MaxItemsPerCall { get; init; } = 256;

    /// <summary>
    /// How many calls of the runtime go on at once. So a slow item does not hold up the next ones until this many calls have one. Each call has the concurrency
    /// of the runtime's constructor; <see cref="Runtimes.RuntimeOptions.TotalConcurrency"/> bounds all of them.
    /// </summary>
    /// <value>At least 1. <see langword="null"/>, the default, for 1 on a <see cref="Runtimes.DirectRuntime"/> and 8 on all others.</value>
    public int? MaxConcurrentCalls { get; init; }

    /// <summary>How often a process may die while it runs an item alone until the item is a dead letter.</summary>
    /// <value>At least 1. The default is 2, since the first death may have had another cause.</value>
    public int MaxCrashes { get; init; } = 2;

    /// <summary>How long items that are running have to finish when the host stops. Then their tokens are cancelled, and they are given back.</summary>
    /// <value>Zero or more, or <see cref="Timeout.InfiniteTimeSpan"/>. The default is 30 seconds.</value>
    public TimeSpan GracePeriod { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>When batches are acknowledged.</summary>
    /// <value>The default is <see cref="AcknowledgePoint.AfterProcessing"/>.</value>
    public AcknowledgePoint Acknowledge { get; init; }

    /// <summary>Called after something around the items failed: reading, acknowledging, storing. The host repeats it, with delays up to 5 seconds.</summary>
    /// <value><see langword="null"/>, the default, for nobody. It must return soon; its exceptions are ignored.</value>
    public Action<Exception>? OnFault { get; init; }

    /// <summary>The clock for time limits, delays and the grace period.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        ArgumentNullException.ThrowIfNull(DeadLetters, nameof(DeadLetters));
        ArgumentNullException.ThrowIfNull(Serializer, nameof(Serializer));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
        ArgumentNullException.ThrowIfNull(RedeliveryDelays, nameof(RedeliveryDelays));
        Require.Timeout(PerItemTimeout, nameof(PerItemTimeout));
        Require.AtLeastOne(MaxAttempts, nameof(MaxAttempts));
        Require.AtLeastOne(MaxItemsInFlight, nameof(MaxItemsInFlight));
        Require.AtLeastOne(MaxItemsPerCall, nameof(MaxItemsPerCall));
        Require.AtLeastOne(MaxConcurrentCalls ?? 1, nameof(MaxConcurrentCalls));
        Require.AtLeastOne(MaxCrashes, nameof(MaxCrashes));
        Require.GracePeriod(GracePeriod, nameof(GracePeriod));
        Require.Defined(
            Acknowledge is AcknowledgePoint.AfterProcessing or AcknowledgePoint.OnReceipt, Acknowledge, nameof(Acknowledge), "AfterProcessing or OnReceipt");
        if (RedeliveryDelays.Count == 0)
        {
            throw new ArgumentException($"{nameof(RedeliveryDelays)} must have at least one value.", nameof(RedeliveryDelays));
        }

        foreach (TimeSpan delay in RedeliveryDelays)
        {
            Require.NotNegative(delay, nameof(RedeliveryDelays));
        }
    }

    internal TimeSpan DelayAfter(int attempt) => RedeliveryDelays[Math.Min(attempt, RedeliveryDelays.Count) - 1];
}
