using System.Globalization;
using Npgsql;

namespace Weir.PostgreSql;

/// <summary>
/// A consuming end of a queue. It takes rows under a lease, and renews the lease on a timer. Rows that may have killed a process are taken in bands, one at a
/// time, while this source holds nothing else. Another crash halves the band, until one row is alone in it.
/// </summary>
/// <remarks>
/// <para>
/// One caller at a time reads. A take is one statement; a batch that it has filled is open until it is acknowledged or returned. Acknowledging, returning and
/// redelivering may come from any thread at any time. Each is a statement that names the row, its delivery and the lease, so the server decides whether this
/// source still has the row: what is open here is only what this source has not settled itself.
/// </para>
/// <para>
/// Beside the caller run the thread of the leases, the listener, and a loop that reaps: four times while a lease lasts, it ends the leases that have run out
/// and makes suspects of what they held. Whatever may let a waiting read find something wakes it; sources of other processes are notified.
/// </para>
/// <para>
/// Whoever disposes of the source cancels all of these and waits for the last take. Then all leases are released in one statement, which returns what is held.
/// If the server cannot be reached, the leases run out, and others reap them.
/// </para>
/// <para>The lock here, that of the leases and that of a batch are never held together, and never during a statement.</para>
/// </remarks>
internal sealed class PostgresWorkSource<T> : IWorkSource<T>, IRedelivery<T>, IItemAcknowledgement<T>
{
    private const int MaxReleases = 5;
    private const int MaxForgettings = 20;
    private static readonly TimeSpan ReleaseLimit = TimeSpan.FromSeconds(10);

    // A pack that ends sooner is deleted as one row. To make rows of it costs more than what a crash would repeat of so short a time.
    private static readonly TimeSpan LongPack = TimeSpan.FromSeconds(1);

    // Immutable. The leases have a lock of their own. One pack at a time becomes rows: calls for items of the same may come at the same time.
    private readonly PostgresWorkQueueOptions _options;
    private readonly Database _database;
    private readonly QueueStatements _statements;
    private readonly QueueNotifier? _notifier;
    private readonly TimeProvider _clock;
    private readonly ConsumerLeases _leases;
    private readonly WakeUp _wake = new();
    private readonly CancellationTokenSource _stop = new();
    private readonly QueueListener? _listener;
    private readonly SemaphoreSlim _opening = new(1, 1);
    private readonly Lock _lock = new();

    // Under the lock.
    private readonly HashSet<PostgresBatch<T>> _open = [];
    private bool _isDisposed;

    // Of whoever starts, and then of whoever disposes.
    private Task _background = Task.CompletedTask;

    // Of the reader and the take that it has begun, of which there is one at a time. _taken has rows that were taken and are not delivered yet. _isInDoubt: it
    // is not known whether a take that failed has taken something. _othersFirst: the next batch is of the other rows although there are suspects, because the
    // two alternate. _lastKey is the last key that was looked at; null to begin with the first.
    private (Task Wake, Task<PostgresBatch<T>?> Batch)? _taking;
    private (long Lease, List<TakenRow> Rows)? _taken;
    private TimeSpan _wait;
    private long _lastBatch;
    private bool _isInDoubt;
    private bool _othersFirst;
    private int _takesWithoutPacks;
    private string? _lastKey;

    // Atomic: whoever reaps sets it, and the reader takes it back when it has found none. What a race of the two loses, the next time of reaping finds.
    private volatile bool _hasSuspects;

    public PostgresWorkSource(
        string name,
        IWorkSerializer<T> serializer,
        PostgresWorkQueueOptions options,
        NpgsqlDataSource dataSource,
        Database database,
        QueueStatements statements,
        QueueNotifier? notifier)
    {
        Name = name;
        Serializer = serializer;
        _options = options;
        _database = database;
        _statements = statements;
        _notifier = notifier;
        _clock = options.TimeProvider;
        _leases = new ConsumerLeases(database, statements, options.LeaseDuration, _clock);
        _listener = options.UseNotifications ? new QueueListener(dataSource, database, statements.Channel, _wake, _clock) : null;
    }

    public string MessagingSystem => Database.System;

    public string Name { get; }

