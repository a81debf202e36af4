using Npgsql;

namespace Weir.PostgreSql;

/// <summary>
/// A consuming end of a queue. It takes rows under a lease, and renews the lease on a timer. Rows that may have killed a process are taken in bands, one at a
/// time, while this source holds nothing else. Another crash halves the band, until one row is alone in it.
/// </summary>
internal sealed partial class PostgresWorkSource<T> : IWorkSource<T>, IRedelivery<T>, IItemAcknowledgement<T>
{
    private const int MaxReleases = 5;
    private const int MaxForgettings = 20;
    private static readonly TimeSpan ReleaseLimit = TimeSpan.FromSeconds(10);

    // A pack that ends sooner is deleted as one row. To make rows of it costs more than what a crash would repeat of so short a time.
    private static readonly TimeSpan LongPack = TimeSpan.FromSeconds(1);

    private readonly PostgresWorkQueue<T> _queue;
    private readonly Database _database;
    private readonly QueueStatements _statements;
    private readonly TimeProvider _clock;
    private readonly ConsumerLeases _leases;
    private readonly WakeUp _wake = new();
    private readonly CancellationTokenSource _stop = new();
    private readonly QueueListener? _listener;
    private readonly Lock _lock = new();
    private readonly HashSet<PostgresBatch<T>> _open = [];
    private readonly SemaphoreSlim _opening = new(1, 1);
    private Task _background = Task.CompletedTask;
    private (Task Wake, Task<PostgresBatch<T>?> Batch)? _taking;
    private (long Lease, List<TakenRow> Rows)? _taken;
    private TimeSpan _wait;
    private long _lastBatch;
    private bool _isInDoubt;
    private bool _isDisposed;

    // Whether there are suspect rows, and whether the next batch is of the other rows all the same: the two take turns.
    private volatile bool _hasSuspects;
    private bool _othersFirst;

    private int _takesWithoutPacks;

    // The last key that was looked at; null to begin with the first.
    private string? _lastKey;

    public PostgresWorkSource(PostgresWorkQueue<T> queue)
    {
        _queue = queue;
        _database = queue.Database;
        _statements = queue.Statements;
        _clock = queue.Options.TimeProvider;
        _leases = new ConsumerLeases(_database, _statements, queue.Options.LeaseDuration, _clock);
        _listener = queue.Options.UseNotifications ? new QueueListener(queue.DataSource, _database, _statements.Channel, _wake, _clock) : null;
    }

    public string MessagingSystem => Database.System;

    public string Name => _queue.Name;

    public IWorkSerializer<T> Serializer => _queue.Serializer;

    public AcknowledgementOrder Order => AcknowledgementOrder.Any;

    public IRedelivery<T> Redelivery => this;

    public IItemAcknowledgement<T>? ItemAcknowledgement => Interval == Timeout.InfiniteTimeSpan ? null : this;

    public TimeSpan Interval => _queue.Options.AcknowledgeInterval;

    public async ValueTask StartAsync(CancellationToken cancellationToken)
    {
        if (_listener is not null)
        {
            await _listener.OpenAsync(cancellationToken).ConfigureAwait(false);
        }

        await ReapAsync(cancellationToken).ConfigureAwait(false);
        _ = new LeaseThread(_database, _leases, _queue.Options.LeaseDuration / 4, _clock, _stop.Token);
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
        if (open.Count > 0 && _queue.Options.KeepKeyOrder)
        {
            _queue.Nudge();
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

        if (done.Exists(static d => d.Rows.Count > 0) && _queue.Options.KeepKeyOrder)
        {
            _wake.Set();
            _queue.Nudge();
        }

        return areAll;
    }

    public async ValueTask ReturnAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken)
    {
        List<PostgresBatch<T>> open = Open(batches);
        await SettleAsync(_statements.Return, _statements.ReturnPacks, open, cancellationToken).ConfigureAwait(false);
        if (open.Count > 0)
        {
            _queue.Nudge();
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
        _queue.Nudge();
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
            ? _database.Query(statement, read, _queue.Options.LeaseDuration / 4, parameters)
            : await _database.QueryAsync(statement, read, cancellationToken, parameters).ConfigureAwait(false);

    private async Task MaintainAsync()
    {
        using var timer = new PeriodicTimer(_queue.Options.LeaseDuration / 4, _clock);
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
        if (_queue.Options.DuplicateHistory == TimeSpan.Zero)
        {
            return;
        }

        for (int part = 0; part < MaxForgettings; part++)
        {
            int count = await _database.ExecuteAsync(_statements.ForgetPublished, cancellationToken, Parameter.Of(_queue.Options.DuplicateHistory))
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
}
