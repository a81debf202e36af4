namespace Weir.PostgreSql;

/// <summary>The options of a <see cref="PostgresChangeSource"/>. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record PostgresChangeSourceOptions
{
    /// <summary>Which changes are processed one after another. The host needs <see cref="WorkHostOptions{T}.PartitionBy"/><c> = item => item.Key</c>.</summary>
    /// <value>The default is <see cref="PostgresChangeOrder.Key"/>.</value>
    public PostgresChangeOrder Order { get; init; }

    /// <summary>
    /// Whether a new stream begins with the rows that the tables have, as changes of the kind <see cref="PostgresChangeKind.Snapshot"/>. It has an effect only
    /// when <see cref="PostgresChangeSource.SetupAsync"/> creates the stream.
    /// </summary>
    /// <value>The default is <see langword="false"/>: only what changes from then on.</value>
    public bool InitialSnapshot { get; init; }

    /// <summary>The name of the stream's position in the store of checkpoints.</summary>
    /// <value><see langword="null"/>, the default, for the name of the slot.</value>
    public string? CheckpointName { get; init; }

    /// <summary>How many changes a batch has at most. A batch has several small transactions, or a part of a large one.</summary>
    /// <value>From 1 to 100,000. The default is 500.</value>
    public int MaxChangesPerBatch { get; init; } = 500;

    /// <summary>How many bytes of rows a batch has at most, apart from the last row.</summary>
    /// <value>At least 1. The default is 1 MiB.</value>
    public int MaxBytesPerBatch { get; init; } = 1 << 20;

    /// <summary>How many batches are read ahead of the host. They and the host's items in flight bound the memory, however large a transaction is.</summary>
    /// <value>From 1 to 1,000. The default is 4.</value>
    public int MaxBufferedBatches { get; init; } = 4;

    /// <summary>
    /// How often the position moves on while no published table changes, but others do. Otherwise, the server would keep their write-ahead log.
    /// </summary>
    /// <value>From 10 milliseconds to 1 hour. The default is 10 seconds.</value>
    public TimeSpan HeartbeatInterval { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>
    /// How long opening waits for a slot that another process uses. The server notices after its <c>wal_sender_timeout</c> at the latest that a process has
    /// disappeared.
    /// </summary>
    /// <value>From 0 to 1 hour. The default is 10 seconds.</value>
    public TimeSpan SlotWait { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>What becomes of a change that cannot be read, or whose mapping throws.</summary>
    /// <value>The default is <see cref="PostgresChangeErrorMode.Stop"/>.</value>
    public PostgresChangeErrorMode OnError { get; init; }

    /// <summary>Where such changes are stored with <see cref="PostgresChangeErrorMode.DeadLetter"/>, such as <see cref="IWorkContents.DeadLetters"/>.</summary>
    /// <value>Required for that, and <see langword="null"/> otherwise.</value>
    public IDeadLetters? DeadLetters { get; init; }

    /// <summary>
    /// Called for each such change, after it was stored. The letter has the identity of the change, which is its position, the error, and the change as JSON,
    /// with the values that could be read. After a connection was lost, a change can come again.
    /// </summary>
    /// <value><see langword="null"/>, the default, for none. It must return quickly. Its exceptions are ignored.</value>
    public Action<DeadLetter>? OnFailedChange { get; init; }

    /// <summary>
    /// Called with a sentence when a source is opened and there is something to know that is no error: the publication has tables of Weir itself, as one
    /// <c>FOR ALL TABLES</c> has. Their changes are left out.
    /// </summary>
    /// <value><see langword="null"/>, the default, for none. It must return quickly. Its exceptions are ignored.</value>
    public Action<string>? OnNotice { get; init; }

    /// <summary>The clock for heartbeats and waits.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Tell(DeadLetter letter) => Call(OnFailedChange, letter);

    internal void Notice(string sentence) => Call(OnNotice, sentence);

    internal void Validate()
    {
        Require.Range(Enum.IsDefined(Order), Order, nameof(Order), "Key, None, Relation, Transaction or Global");
        Require.Range(MaxChangesPerBatch is >= 1 and <= 100_000, MaxChangesPerBatch, nameof(MaxChangesPerBatch), "from 1 to 100,000");
        Require.Range(MaxBytesPerBatch >= 1, MaxBytesPerBatch, nameof(MaxBytesPerBatch), "at least 1");
        Require.Range(MaxBufferedBatches is >= 1 and <= 1000, MaxBufferedBatches, nameof(MaxBufferedBatches), "from 1 to 1,000");
        Require.Range(
            HeartbeatInterval >= TimeSpan.FromMilliseconds(10) && HeartbeatInterval <= TimeSpan.FromHours(1),
            HeartbeatInterval,
            nameof(HeartbeatInterval),
            "from 10 milliseconds to 1 hour");
        Require.Range(SlotWait >= TimeSpan.Zero && SlotWait <= TimeSpan.FromHours(1), SlotWait, nameof(SlotWait), "from 0 to 1 hour");
        Require.Range(Enum.IsDefined(OnError), OnError, nameof(OnError), "Stop, Skip or DeadLetter");
        if (OnError == PostgresChangeErrorMode.DeadLetter != DeadLetters is not null)
        {
            throw new ArgumentException($"{nameof(DeadLetters)} must be set if {nameof(OnError)} is DeadLetter, and only then.", nameof(DeadLetters));
        }

        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
        if (CheckpointName is { Length: 0 })
        {
            throw new ArgumentException($"{nameof(CheckpointName)} must be null or a text that is not empty.", nameof(CheckpointName));
        }
    }

    private static void Call<T>(Action<T>? hook, T argument)
    {
        try
        {
            hook?.Invoke(argument);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // It is the user's, and changes nothing.
        }
    }
}

/// <summary>
/// Which changes a host processes one after another. The source gives changes that belong together the same <see cref="WorkItem{T}.Key"/>; the host needs
/// <see cref="WorkHostOptions{T}.PartitionBy"/><c> = item => item.Key</c>.
/// </summary>
public enum PostgresChangeOrder
{
    /// <summary>
    /// Changes of the same row, by the key of its table. A change of the key itself, a truncate and the first change after ALTER TABLE are delivered alone:
    /// when everything before is acknowledged, and before everything after. The changes of a table without a key are processed one after another.
    /// </summary>
    Key,

    /// <summary>None: any change may be processed before any other.</summary>
    None,

    /// <summary>Changes of the same table.</summary>
    Relation,

    /// <summary>Changes of the same transaction.</summary>
    Transaction,

    /// <summary>All changes, in the order in which their transactions were committed.</summary>
    Global,
}

/// <summary>What becomes of a change that cannot be read: a value is no valid text, or the function that makes the item of it has thrown.</summary>
public enum PostgresChangeErrorMode
{
    /// <summary>Reading ends with a <see cref="WorkSetupException"/> that names the change. The position stays before it, so nothing is lost.</summary>
    Stop,

    /// <summary>It is left out, and <see cref="PostgresChangeSourceOptions.OnFailedChange"/> hears of it.</summary>
    Skip,

    /// <summary>
    /// It is stored in <see cref="PostgresChangeSourceOptions.DeadLetters"/>, before the batch that would have had it is delivered, so before any position
    /// behind it can be saved.
    /// </summary>
    DeadLetter,
}