    public IWorkSerializer<T> Serializer { get; }

    public AcknowledgementOrder Order => AcknowledgementOrder.Any;

    public IRedelivery<T> Redelivery => this;

    public IItemAcknowledgement<T>? ItemAcknowledgement => Interval == Timeout.InfiniteTimeSpan ? null : this;

    public TimeSpan Interval => _options.AcknowledgeInterval;

    public async ValueTask StartAsync(CancellationToken cancellationToken)
    {
        if (_listener is not null)
        {
            await _listener.OpenAsync(cancellationToken).ConfigureAwait(false);
        }

        await ReapAsync(cancellationToken).ConfigureAwait(false);
        _ = new LeaseThread(_database, _leases, _options.LeaseDuration / 4, _clock, _stop.Token);
        _background = Task.WhenAll(Task.Run(MaintainAsync, CancellationToken.None), _listener?.RunAsync(_stop.Token) ?? Task.CompletedTask);
    }

    public async ValueTask<WorkBatch<T>?> ReadAsync(CancellationToken cancellationToken)
    {
        while (true)
        {
            cancellationToken.ThrowIfCancellationRequested();
            ObjectDisposedException.ThrowIf(_isDisposed, this);

            // A caller that stops waiting does not stop the statement, because then nobody would know whether it took rows. The next call gets what it takes.
            (Task wake, Task<PostgresBatch<T>?> taking) = _taking ??= (_wake.Next, TakeAsync(_stop.Token));
            PostgresBatch<T>? batch;
            try
            {
                batch = await taking.WaitAsync(cancellationToken).ConfigureAwait(false);
            }
            catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
            {
                // Even if the statement has ended at the same moment: what it took is there for the next call.
                throw;
            }
            catch
            {
                _taking = null;
                throw;
            }

            _taking = null;
            if (batch is not null)
            {
                return batch;
            }

            try
            {
                await wake.WaitAsync(_wait, _clock, cancellationToken).ConfigureAwait(false);
            }
            catch (TimeoutException)
            {
                // Time to look again.
            }
        }
    }

