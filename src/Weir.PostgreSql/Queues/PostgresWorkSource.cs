using System.Globalization;
using Npgsql;

namespace Weir.PostgreSql;

/// <summary>
/// A consuming end of a queue. It takes rows under a lease, which it renews beside. Rows of which a process may have died are taken one at a time, while this
/// source holds nothing else, so that the next death is known to be theirs.
/// </summary>
internal sealed class PostgresWorkSource<T> : IWorkSource<T>, IRedelivery<T>
{
    private static readonly TimeSpan ReleaseLimit = TimeSpan.FromSeconds(10);

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
    private Task _background = Task.CompletedTask;
    private (Task Wake, Task<PostgresBatch<T>?> Batch)? _taking;
    private (long Lease, List<TakenRow> Rows)? _taken;
    private TimeSpan _wait;
    private long _lastBatch;
    private bool _isInDoubt;
    private bool _isDisposed;

    // Whether there are suspect rows, and whether the next batch is one all the same of the others: they take turns.
    private volatile bool _hasSuspects;
    private bool _othersFirst;

    public PostgresWorkSource(PostgresWorkQueue<T> queue)
    {
        _queue = queue;
        _database = queue.Database;
        _statements = queue.Statements;
        _clock = queue.Options.TimeProvider;
        _leases = new ConsumerLeases(_database, _statements, queue.Options.LeaseDuration, _clock);
        _listener = queue.Options.UseNotifications ? new QueueListener(queue.DataSource, _database, _statements.Channel, _wake, _clock) : null;
    }

    public string Name => _queue.Name;

    public AcknowledgementOrder Order => AcknowledgementOrder.Any;

    public IRedelivery<T> Redelivery => this;

    public async ValueTask StartAsync(CancellationToken cancellationToken)
    {
        if (_listener is not null)
        {
            await _listener.OpenAsync(cancellationToken).ConfigureAwait(false);
        }

        await ReapAsync(cancellationToken).ConfigureAwait(false);
        _background = Task.WhenAll(Task.Run(MaintainAsync, CancellationToken.None), _listener?.RunAsync(_stop.Token) ?? Task.CompletedTask);
    }

    public async ValueTask<WorkBatch<T>?> ReadAsync(CancellationToken cancellationToken)
    {
        while (true)
        {
            cancellationToken.ThrowIfCancellationRequested();
            ObjectDisposedException.ThrowIf(_isDisposed, this);

            // Whoever stops waiting does not stop the statement, of which nobody could say then whether it took something: the next call gets what it takes.
            (Task wake, Task<PostgresBatch<T>?> taking) = _taking ??= (_wake.Next, TakeAsync(_stop.Token));
            PostgresBatch<T>? batch;
            try
            {
                batch = await taking.WaitAsync(cancellationToken).ConfigureAwait(false);
            }
            finally
            {
                if (taking.IsCompleted)
                {
                    _taking = null;
                }
            }

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
        await SettleAsync(_statements.Acknowledge, open, cancellationToken).ConfigureAwait(false);
    }

    public async ValueTask ReturnAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken)
    {
        List<PostgresBatch<T>> open = Open(batches);
        await SettleAsync(_statements.Return, open, cancellationToken).ConfigureAwait(false);
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

        try
        {
            using var limit = new CancellationTokenSource(ReleaseLimit, _clock);
            await _leases.ReleaseAsync(limit.Token).ConfigureAwait(false);
        }
        catch (Exception e) when (e is NpgsqlException or OperationCanceledException or WorkSetupException or TimeoutException or ObjectDisposedException)
        {
            // A server that is away finds out when the lease ends.
        }

        _stop.Dispose();
    }

    private static bool IsRace(PostgresException e) =>
        e.SqlState is PostgresErrorCodes.UniqueViolation or PostgresErrorCodes.DeadlockDetected or PostgresErrorCodes.SerializationFailure;

