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
    private readonly NpgsqlDataSource _dataSource;
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
        _dataSource = source;
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
        var source = new PostgresWorkSource<T>(Name, Serializer, Options, _dataSource, Database, Statements, _notifier);
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
            _notifier?.Notify();
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

/// <summary>
/// Joins calls that enqueue a few items each, from many callers at once. One statement runs at a time, or two if many items wait. Calls that come meanwhile
/// share the next one. So a thousand callers neither take the connections of the pool nor wait for a thousand commits.
/// </summary>
/// <param name="create">Makes empty columns.</param>
/// <param name="store">Stores columns in one transaction, and returns the places, from 0, of the rows that were enqueued before.</param>
/// <param name="clock">Where the time comes from.</param>
internal sealed class EnqueueCalls<T>(Func<ItemRows<T>> create, Func<ItemRows<T>, CancellationToken, ValueTask<List<int>>> store, TimeProvider clock)
{
    /// <summary>
    /// How many items have to wait for a second statement to run. With fewer, a statement is mostly its commit, and two take longer than one.
    /// </summary>
    public const int Many = 100;

    /// <summary>
    /// How long a call waits for the statements of others. Such a statement may wait for a transaction that has enqueued one of its identities, for as long as
    /// that lasts. A caller with other identities, perhaps inside that very transaction, must not wait with it.
    /// </summary>
    public static readonly TimeSpan Patience = TimeSpan.FromMilliseconds(50);

    private readonly Lock _lock = new();
    private readonly Queue<Call> _waiting = new();
    private int _rows;
    private int _running;

    // Callers wait for the statements of the current series. When one has waited for too long, another series begins, and nobody waits for those of the last.
    private int _series;

    /// <summary>How many statements run that other callers wait for.</summary>
    public int Running => Volatile.Read(ref _running);

    /// <summary>Stores the rows of a call, alone or together with others.</summary>
    /// <returns>How many of them are new.</returns>
    public ValueTask<int> StoreAsync(ItemRows<T> rows, CancellationToken cancellationToken)
    {
        Call? call = null;
        bool isSecond = false;
        int series;
        lock (_lock)
        {
            series = _series;
            if (_running == 0)
            {
                _running = 1;
            }
            else
            {
                _waiting.Enqueue(call = new Call(rows, cancellationToken));
                _rows += rows.Count;
                isSecond = _running == 1 && _rows >= Many;
                _running += isSecond ? 1 : 0;
                WatchFirst();
            }
        }

        if (isSecond)
        {
            GoOnLater(series);
        }

        return call is null ? AloneAsync(rows, series, cancellationToken) : new ValueTask<int>(call.Task.WaitAsync(cancellationToken));
    }

    // Called under the lock.
    private void WatchFirst()
    {
        if (_waiting.TryPeek(out Call? first) && !first.IsWatched)
        {
            // In a context of its own: that of this caller, with the span of its request, is not that of the others.
            using (ExecutionContext.IsFlowSuppressed() ? default : ExecutionContext.SuppressFlow())
            {
                _ = WatchAsync(first);
            }

            first.IsWatched = true;
        }
    }

    private async Task WatchAsync(Call call)
    {
        await Task.Delay(Patience, clock).ConfigureAwait(false);
        int series;
        lock (_lock)
        {
            if (!_waiting.Contains(call))
            {
                return;
            }

            series = ++_series;
            _running = 1;
        }

        new Following(this, series).Execute();
    }