    public async ValueTask AcknowledgeAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken)
    {
        List<PostgresBatch<T>> open = Open(batches);
        await SettleAsync(_statements.Acknowledge, _statements.AcknowledgePacks, open, cancellationToken).ConfigureAwait(false);

        // Without keys, no consumer waits for an item to be done.
        if (open.Count > 0 && _options.KeepKeyOrder)
        {
            _notifier?.Notify();
        }
    }

    public async ValueTask<bool> AcknowledgeItemsAsync(IReadOnlyList<DoneItems<T>> items, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(items);
        bool areAll = true;
        List<(long Lease, List<TakenRow> Rows)> done = [];
        foreach (DoneItems<T> some in items)
        {
            if (Open([some.Batch]) is not [{ } batch])
            {
                continue;
            }

            List<TakenRow> rows = batch.RowsAt(some.Places);
            List<TakenRow> parts =
                [.. rows.GroupBy(static r => r.Pack).Where(static p => p.Key is { } pack && p.Count() < pack.Count).SelectMany(static p => p)];
            if (_clock.GetElapsedTime(batch.TakenAt) >= LongPack)
            {
                await OpenPacksAsync(batch.Lease, parts, cancellationToken).ConfigureAwait(false);
                parts.RemoveAll(static r => r.Pack is null);
            }
            else
            {
                areAll &= parts.Count == 0;
            }

            done.Add((batch.Lease, [.. rows.Except(parts)]));
        }

        await SettleAsync(_statements.Acknowledge, _statements.AcknowledgePacks, done, cancellationToken).ConfigureAwait(false);
        foreach (TakenRow row in done.SelectMany(static d => d.Rows))
        {
            row.IsSettled = true;
        }

        if (done.Exists(static d => d.Rows.Count > 0) && _options.KeepKeyOrder)
        {
            _wake.Set();
            _notifier?.Notify();
        }

        return areAll;
    }

    public async ValueTask ReturnAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken)
    {
        List<PostgresBatch<T>> open = Open(batches);
        await SettleAsync(_statements.Return, _statements.ReturnPacks, open, cancellationToken).ConfigureAwait(false);
        if (open.Count > 0)
        {
            _notifier?.Notify();
        }
    }

    public async ValueTask RedeliverAsync(WorkBatch<T> batch, IReadOnlyList<WorkItem<T>> items, TimeSpan delay, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(batch);
        ArgumentNullException.ThrowIfNull(items);
        if (Open([batch]) is not [{ } open])
        {
            return;
        }

        List<TakenRow> rows = open.RowsOf(items);
        await OpenPacksAsync(open.Lease, rows, cancellationToken).ConfigureAwait(false);
        await _database.ExecuteAsync(
            _statements.Redeliver,
            cancellationToken,
            Parameter.Of(rows.Select(static r => r.Id).ToArray()),
            Parameter.Of(rows.Select(static r => r.Delivery).ToArray()),
            Parameter.Of(rows.Select(_ => open.Lease).ToArray()),
            Parameter.Of(items.Select(static i => i.Attempt).ToArray()),
            Parameter.Of(delay)).ConfigureAwait(false);
        foreach (TakenRow row in rows)
        {
            row.IsSettled = true;
        }

        _leases.Drop(open.Lease, rows);
        _wake.Set();
        _notifier?.Notify();
    }

    public async ValueTask DisposeAsync()
    {
        lock (_lock)
        {
            if (_isDisposed)
            {
                return;
            }

            _isDisposed = true;
            _open.Clear();
        }

        await _stop.CancelAsync().ConfigureAwait(false);
        _wake.Set();
        await _background.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        await (_taking?.Batch ?? Task.CompletedTask).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (_listener is not null)
        {
            await _listener.CloseAsync().ConfigureAwait(false);
        }

        using var limit = new CancellationTokenSource(ReleaseLimit, _clock);
        for (int attempt = 1; attempt <= MaxReleases; attempt++)
        {
            try
            {
                await _leases.ReleaseAsync(limit.Token).ConfigureAwait(false);
                break;
            }
            catch (Exception e) when (e is not OutOfMemoryException)
            {
                // A pooled connection may have been cut long ago. If the server cannot be reached, it gives the rows back when the lease ends.
            }
        }

        _stop.Dispose();
        _opening.Dispose();
    }

    private List<PostgresBatch<T>> Open(IReadOnlyList<WorkBatch<T>> batches)
    {
        ArgumentNullException.ThrowIfNull(batches);
        lock (_lock)
        {
            return [.. batches.OfType<PostgresBatch<T>>().Where(_open.Contains)];
        }
    }

    private async ValueTask SettleAsync(string statement, string ofPacks, List<PostgresBatch<T>> batches, CancellationToken cancellationToken)
    {
        if (batches.Count == 0)
        {
            return;
        }

        await SettleAsync(statement, ofPacks, [.. batches.Select(static b => (b.Lease, b.Rows.ToList()))], cancellationToken).ConfigureAwait(false);
        lock (_lock)
        {
            _open.ExceptWith(batches);
        }

        // Rows that waited for a key, or for nothing else to be running.
        _wake.Set();
    }

    /// <summary>Settles rows, and whole packs, and drops them from their leases.</summary>
    private async ValueTask SettleAsync(string statement, string ofPacks, List<(long Lease, List<TakenRow> Rows)> taken, CancellationToken cancellationToken)
    {
        // A pack is settled by its first item.
        IEnumerable<(TakenRow Row, long Lease)> settled =
            taken.SelectMany(static t => t.Rows.Where(static r => r.Pack is not { } pack || pack[0] == r).Select(r => (r, t.Lease)));
        foreach (IGrouping<bool, (TakenRow Row, long Lease)> rows in settled.GroupBy(static t => t.Row.Pack is not null))
        {
            await SoonAsync(
                rows.Key ? ofPacks : statement,
                static _ => 0,
                cancellationToken,
                Parameter.Of(rows.Select(static r => r.Row.Id).ToArray()),
                Parameter.Of(rows.Select(static r => r.Row.Delivery).ToArray()),
                Parameter.Of(rows.Select(static r => r.Lease).ToArray())).ConfigureAwait(false);
        }

        foreach ((long lease, List<TakenRow> rows) in taken)
        {
            _leases.Drop(lease, rows);
        }
    }

    /// <summary>
    /// Runs a statement that says what is done. Where handlers hold all threads of the pool, a host calls on a spare thread. The statement blocks that one
    /// then: each step of one that does not would wait for the pool, and a crash would repeat the work of seconds.
    /// </summary>
    private async ValueTask<List<TResult>> SoonAsync<TResult>(
        string statement, Func<NpgsqlDataReader, TResult> read, CancellationToken cancellationToken, params NpgsqlParameter[] parameters) =>
        UrgentSignal.IsOnSpareThread
            ? _database.Query(statement, read, _options.LeaseDuration / 4, parameters)
            : await _database.QueryAsync(statement, read, cancellationToken, parameters).ConfigureAwait(false);

    private async Task MaintainAsync()
    {
        using var timer = new PeriodicTimer(_options.LeaseDuration / 4, _clock);
        try
        {
            while (await timer.WaitForNextTickAsync(_stop.Token).ConfigureAwait(false))
            {
                try
                {
                    await ReapAsync(_stop.Token).ConfigureAwait(false);
                    await ForgetPublishedAsync(_stop.Token).ConfigureAwait(false);
                }
                catch (Exception e) when (e is not (OutOfMemoryException or OperationCanceledException))
                {
                    // The next tick tries again, and a source that reads gets the failure itself.
                }
            }
        }
        catch (OperationCanceledException)
        {
            // The source has been disposed.
        }
    }

    /// <summary>Forgets the identities of messages that were published long ago, few enough at a time that the lease does not end meanwhile.</summary>
    private async ValueTask ForgetPublishedAsync(CancellationToken cancellationToken)
    {
        if (_options.DuplicateHistory == TimeSpan.Zero)
        {
            return;
        }

        for (int part = 0; part < MaxForgettings; part++)
        {
            int count = await _database.ExecuteAsync(_statements.ForgetPublished, cancellationToken, Parameter.Of(_options.DuplicateHistory))
                .ConfigureAwait(false);
            if (count < QueueStatements.Forgotten)
            {
                return;
            }
        }
    }

    private async ValueTask ReapAsync(CancellationToken cancellationToken)
    {
        if (_statements.HasPacks)
        {
            await _database.ExecuteAsync(_statements.OpenLostPacks, cancellationToken).ConfigureAwait(false);
        }

        bool found = (await _database.QueryAsync(_statements.Reap, static r => r.GetBoolean(0), cancellationToken).ConfigureAwait(false))[0];
        if (found)
        {
            _hasSuspects = true;
            _wake.Set();
        }
    }

    // Taking rows, and making a batch of them.

    private const int MaxRaces = 20;

    // How many takes of rows come before the next look for packs.
    private const int LookForPacks = 16;

    private static bool IsRace(PostgresException e) =>
        e.SqlState is PostgresErrorCodes.UniqueViolation or PostgresErrorCodes.DeadlockDetected or PostgresErrorCodes.SerializationFailure;

    private async Task<PostgresBatch<T>?> TakeAsync(CancellationToken stop)
    {
        if (_taken is null)
        {
            if (_isInDoubt)
            {
                _isInDoubt = !await _leases.SettleDoubtsAsync(stop).ConfigureAwait(false);
            }

            List<TakenRow> rows = await TakeNextAsync(stop).ConfigureAwait(false);
            if (rows.Count == 0)
            {
                return null;
            }
        }

        return await DeliverAsync(stop).ConfigureAwait(false);
    }

    private async ValueTask<List<TakenRow>> TakeNextAsync(CancellationToken stop)
    {
        bool isAlone;
        _wait = _options.PollInterval;
        lock (_lock)
        {
            isAlone = _open.Count == 0;
            if (_open.Any(static b => b.IsSuspect))
            {
                return [];
            }
        }

        if (!_hasSuspects || _othersFirst)
        {
            _othersFirst = false;
            List<TakenRow> rows = await TakeRowsOrPacksAsync(stop).ConfigureAwait(false);
            if (rows.Count > 0)
            {
                return rows;
            }
        }

        if (_hasSuspects)
        {
            if (!isAlone)
            {
                return [];
            }

            List<TakenRow> suspects = await TakeRowsAsync(_statements.TakeSuspects, stop).ConfigureAwait(false);
            _hasSuspects = suspects.Count > 0;
            _othersFirst = true;
            if (suspects.Count > 0)
            {
                return suspects;
            }
        }

        (double? seconds, bool isMore) = (await _database.QueryAsync(
            _statements.NextDue, static r => (r.IsDBNull(0) ? (double?)null : r.GetDouble(0), r.GetBoolean(1)), stop).ConfigureAwait(false))[0];
        if (isMore && await TakeMoreAsync(stop).ConfigureAwait(false) is { Count: > 0 } more)
        {
            return more;
        }

        if (seconds < _wait.TotalSeconds)
        {
            _wait = TimeSpan.FromSeconds(Math.Max(seconds.Value, 0.001));
        }

        return [];
    }

    /// <summary>
    /// Takes rows or packs, whichever are due for longer. Where there have been no packs, it looks for them only when no rows are left, and after some takes.
    /// </summary>
    private async ValueTask<List<TakenRow>> TakeRowsOrPacksAsync(CancellationToken stop)
    {
        if (!_statements.HasPacks)
        {
            return await TakeRowsAsync(_statements.Take, stop).ConfigureAwait(false);
        }

        if (_takesWithoutPacks == 0 && await TakePacksAsync(_statements.TakeOlderPacks, stop).ConfigureAwait(false) is { Count: > 0 } older)
        {
            return older;
        }

        _takesWithoutPacks = (_takesWithoutPacks + 1) % LookForPacks;
        if (await TakeRowsAsync(_statements.Take, stop).ConfigureAwait(false) is { Count: > 0 } rows)
        {
            return rows;
        }

        List<TakenRow> packs = await TakePacksAsync(_statements.TakePacks, stop).ConfigureAwait(false);
        _takesWithoutPacks = packs.Count > 0 ? 0 : _takesWithoutPacks;
        return packs;
    }

    private async ValueTask<List<TakenRow>> TakeMoreAsync(CancellationToken stop)
    {
        if (!_statements.HasPacks)
        {
            return await TakeBehindAsync(stop).ConfigureAwait(false);
        }

        await _database.ExecuteAsync(_statements.OpenLongPack, stop).ConfigureAwait(false);
        return await TakeRowsAsync(_statements.Take, stop).ConfigureAwait(false);
    }

    /// <summary>
    /// Takes items that stand behind very many rows of blocked keys. It goes from key to key, through all of them at most once, and continues from there the
    /// next time, so that each key is looked at.
    /// </summary>
    private async ValueTask<List<TakenRow>> TakeBehindAsync(CancellationToken stop)
    {
        for (int ends = _lastKey is null ? 1 : 0; ends < 2;)
        {
            (long[] heads, string? last, long count) = (await _database.QueryAsync(
                _lastKey is null ? _statements.FirstKeys : _statements.NextKeys,
                static r => (r.GetFieldValue<long[]>(0), r.IsDBNull(1) ? null : r.GetString(1), r.GetInt64(2)),
                stop,
                _lastKey is null ? [] : [Parameter.Of(_lastKey)]).ConfigureAwait(false))[0];
            _lastKey = count < _statements.MaxHeads ? null : last;
            ends += _lastKey is null ? 1 : 0;
            if (heads.Length > 0 && await TakeRowsAsync(_statements.TakeHeads, stop, heads).ConfigureAwait(false) is { Count: > 0 } rows)
            {
                return rows;
            }
        }

        return [];
    }

    private ValueTask<List<TakenRow>> TakeRowsAsync(string statement, CancellationToken stop, long[]? heads = null) => TakeAsync(
        async lease =>
        {
            List<TakenRow> rows = await _database.QueryAsync(
                statement, static r => new TakenRow(r), stop, heads is null ? [Parameter.Of(lease)] : [Parameter.Of(lease), Parameter.Of(heads)])
                .ConfigureAwait(false);

            // The order of the rows that a statement changes is not defined.
            rows.Sort(static (a, b) => a.Id.CompareTo(b.Id));
            return rows;
        },
        stop);

    private ValueTask<List<TakenRow>> TakePacksAsync(string statement, CancellationToken stop) => TakeAsync(
        async lease =>
        {
            int most = _options.MaxItemBytes;
            List<List<TakenRow>> packs = await _database.QueryAsync(statement, r => TakenRow.OfPack(r, most), stop, Parameter.Of(lease)).ConfigureAwait(false);
            return packs.Count == 1 ? packs[0] : [.. packs.OrderByDescending(static p => p[0].Id).SelectMany(static p => p)];
        },
        stop);

    private async ValueTask<List<TakenRow>> TakeAsync(Func<long, ValueTask<List<TakenRow>>> take, CancellationToken stop)
    {
        long lease = await _leases.CurrentAsync(stop).ConfigureAwait(false);
        for (int attempt = 1; ; attempt++)
        {
            try
            {
                List<TakenRow> rows = await take(lease).ConfigureAwait(false);
                if (rows.Count > 0)
                {
                    _leases.Hold(lease, rows);
                    _taken = (lease, rows);
                }

                return rows;
            }
            catch (PostgresException e) when (IsRace(e) && attempt < MaxRaces)
            {
                // Another source took a row of the same key at the same moment. Nothing was taken here.
            }
            catch
            {
                _leases.Doubt(lease);
                _isInDoubt = true;
                throw;
            }
        }
    }

    // Until this has succeeded, the rows stay in _taken, and the next read continues with them.
    private async ValueTask<PostgresBatch<T>?> DeliverAsync(CancellationToken stop)
    {
        (long lease, List<TakenRow> rows) = _taken!.Value;
        List<WorkItem<T>> items = new(rows.Count);
        List<TakenRow> readable = new(rows.Count);
        List<(TakenRow Row, DeadLetterReason Reason, string Error)> unreadable = [];
        foreach (TakenRow row in rows)
        {
            if (row.Payload is null)
            {
                string error = string.Create(CultureInfo.InvariantCulture, $"The value has more than {_options.MaxItemBytes:N0} bytes (MaxItemBytes).");
                unreadable.Add((row, DeadLetterReason.TooLarge, error));
                continue;
            }

            try
            {
                T value = Serializer.Read(row.Payload);
                items.Add(new WorkItem<T>(row.Identity, value, row.Key, row.Attempt, HeaderText.Read(row.Headers)));
                readable.Add(row);
            }
            catch (Exception e) when (e is not OutOfMemoryException)
            {
                unreadable.Add((row, DeadLetterReason.Undecodable, e.ToString()));
            }
        }

        if (unreadable.Count > 0)
        {
            await OpenPacksAsync(lease, [.. unreadable.Select(static u => u.Row)], stop).ConfigureAwait(false);
            await BuryAsync(lease, unreadable, stop).ConfigureAwait(false);
        }

        _taken = null;
        _leases.Drop(lease, unreadable.Select(static u => u.Row));
        if (items.Count == 0)
        {
            _wait = TimeSpan.FromMilliseconds(1);
            return null;
        }

        readable.ForEach(static r => r.DropPayload());

        // A lease that ended while others ran too may have ended because of any of them. Only those that a suspect was alone under are its own.
        string position = (++_lastBatch).ToString(CultureInfo.InvariantCulture);
        var batch = new PostgresBatch<T>(items, position, lease, readable, _clock.GetTimestamp())
        {
            IsSuspect = readable[0].Expired > 0,
            Crashes = rows.Count == 1 ? Math.Max(0, readable[0].Expired - 1) : 0,
        };
        lock (_lock)
        {
            if (!_isDisposed)
            {
                _open.Add(batch);
            }
        }

        return batch;
    }

    private async ValueTask BuryAsync(long lease, List<(TakenRow Row, DeadLetterReason Reason, string Error)> rows, CancellationToken stop) =>
        await _database.ExecuteAsync(
            _statements.Bury,
            stop,
            Parameter.Of(rows.Select(static r => r.Row.Id).ToArray()),
            Parameter.Of(rows.Select(static r => r.Row.Delivery).ToArray()),
            Parameter.Of(rows.Select(_ => lease).ToArray()),
            Parameter.Of(rows.Select(static r => PostgresDeadLetters.Fit($"{r.Row.Identity}")).ToArray()),
            Parameter.Of(rows.Select(static r => r.Reason.ToString()).ToArray()),
            Parameter.Of(rows.Select(static r => SqlName.Storable(r.Error)).ToArray())).ConfigureAwait(false);

    /// <summary>Makes rows of the packs that some items are parts of, so that one can be told from the others. They stay under their lease.</summary>
    private async ValueTask OpenPacksAsync(long lease, List<TakenRow> rows, CancellationToken stop)
    {
        if (rows.TrueForAll(static r => r.Pack is null))
        {
            return;
        }

        await _opening.WaitAsync(stop).ConfigureAwait(false);
        try
        {
            foreach (IReadOnlyList<TakenRow> pack in rows.Select(static r => r.Pack).OfType<IReadOnlyList<TakenRow>>().Distinct())
            {
                long id = pack[0].Id;
                List<long> ids = await SoonAsync(
                    _statements.OpenHeldPack, static r => r.GetInt64(0), stop, Parameter.Of(id), Parameter.Of(pack[0].Delivery), Parameter.Of(lease))
                    .ConfigureAwait(false);

                // None if the lease has ended: then nothing that is said of them counts.
                if (ids.Count == pack.Count)
                {
                    for (int i = 0; i < ids.Count; i++)
                    {
                        pack[i].Leave(ids[i]);
                    }

                    _leases.Hold(lease, pack, opened: id);
                }
            }
        }
        finally
        {
            _opening.Release();
        }
    }
}