    private async Task<PostgresBatch<T>?> TakeAsync(CancellationToken stop)
    {
        if (_taken is null)
        {
            if (_isInDoubt)
            {
                await _leases.SettleDoubtsAsync(stop).ConfigureAwait(false);
                _isInDoubt = false;
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
        bool isAlone = _leases.Rows == 0;
        _wait = _queue.Options.PollInterval;
        lock (_lock)
        {
            if (_open.Any(static b => b.IsSuspect))
            {
                return [];
            }
        }

        if (!_hasSuspects || _othersFirst)
        {
            _othersFirst = false;
            List<TakenRow> rows = await TakeRowsAsync(_statements.Take, stop).ConfigureAwait(false);
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

            List<TakenRow> suspect = await TakeRowsAsync(_statements.TakeSuspect, stop).ConfigureAwait(false);
            _hasSuspects = suspect.Count > 0;
            _othersFirst = true;
            if (suspect.Count > 0)
            {
                return suspect;
            }
        }

        double? seconds = (await _database.QueryAsync(_statements.NextDue, static r => r.IsDBNull(0) ? (double?)null : r.GetDouble(0), stop)
            .ConfigureAwait(false))[0];
        if (seconds < _wait.TotalSeconds)
        {
            _wait = TimeSpan.FromSeconds(Math.Max(seconds.Value, 0.001));
        }

        return [];
    }

    private async ValueTask<List<TakenRow>> TakeRowsAsync(string statement, CancellationToken stop)
    {
        long lease = await _leases.CurrentAsync(stop).ConfigureAwait(false);
        while (true)
        {
            try
            {
                List<TakenRow> rows = await _database.QueryAsync(statement, static r => new TakenRow(r), stop, Parameter.Of(lease)).ConfigureAwait(false);
                if (rows.Count > 0)
                {
                    // The order of the rows that a statement changes is not defined.
                    rows.Sort(static (a, b) => a.Id.CompareTo(b.Id));
                    _leases.Hold(lease, rows);
                    _taken = (lease, rows);
                }

                return rows;
            }
            catch (PostgresException e) when (IsRace(e))
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

    // Until it has succeeded, the rows are kept here: whoever reads next goes on with them.
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
                string error = string.Create(CultureInfo.InvariantCulture, $"The value has more than {_queue.Options.MaxItemBytes:N0} bytes (MaxItemBytes).");
                unreadable.Add((row, DeadLetterReason.TooLarge, error));
                continue;
            }

            try
            {
                T value = _queue.Serializer.Read(row.Payload);
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

        // Its first lease may have ended because of anything that ran beside it; only those after it ran it alone.
        int expired = readable[0].Expired;
        string position = (++_lastBatch).ToString(CultureInfo.InvariantCulture);
        var batch = new PostgresBatch<T>(items, position, lease, readable) { IsSuspect = expired > 0, Crashes = Math.Max(0, expired - 1) };
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

    private List<PostgresBatch<T>> Open(IReadOnlyList<WorkBatch<T>> batches)
    {
        ArgumentNullException.ThrowIfNull(batches);
        lock (_lock)
        {
            return [.. batches.OfType<PostgresBatch<T>>().Where(_open.Contains)];
        }
    }

    private async ValueTask SettleAsync(string statement, List<PostgresBatch<T>> batches, CancellationToken cancellationToken)
    {
        if (batches.Count == 0)
        {
            return;
        }

        List<(TakenRow Row, long Lease)> rows = [.. batches.SelectMany(static b => b.Rows.Select(r => (r, b.Lease)))];
        if (rows.Count > 0)
        {
            await _database.ExecuteAsync(
                statement,
                cancellationToken,
                Parameter.Of(rows.Select(static r => r.Row.Id).ToArray()),
                Parameter.Of(rows.Select(static r => r.Row.Delivery).ToArray()),
                Parameter.Of(rows.Select(static r => r.Lease).ToArray())).ConfigureAwait(false);
        }

        foreach (PostgresBatch<T> batch in batches)
        {
            _leases.Drop(batch.Lease, batch.Rows);
        }

        lock (_lock)
        {
            _open.ExceptWith(batches);
        }

        // What waited for a key, or for nothing else to run.
        _wake.Set();
    }

    private async Task MaintainAsync()
    {
        using var timer = new PeriodicTimer(_queue.Options.LeaseDuration / 4, _clock);
        try
        {
            while (await timer.WaitForNextTickAsync(_stop.Token).ConfigureAwait(false))
            {
                try
                {
                    await _leases.RenewAsync(_stop.Token).ConfigureAwait(false);
                    await ReapAsync(_stop.Token).ConfigureAwait(false);
                }
                catch (Exception e) when (e is not (OutOfMemoryException or OperationCanceledException))
                {
                    // The next tick comes before the lease ends; and a source that reads hears of it itself.
                }
            }
        }
        catch (OperationCanceledException)
        {
            // The source has been disposed.
        }
    }

    private async ValueTask ReapAsync(CancellationToken cancellationToken)
    {
        bool found = (await _database.QueryAsync(_statements.Reap, static r => r.GetBoolean(0), cancellationToken).ConfigureAwait(false))[0];
        if (found)
        {
            _hasSuspects = true;
            _wake.Set();
        }
    }
}
