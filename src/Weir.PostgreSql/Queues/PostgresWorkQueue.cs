using Npgsql;

namespace Weir.PostgreSql;

/// <summary>
/// A queue in a table of PostgreSQL: items are enqueued inside the caller's own transactions, consumers that compete take them under a lease, and done items
/// are deleted.
/// </summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
/// <remarks>
/// Thread-safe. Durable as the server is. No call holds a transaction open while items run, so the table can always be vacuumed. A source uses up to five
/// connections of the data source at a time, two of which it keeps: for notifications, and to renew its lease.
/// </remarks>
public sealed class PostgresWorkQueue<T> : IWorkQueue<T>
{
    private readonly SetupPart _setup;
    private readonly QueueNotifier? _notifier;
    private readonly EnqueueCalls<T> _calls;

    /// <summary>Creates an object for a queue. It asks nothing of the server.</summary>
    /// <param name="source">Where connections come from. It stays the caller's, and is not disposed.</param>
    /// <param name="name">The name of the queue, a table of which has it in its name. At most 57 bytes of UTF-8, with any characters but U+0000.</param>
    /// <param name="serializer">Turns values into the bytes of a row and back.</param>
    /// <param name="options">The options; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException">The name is empty or too long, or a value of <paramref name="options"/> is out of range.</exception>
    public PostgresWorkQueue(NpgsqlDataSource source, string name, IWorkSerializer<T> serializer, PostgresWorkQueueOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(source);
        Name = SqlName.Check(name, nameof(name), "queue_");
        ArgumentNullException.ThrowIfNull(serializer);
        Options = options ?? new PostgresWorkQueueOptions();
        Options.Validate();
        Serializer = serializer;
        DataSource = source;
        Database = new Database(source, $"the queue '{name}'");
        Statements = new QueueStatements(name, Options);
        _notifier = Options.UseNotifications ? new QueueNotifier(Database, Statements.Channel) : null;
        _setup = new SetupPart(
            Database, Options.Schema, $"queue {name}", Statements.Settings, Statements.Tables, QueueStatements.Version, Statements.Upgrade);
        _calls = new EnqueueCalls<T>(NewRows, (rows, token) => StoreAsync(rows, TimeSpan.Zero, token), TimeProvider.System);
        DeadLetters = new PostgresDeadLetters(Database, Statements, _notifier);
        QueuedItems = new PostgresQueuedItems(Database, Statements);
    }

    /// <inheritdoc/>
    public string Name { get; }

    /// <inheritdoc/>
    public IWorkSerializer<T> Serializer { get; }

    /// <inheritdoc/>
    /// <remarks>In a table, where they stay until somebody removes or replays them: their number has no bound. Replaying is one transaction.</remarks>
    public IDeadLetters DeadLetters { get; }

    /// <inheritdoc/>
    /// <remarks>Finding and cancelling read the whole table: about a second for some million items.</remarks>
    public IQueuedItems? QueuedItems { get; }

    string IWorkStatistics.MessagingSystem => Database.System;

    internal PostgresWorkQueueOptions Options { get; }

    internal NpgsqlDataSource DataSource { get; }

    internal Database Database { get; }

    internal QueueStatements Statements { get; }

    /// <inheritdoc/>
    /// <remarks>
    /// The user has to be allowed to create schemas in the database, or to create tables in the schema if it is there; no superuser. Tables of the version
    /// before are brought to this version in one transaction, by their owner. Programs of both versions work with them afterwards.
    /// </remarks>
    public Task SetupAsync(CancellationToken cancellationToken = default) => _setup.CreateAsync(cancellationToken);

    /// <inheritdoc/>
    public async ValueTask<IWorkSink<T>> OpenSinkAsync(CancellationToken cancellationToken = default)
    {
        await _setup.CheckAsync(cancellationToken).ConfigureAwait(false);
        return new PostgresWorkSink<T>(this);
    }

    /// <inheritdoc/>
    public async ValueTask<IWorkSource<T>> OpenSourceAsync(CancellationToken cancellationToken = default)
    {
        await _setup.CheckAsync(cancellationToken).ConfigureAwait(false);
        var source = new PostgresWorkSource<T>(this);
        try
        {
            await source.StartAsync(cancellationToken).ConfigureAwait(false);
            return source;
        }
        catch
        {
            await source.DisposeAsync().ConfigureAwait(false);
            throw;
        }
    }

    /// <summary>Counts what waits, is scheduled or in flight, and the dead letters, and says how long the next item has been due.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>Counts of one moment. Those without a value, such as messages, are not known of tables.</returns>
    /// <remarks>One statement, which reads indexes of the items: some tenths of a second for a million of them. It waits for no lock of consumers.</remarks>
    /// <exception cref="WorkSetupException">The queue is not set up, or the user may not read its tables.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public async ValueTask<WorkStatistics> GetStatisticsAsync(CancellationToken cancellationToken = default) =>
        (await Database.QueryAsync(
            Statements.Count,
            static row => new WorkStatistics
            {
                Waiting = row.GetInt64(0),
                Scheduled = row.GetInt64(1),
                InFlight = row.GetInt64(2),
                OldestAge = TimeSpan.FromSeconds(row.GetDouble(3)),
                DeadLetters = row.GetInt64(4),
            },
            cancellationToken).ConfigureAwait(false))[0];