    private async ValueTask<int> AloneAsync(ItemRows<T> rows, int series, CancellationToken cancellationToken)
    {
        try
        {
            return await CountNewAsync(rows, cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            if (HasNext(series))
            {
                GoOnLater(series);
            }
        }
    }

    // Whether callers wait for the end of this statement. None do if another series serves them. If none do, one statement fewer runs.
    private bool HasNext(int series)
    {
        lock (_lock)
        {
            if (series != _series)
            {
                return false;
            }

            _running -= _waiting.Count == 0 ? 1 : 0;
            return _waiting.Count > 0;
        }
    }

    private async ValueTask<int> CountNewAsync(ItemRows<T> rows, CancellationToken cancellationToken) =>
        rows.Count - (await store(rows, cancellationToken).ConfigureAwait(false)).Count;

    // Callers of one item after the other come back as soon as their calls end: they are in the queue of this thread, so the next statement is behind them in
    // the common one. Otherwise the next statement would have only those who waited, and the others the one after it: twice as many statements for as many
    // items.
    private void GoOnLater(int series) => ThreadPool.UnsafeQueueUserWorkItem(new Following(this, series), preferLocal: false);

    private async Task RunAsync(List<Call> calls, int series)
    {
        try
        {
            await TogetherAsync(calls).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            calls.ForEach(call => call.Fail(e));
        }

        GoOnLater(series);
    }

    // The callers who wait, as many as one statement carries. None if another series serves them. If none wait, one statement fewer runs.
    private void TakeNext(int series, List<Call> calls)
    {
        lock (_lock)
        {
            if (series != _series)
            {
                return;
            }

            // Before a call is taken: nothing may fail between that and the statement.
            calls.EnsureCapacity(_waiting.Count);
            (int rows, long bytes) = (0, 0);
            while (_waiting.TryPeek(out Call? call))
            {
                if (!call.Token.IsCancellationRequested)
                {
                    (rows, bytes) = (rows + call.Rows.Count, bytes + call.Rows.Bytes);
                    if (calls.Count > 0 && (rows > call.Rows.Most || bytes > ItemRows<T>.MaxBytes))
                    {
                        break;
                    }

                    calls.Add(call);
                }

                _waiting.Dequeue();
                _rows -= call.Rows.Count;
            }

            WatchFirst();
            _running -= calls.Count == 0 ? 1 : 0;
        }
    }

    private async ValueTask TogetherAsync(List<Call> calls)
    {
        ItemRows<T> rows = create();
        List<Call> owners = [];
        foreach (Call call in calls)
        {
            // An identity that another of them has too is enqueued once, for the first.
            call.Added = rows.Add(call.Rows);
            owners.AddRange(Enumerable.Repeat(call, call.Added));
        }

        List<int> known;
        try
        {
            known = await store(rows, CancellationToken.None).ConfigureAwait(false);
        }
        catch (PostgresException e) when (calls.Count > 1 && IsOfTheRows(e))
        {
            // The server has stored nothing. One call may be the reason, and the others must not fail because of it.
            await EachAsync(calls).ConfigureAwait(false);
            return;
        }

        known.ForEach(place => owners[place].Added--);
        calls.ForEach(static call => call.TrySetResult(call.Added));
    }

    // Data that cannot be stored, a constraint, a limit of the server's. After any other failure nobody knows what is stored.
    private static bool IsOfTheRows(PostgresException e) => e.SqlState.AsSpan(0, 2) is "22" or "23" or "54";

    private async ValueTask EachAsync(List<Call> calls)
    {
        foreach (Call call in calls)
        {
            try
            {
                call.TrySetResult(await CountNewAsync(call.Rows, call.Token).ConfigureAwait(false));
            }
            catch (Exception e)
            {
                call.Fail(e);
            }
        }
    }

    /// <summary>The statement that follows another one.</summary>
    private sealed class Following(EnqueueCalls<T> calls, int series) : IThreadPoolWorkItem
    {
        public void Execute()
        {
            List<Call>? taken = null;
            try
            {
                calls.TakeNext(series, taken = []);
                if (taken.Count > 0)
                {
                    _ = calls.RunAsync(taken, series);
                }
            }
            catch (Exception e)
            {
                // Such as a lack of memory, which must not end the process here. Callers who still wait are served when their patience ends, or when another
                // call comes.
                taken?.ForEach(call => call.Fail(e));
            }
        }
    }

    private sealed class Call(ItemRows<T> rows, CancellationToken token) : TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously)
    {
        public ItemRows<T> Rows => rows;

        public CancellationToken Token => token;

        /// <summary>Whether another series begins for it if the statements that run take long.</summary>
        public bool IsWatched { get; set; }

        /// <summary>How many of its rows are new, as far as is known.</summary>
        public int Added { get; set; }

        /// <summary>Ends the call with a failure, which counts as observed: a caller that was cancelled does not look at it.</summary>
        public void Fail(Exception error)
        {
            TrySetException(error);
            _ = Task.Exception;
        }
    }
}
