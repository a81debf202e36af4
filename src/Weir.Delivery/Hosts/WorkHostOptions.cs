using Weir.Resilience;

namespace Weir.Delivery;

/// <summary>
/// How often items are tried unless somebody says otherwise. A service that is away for an hour, as one is that is restored, must not make dead letters of all
/// that runs meanwhile; and an item that will never succeed must not run all day.
/// </summary>
internal static class DefaultAttempts
{
    public const int Count = 12;

    /// <summary>RabbitMQ has a queue for each, so it must know all of them.</summary>
    public static IReadOnlyList<TimeSpan> Delays { get; } =
        [TimeSpan.FromSeconds(1), TimeSpan.FromSeconds(10), TimeSpan.FromMinutes(1), TimeSpan.FromMinutes(10)];
}

/// <summary>The options of a <see cref="WorkHost{T}"/>. Immutable: a <c>with</c> expression makes a changed copy.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
public sealed record WorkHostOptions<T>
{
    /// <summary>The store for items that cannot be processed, such as <see cref="IWorkContents.DeadLetters"/>.</summary>
    /// <value>Required.</value>
    public required IDeadLetters DeadLetters { get; init; }

    /// <summary>Writes an item's value into its dead letter, if the source is no queue that has a serializer.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for that of the queue, which also reads the letter. Required for change streams and for other sources without one.
    /// </value>
    public IWorkSerializer<T>? Serializer { get; init; }

    /// <summary>
    /// Returns the key of an item. Items with the same key are processed one at a time, in the order of delivery, across all batches; items with other keys can
    /// overtake them. An item without a key has no order. The host calls it once for each item, never concurrently.
    /// </summary>
    /// <value><see langword="null"/>, the default, for no order. To use the key that the publisher set: <c>item => item.Key</c>.</value>
    /// <remarks>
    /// A failed item blocks the items behind it while <see cref="Retry"/> repeats it. Then it becomes a dead letter, and the items behind it continue. Items
    /// are not redelivered with a delay, because that would break the order.
    /// </remarks>
    public Func<WorkItem<T>, string?>? PartitionBy { get; init; }

    /// <summary>The immediate retries of an item before it counts as failed. They share the time limit of the item.</summary>
    /// <value><see langword="null"/>, the default, for none. Breakers and limits belong to the runtime: see docs/limits.md.</value>
    public RetryOptions? Retry { get; init; }

    /// <summary>The time limit of an item, including immediate retries. After that, its token is cancelled and the item has timed out.</summary>
    /// <value>More than zero; <see langword="null"/>, the default, for no limit. Set a limit if an item can hang.</value>
    public TimeSpan? PerItemTimeout { get; init; }

    /// <summary>The number of attempts before an item becomes a dead letter, if the source can redeliver and items have no order.</summary>
    /// <value>At least 1. The default is 12: with the default delays, an item outlasts an outage of 81 minutes.</value>
    public int MaxAttempts { get; init; } = DefaultAttempts.Count;

    /// <summary>
    /// How long a failed item waits for its next attempt: the first value after the first attempt, and so on. The last value applies to all later attempts.
    /// </summary>
    /// <value>At least one, none negative. The default is 1 and 10 seconds, 1 minute and 10 minutes.</value>
    public IReadOnlyList<TimeSpan> RedeliveryDelays { get; init; } = DefaultAttempts.Delays;

    /// <summary>Returns whether another attempt may help. If not, the item becomes a dead letter at once.</summary>
    /// <value>
    /// <see langword="null"/>, the default, to treat every failure as transient. For the failures that the platform considers transient:
    /// <see cref="Transient.IsTransient"/>.
    /// </value>
    public Func<Exception, bool>? IsTransient { get; init; }

    /// <summary>The number of items that are read but not yet acknowledged at which the host stops reading. It bounds the memory of the host.</summary>
    /// <value>At least 1. The default is 4,096.</value>
    public int MaxItemsInFlight { get; init; } = 4096;

    /// <summary>The maximum number of items in one call of the runtime. They can come from several batches.</summary>
    /// <value>At least 1. The default is 256.</value>
    public int MaxItemsPerCall { get; init; } = 256;

    /// <summary>
    /// The maximum number of concurrent calls of the runtime. A slow item delays later items only if every call has one. Each call has the concurrency
    /// of the runtime's constructor; <see cref="Runtimes.RuntimeOptions.TotalConcurrency"/> bounds all of them.
    /// </summary>
    /// <value>At least 1. <see langword="null"/>, the default, for 1 on a <see cref="Runtimes.DirectRuntime"/> and 8 on all others.</value>
    public int? MaxConcurrentCalls { get; init; }

    /// <summary>The number of times that a process may die while it runs an item alone, before the item becomes a dead letter.</summary>
    /// <value>At least 1. The default is 2, since the first death may have had another cause.</value>
    public int MaxCrashes { get; init; } = 2;

