namespace Weir.PostgreSql;

/// <summary>The options of a <see cref="PostgresWorkQueue{T}"/>. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record PostgresWorkQueueOptions
{
    /// <summary>The schema of the tables.</summary>
    /// <value>At most 63 bytes of UTF-8. The default is <c>weir</c>.</value>
    public string Schema { get; init; } = "weir";

    /// <summary>
    /// Whether items of the same key are taken in the order in which they were enqueued: none while an earlier one of its key is not done, and never two at a
    /// time unless they are in one batch. Part of the queue: all who open it must say the same.
    /// </summary>
    /// <value>The default is <see langword="false"/>. A host of such a queue also needs <see cref="WorkHostOptions{T}.PartitionBy"/>.</value>
    public bool KeepKeyOrder { get; init; }

    /// <summary>How many items are in a batch, at most.</summary>
    /// <value>From 1 to 10,000. The default is 256.</value>
    public int MaxItemsPerBatch { get; init; } = 256;

    /// <summary>
    /// How long the identities of items are remembered after they were enqueued, so that a publisher that repeats a call enqueues nothing twice. One row is
    /// kept in that time for each origin, that is, for each message or transaction that was published, and not for each of its items.
    /// </summary>
    /// <value>
    /// From 1 minute to 30 days; zero to remember nothing. The default is 10 minutes. All who open the queue should say the same: sources delete what is older.
    /// </value>
    public TimeSpan DuplicateHistory { get; init; } = TimeSpan.FromMinutes(10);

    /// <summary>How many bytes the value of an item may have. Enqueueing a longer one fails; one that is there all the same becomes a dead letter.</summary>
    /// <value>At least 1. The default is 1 MiB. A batch has at most this times <see cref="MaxItemsPerBatch"/>.</value>
    public int MaxItemBytes { get; init; } = 1 << 20;

    /// <summary>
    /// How long a consumer that is no longer heard of keeps what it has taken. A consumer that lives renews its lease four times in that time, however long its
    /// items run.
    /// </summary>
    /// <value>From 1 second to 1 day. The default is 30 seconds.</value>
    public TimeSpan LeaseDuration { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// How long items that are done wait for the rest of their batch before they are acknowledged by themselves. After a crash, what was done and not
    /// acknowledged is done again. The shorter, the less that is, and the more statements the server gets: one in this time from each source, at most. Items
    /// that were enqueued together are acknowledged when all of them are done, and by themselves only after a second. With a sink, batches go as a whole.
    /// </summary>
    /// <value>
    /// From 1 millisecond to 1 day, or <see cref="Timeout.InfiniteTimeSpan"/> to acknowledge only whole batches. The default is 50 milliseconds.
    /// </value>
    public TimeSpan AcknowledgeInterval { get; init; } = TimeSpan.FromMilliseconds(50);

    /// <summary>How long a source that found nothing waits until it looks again, if nothing wakes it before.</summary>
    /// <value>From 10 milliseconds to 1 day. The default is 5 seconds. Items whose delay ends are found at their time.</value>
    public TimeSpan PollInterval { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>
    /// Whether enqueueing outside a transaction of the caller notifies the sources that wait, as does <see cref="PostgresWorkQueue{T}.NotifyAsync"/>, and each
    /// source keeps a connection that listens. Without it, they poll: for a pooler that shares connections between transactions.
    /// </summary>
    /// <value>The default is <see langword="true"/>.</value>
    public bool UseNotifications { get; init; } = true;

    /// <summary>The clock for renewing leases and for polling. What is due and which lease has ended is decided by the server's clock.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        SqlName.Check(Schema, nameof(Schema));
        Require.Range(MaxItemsPerBatch is >= 1 and <= 10_000, MaxItemsPerBatch, nameof(MaxItemsPerBatch), "from 1 to 10,000");
        Require.Range(
            DuplicateHistory == TimeSpan.Zero || (DuplicateHistory >= TimeSpan.FromMinutes(1) && DuplicateHistory <= TimeSpan.FromDays(30)),
            DuplicateHistory,
            nameof(DuplicateHistory),
            "from 1 minute to 30 days, or zero");
        Require.Range(MaxItemBytes >= 1, MaxItemBytes, nameof(MaxItemBytes), "at least 1");
        Require.Range(
            LeaseDuration >= TimeSpan.FromSeconds(1) && LeaseDuration <= TimeSpan.FromDays(1), LeaseDuration, nameof(LeaseDuration), "from 1 second to 1 day");
        Require.Range(
            AcknowledgeInterval == Timeout.InfiniteTimeSpan
                || (AcknowledgeInterval >= TimeSpan.FromMilliseconds(1) && AcknowledgeInterval <= TimeSpan.FromDays(1)),
            AcknowledgeInterval,
            nameof(AcknowledgeInterval),
            "from 1 millisecond to 1 day, or Timeout.InfiniteTimeSpan");
        Require.Range(
            PollInterval >= TimeSpan.FromMilliseconds(10) && PollInterval <= TimeSpan.FromDays(1),
            PollInterval,
            nameof(PollInterval),
            "from 10 milliseconds to 1 day");
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}