    /// <summary>Enqueues items, all or none of them, but for those whose identity was enqueued before.</summary>
    /// <param name="items">The items, in order.</param>
    /// <param name="delay">How long they wait at least until somebody gets them.</param>
    /// <param name="cancellationToken">Ends the wait. The items may have been enqueued all the same.</param>
    /// <returns>How many of them are new. They are stored durably.</returns>
    /// <remarks>
    /// A failed call can be repeated with the same items: those that it has stored all the same are ignored, also when they are done by then, for
    /// <see cref="PostgresWorkQueueOptions.DuplicateHistory"/>. The sources that wait are notified after the commit, and the call does not wait for that. If
    /// the process dies in between, they find the items after <see cref="PostgresWorkQueueOptions.PollInterval"/> at the latest.
    /// <para>
    /// Callers at the same time share transactions: two run at a time, and the calls without a delay that come meanwhile are stored by the next one, in the
    /// order in which they came. An item that the server refuses fails its own call only; when a connection is lost, each call of its transaction fails.
    /// </para>
    /// </remarks>
    /// <exception cref="ArgumentException">An item cannot be stored: its value is longer than MaxItemBytes, or its key or identity is too long.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="delay"/> is negative.</exception>
    /// <exception cref="WorkSetupException">The queue is not set up.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public async ValueTask<int> EnqueueAsync(IReadOnlyList<WorkItem<T>> items, TimeSpan delay = default, CancellationToken cancellationToken = default)
    {
        ItemRows<T> rows = Check(items, delay);
        int next = rows.Fill(items, 0);
        if (items.Count == 0)
        {
            return 0;
        }

        // A statement is a transaction.
        int added = next < items.Count ? await EnqueueLongAsync(items, delay, cancellationToken).ConfigureAwait(false)
            : delay > TimeSpan.Zero ? rows.Count - (await StoreAsync(rows, delay, cancellationToken).ConfigureAwait(false)).Count
            : await _calls.StoreAsync(rows, cancellationToken).ConfigureAwait(false);
        if (added > 0)
        {
            // After the commit: transactions with a notification commit one at a time in the whole server.
            Nudge();
        }

        return added;
    }

    private ValueTask<int> EnqueueLongAsync(IReadOnlyList<WorkItem<T>> items, TimeSpan delay, CancellationToken cancellationToken) =>
        Database.RunAsync(
            async (connection, token) =>
            {
                NpgsqlTransaction transaction = await connection.BeginTransactionAsync(token).ConfigureAwait(false);
                await using (transaction.ConfigureAwait(false))
                {
                    int added = await EnqueueOnAsync(connection, items, delay, token).ConfigureAwait(false);
                    await transaction.CommitAsync(token).ConfigureAwait(false);
                    return added;
                }
            },
            cancellationToken);