    /// <summary>The time that running items have to finish when the host stops. After that, their tokens are cancelled and they are returned.</summary>
    /// <value>Zero or more, or <see cref="Timeout.InfiniteTimeSpan"/>. The default is 30 seconds.</value>
    public TimeSpan GracePeriod { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>When batches are acknowledged.</summary>
    /// <value>The default is <see cref="AcknowledgePoint.AfterProcessing"/>.</value>
    public AcknowledgePoint Acknowledge { get; init; }

    /// <summary>Your own name for what the host does, such as <c>orders.enter</c>, in the metrics, spans and log lines of its calls of the runtime.</summary>
    /// <value>Any text but an empty one; <see langword="null"/>, the default, for none.</value>
    /// <remarks>See <see cref="ParallelRunOptions.OperationName"/>.</remarks>
    public string? OperationName { get; init; }

    /// <summary>Your own tags for the metrics and spans of the calls of the runtime.</summary>
    /// <value><see langword="null"/>, the default, for none. Keys must not be empty. Values other than text, numbers and booleans become text.</value>
    public IReadOnlyList<KeyValuePair<string, object?>>? Tags { get; init; }

    /// <summary>Called when reading, acknowledging or storing fails. The host repeats the call, with delays of up to 5 seconds.</summary>
    /// <value><see langword="null"/>, the default, for none. It must return quickly. Its exceptions are ignored.</value>
    public Action<Exception>? OnFault { get; init; }

    /// <summary>
    /// Called for each attempt that failed, whether the item gets another or becomes a dead letter, before that is stored. Calls can be concurrent.
    /// </summary>
    /// <value><see langword="null"/>, the default, for none. It must return quickly. Its exceptions are ignored.</value>
    public Action<FailedAttempt>? OnFailedAttempt { get; init; }

    /// <summary>Called for each dead letter, after it was stored.</summary>
    /// <value><see langword="null"/>, the default, for none. It must return quickly. Its exceptions are ignored.</value>
    public Action<DeadLetter>? OnDeadLetter { get; init; }

    /// <summary>The clock for time limits, delays and the grace period.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        ArgumentNullException.ThrowIfNull(DeadLetters, nameof(DeadLetters));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
        ArgumentNullException.ThrowIfNull(RedeliveryDelays, nameof(RedeliveryDelays));
        Require.Timeout(PerItemTimeout, nameof(PerItemTimeout));
        Require.AtLeastOne(MaxAttempts, nameof(MaxAttempts));
        Require.AtLeastOne(MaxItemsInFlight, nameof(MaxItemsInFlight));
        Require.AtLeastOne(MaxItemsPerCall, nameof(MaxItemsPerCall));
        Require.AtLeastOne(MaxConcurrentCalls ?? 1, nameof(MaxConcurrentCalls));
        Require.AtLeastOne(MaxCrashes, nameof(MaxCrashes));
        Require.GracePeriod(GracePeriod, nameof(GracePeriod));
        Require.NotEmpty(OperationName, nameof(OperationName));
        Require.Keys(Tags, nameof(Tags));
        if (Acknowledge is not (AcknowledgePoint.AfterProcessing or AcknowledgePoint.OnReceipt))
        {
            throw Require.Undefined(Acknowledge, nameof(Acknowledge), "AfterProcessing or OnReceipt");
        }

        if (RedeliveryDelays.Count == 0)
        {
            throw new ArgumentException($"{nameof(RedeliveryDelays)} must have at least one value.", nameof(RedeliveryDelays));
        }

        foreach (TimeSpan delay in RedeliveryDelays)
        {
            Require.NotNegative(delay, nameof(RedeliveryDelays));
        }
    }

    /// <summary>The options with the one serializer that there is.</summary>
    /// <exception cref="ArgumentException">There is none, or there are two.</exception>
    internal WorkHostOptions<T> For(IWorkSource<T> source)
    {
        IWorkSerializer<T>? its = source.Serializer;
        string? problem = its is null && Serializer is null
            ? $"must be set: the source '{source.Name}' has none with which dead letters could be written."
            : its is not null && Serializer is not null && !ReferenceEquals(its, Serializer)
                ? $"must be left out: the queue '{source.Name}' has a serializer, with which its dead letters are read, and this is another one."
                : null;
        return problem is null ? this with { Serializer = its ?? Serializer } : throw new ArgumentException($"{nameof(Serializer)} {problem}");
    }

    internal TimeSpan DelayAfter(int attempt) => RedeliveryDelays[Math.Min(attempt, RedeliveryDelays.Count) - 1];
}

/// <summary>When a batch is acknowledged.</summary>
public enum AcknowledgePoint
{
    /// <summary>After each of its items has an outcome that survives a crash. Each item is processed at least once.</summary>
    AfterProcessing,

    /// <summary>
    /// When it has been read, before it is processed. Each item is processed at most once: items that a process has when it dies are lost. A host that is
    /// stopped still starts what it has read, and what has not ended when its grace period ends is lost.
    /// </summary>
    OnReceipt,
}