/// <summary>Rows that were taken in one statement, under one lease.</summary>
/// <param name="items">The items.</param>
/// <param name="position">The number of the take.</param>
/// <param name="lease">The lease that they are held under.</param>
/// <param name="rows">The rows of the items, in the same order.</param>
/// <param name="takenAt">When they were taken, as the clock of the source counts.</param>
internal sealed class PostgresBatch<T>(IReadOnlyList<WorkItem<T>> items, string position, long lease, List<TakenRow> rows, long takenAt)
    : WorkBatch<T>(items, position)
{
    private readonly Lock _lock = new();

    // Under the lock.
    private Dictionary<WorkId, Queue<TakenRow>>? _byId;

    public long Lease => lease;

    public long TakenAt => takenAt;

    /// <summary>The rows that are left of it.</summary>
    public IEnumerable<TakenRow> Rows => rows.Where(static r => !r.IsSettled);

    /// <summary>The rows of the items at some places, as far as they are left.</summary>
    public List<TakenRow> RowsAt(IReadOnlyList<int> places) => [.. places.Select(place => rows[place]).Where(static r => !r.IsSettled)];

    /// <summary>The rows of some of the items, each once.</summary>
    public List<TakenRow> RowsOf(IReadOnlyList<WorkItem<T>> some)
    {
        // Calls for items of one batch may come at the same time.
        lock (_lock)
        {
            _byId ??= ById();
            return [.. some.Select(NextOf)];
        }
    }

    private Dictionary<WorkId, Queue<TakenRow>> ById()
    {
        Dictionary<WorkId, Queue<TakenRow>> byId = [];
        for (int i = 0; i < Items.Count; i++)
        {
            if (!byId.TryGetValue(Items[i].Id, out Queue<TakenRow>? its))
            {
                byId.Add(Items[i].Id, its = new Queue<TakenRow>());
            }

            its.Enqueue(rows[i]);
        }

        return byId;
    }

    // Several rows may have the same identity: each call gets the next of them, and those that are left come before those that are not.
    private TakenRow NextOf(WorkItem<T> item)
    {
        if (!_byId!.TryGetValue(item.Id, out Queue<TakenRow>? its))
        {
            throw new ArgumentException($"Item {item.Id} is not part of the batch.", nameof(item));
        }

        TakenRow row = its.Dequeue();
        its.Enqueue(row);
        for (int others = its.Count - 1; row.IsSettled && others > 0; others--)
        {
            row = its.Dequeue();
            its.Enqueue(row);
        }

        return row;
    }
}