    /// <summary>Enqueues items inside the caller's transaction: they are there if and when it commits.</summary>
    /// <param name="transaction">A transaction that is open. It stays the caller's.</param>
    /// <param name="items">The items, in order.</param>
    /// <param name="delay">How long they wait at least until somebody gets them, from the beginning of the transaction.</param>
    /// <param name="cancellationToken">Ends the wait. The transaction has failed then.</param>
    /// <returns>How many of them are new and part of the transaction: those that were published before are ignored.</returns>
    /// <remarks>
    /// It notifies nobody, because transactions that do commit one at a time in the whole server. Call <see cref="NotifyAsync"/> after the commit, or sources
    /// that wait find the items after <see cref="PostgresWorkQueueOptions.PollInterval"/> at the latest.
    /// </remarks>
    /// <exception cref="ArgumentException">
    /// An item cannot be stored. What came before it in the list may be part of the transaction, which has not failed: roll it back.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="delay"/> is negative.</exception>
    /// <exception cref="WorkSetupException">The queue is not set up.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public ValueTask<int> EnqueueAsync(
        NpgsqlTransaction transaction, IReadOnlyList<WorkItem<T>> items, TimeSpan delay = default, CancellationToken cancellationToken = default) =>
        EnqueueAsync(Database.ConnectionOf(transaction), items, delay, cancellationToken);

    /// <summary>Enqueues items on the caller's connection, inside its transaction if it has begun one.</summary>
    /// <param name="connection">A connection that is open. It stays the caller's. Without a transaction, a long list is several of them.</param>
    /// <param name="items">The items, in order.</param>
    /// <param name="delay">How long they wait at least until somebody gets them, from the beginning of the transaction.</param>
    /// <param name="cancellationToken">Ends the wait. The transaction has failed then.</param>
    /// <returns>How many of them are new and part of the transaction: those that were published before are ignored.</returns>
    /// <remarks>It notifies nobody, as the overload with a transaction.</remarks>
    /// <exception cref="ArgumentException">An item cannot be stored, as in the overload with a transaction.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="delay"/> is negative.</exception>
    /// <exception cref="WorkSetupException">The queue is not set up.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public ValueTask<int> EnqueueAsync(
        NpgsqlConnection connection, IReadOnlyList<WorkItem<T>> items, TimeSpan delay = default, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(connection);
        Check(items, delay);
        return EnqueueOnAsync(connection, items, delay, cancellationToken);
    }

    /// <summary>Wakes the sources that wait, after a transaction was committed that enqueued items.</summary>
    /// <param name="cancellationToken">Ends the wait, not the notification.</param>
    /// <returns>A task that completes when they are notified. Nobody needs to wait for it: what is missed is found by polling.</returns>
    /// <remarks>
    /// Calls that come while a notification is under way share the next one. Does nothing without <see cref="PostgresWorkQueueOptions.UseNotifications"/>.
    /// </remarks>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public Task NotifyAsync(CancellationToken cancellationToken = default) => (_notifier?.NotifyAsync() ?? Task.CompletedTask).WaitAsync(cancellationToken);

    /// <summary>
    /// Waits for a notification that is under way, for up to 2 seconds. The connections are those of the data source, and each source ends by itself.
    /// </summary>
    /// <returns>A task that completes when the data source can be disposed without a loss of notifications.</returns>
    public ValueTask DisposeAsync() => _notifier is null ? default : new ValueTask(_notifier.EndAsync());

    /// <summary>Wakes the sources that wait, after a commit. Nobody waits for it: what is missed is found by polling.</summary>
    internal void Nudge() => _notifier?.Nudge();

    /// <summary>Finds the items that cannot be stored.</summary>
    internal List<WorkRefusal> Refusals(IReadOnlyList<WorkItem<T>> items)
    {
        ItemRows<T> rows = NewRows();
        List<WorkRefusal> refusals = [];
        for (int i = 0; i < items.Count; i++)
        {
            if (rows.Refuse(items[i], i) is { } refusal)
            {
                refusals.Add(refusal);
            }
        }

        return refusals;
    }

    private async ValueTask<int> EnqueueOnAsync(NpgsqlConnection connection, IReadOnlyList<WorkItem<T>> items, TimeSpan delay, CancellationToken token)
    {
        ItemRows<T> rows = NewRows();
        int added = 0;
        for (int next = 0; next < items.Count;)
        {
            next = rows.Fill(items, next);
            List<int> known = Fresh(rows) is { } fresh
                && await Database.ExecuteOnAsync(connection, fresh, token, rows.FreshParameters(delay)).ConfigureAwait(false) > 0 ? []
                : await Database.QueryOnAsync(connection, Enqueuing(rows), PlaceIn, token, rows.Parameters(delay)).ConfigureAwait(false);
            added += rows.Count - known.Count;
        }

        return added;
    }

    private async ValueTask<List<int>> StoreAsync(ItemRows<T> rows, TimeSpan delay, CancellationToken cancellationToken) =>
        Fresh(rows) is { } fresh && await Database.ExecuteAsync(fresh, cancellationToken, rows.FreshParameters(delay)).ConfigureAwait(false) > 0 ? []
            : await Database.QueryAsync(Enqueuing(rows), PlaceIn, cancellationToken, rows.Parameters(delay)).ConfigureAwait(false);

    // If that changes nothing, some of the items were enqueued before, and the other statement finds out which.
    private string? Fresh(ItemRows<T> rows) => !rows.HasOneOrigin ? null : rows.IsPack ? Statements.EnqueueFreshPack : Statements.EnqueueFresh;

    private string Enqueuing(ItemRows<T> rows) => rows.IsPack ? Statements.EnqueuePack : Statements.Enqueue;

    private static int PlaceIn(NpgsqlDataReader row) => row.GetInt32(0);

    private ItemRows<T> Check(IReadOnlyList<WorkItem<T>> items, TimeSpan delay)
    {
        ArgumentNullException.ThrowIfNull(items);
        return delay >= TimeSpan.Zero
            ? NewRows()
            : throw new ArgumentOutOfRangeException(nameof(delay), delay, "delay must not be negative.");
    }

    private ItemRows<T> NewRows() => new(Serializer, Options.MaxItemBytes, isUnique: Options.DuplicateHistory > TimeSpan.Zero, Statements.MaxPack);
}

/// <summary>The publishing end of a queue: each call is a transaction.</summary>
internal sealed class PostgresWorkSink<T>(PostgresWorkQueue<T> queue) : IWorkSink<T>
{
    public async ValueTask WriteAsync(IReadOnlyList<WorkItem<T>> items, string? position, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(items);
        try
        {
            await queue.EnqueueAsync(items, TimeSpan.Zero, cancellationToken).ConfigureAwait(false);
        }
        catch (ArgumentException)
        {
            List<WorkRefusal> refusals = queue.Refusals(items);
            if (refusals.Count == 0)
            {
                throw;
            }

            throw new WorkRefusedException(refusals);
        }
    }

    public ValueTask DisposeAsync() => default;
}
