using System.Diagnostics.CodeAnalysis;
using Npgsql;

namespace Weir.PostgreSql;

/// <summary>
/// The leases of a source: the one under which it takes rows, and earlier ones under which rows are still held. A lease is one row, so renewing costs the same
/// however many items run.
/// </summary>
/// <remarks>
/// <para>
/// A lease begins with the first take that finds no current one. All are renewed together, by the <see cref="LeaseThread"/>, and before a take if that is late.
/// A renewal tells which of them have ended: those are forgotten, and what was held under them goes to others.
/// </para>
/// <para>
/// A take that failed may have taken rows all the same. Then its lease is in doubt: the next take begins another one, and this one is renewed only as long as
/// rows are held under it. Rows that the server has under it and this process has not are given back, again and again, because the statement may still run.
/// </para>
/// <para>
/// Rows are noted here when they come, and dropped when they are settled. The reader, the thread and whoever settles rows come at any time; the lock is never
/// held during a statement. The end of the source releases all leases, and with them what is still held.
/// </para>
/// </remarks>
[SuppressMessage("Naming", "CA1711", Justification = "Leases are what they are.")]
internal sealed class ConsumerLeases(Database database, QueueStatements statements, TimeSpan duration, TimeProvider clock)
{
    private readonly Lock _lock = new();

    // Under the lock: the leases with the rows and packs that are held under each, and the one that rows are taken under.
    private readonly Dictionary<long, HashSet<long>> _held = [];
    private long? _current;

    // Atomic: when they were last renewed. Whoever has renewed them writes the moment before its statement, so it is never too late.
    private long _renewed = clock.GetTimestamp();

    /// <summary>The lease to take rows under. As far as this process can know, it has not ended.</summary>
    public async ValueTask<long> CurrentAsync(CancellationToken cancellationToken)
    {
        if (clock.GetElapsedTime(Volatile.Read(ref _renewed)) > duration / 2)
        {
            await RenewAsync(cancellationToken).ConfigureAwait(false);
        }

        lock (_lock)
        {
            if (_current is { } current)
            {
                return current;
            }
        }

        List<long> ids = await database.QueryAsync(
            statements.Register, static r => r.GetInt64(0), cancellationToken, Parameter.Of(SqlName.Storable(Environment.MachineName)), Parameter.Of(duration))
            .ConfigureAwait(false);
        lock (_lock)
        {
            _held.TryAdd(ids[0], []);
            _current = ids[0];
            return ids[0];
        }
    }

    /// <summary>Notes that rows are held under a lease.</summary>
    /// <param name="lease">The lease.</param>
    /// <param name="rows">The rows.</param>
    /// <param name="opened">The pack that they were until now; <see langword="null"/> if they were taken.</param>
    public void Hold(long lease, IEnumerable<TakenRow> rows, long? opened = null)
    {
        lock (_lock)
        {
            if (_held.TryGetValue(lease, out HashSet<long>? held))
            {
                held.UnionWith(rows.Select(static r => r.Id));
                if (opened is { } pack)
                {
                    held.Remove(pack);
                }
            }
        }
    }

    public void Drop(long lease, IEnumerable<TakenRow> rows)
    {
        lock (_lock)
        {
            if (_held.TryGetValue(lease, out HashSet<long>? held))
            {
                held.ExceptWith(rows.Select(static r => r.Id));
            }
        }
    }

    /// <summary>Ends taking under a lease, because it is not known whether a failed statement has taken rows under it.</summary>
    public void Doubt(long lease)
    {
        lock (_lock)
        {
            if (_current == lease)
            {
                _current = null;
            }
        }
    }

    /// <summary>Gives back rows that may have been taken under leases in doubt and never arrived here, and ends the leases that hold nothing.</summary>
    /// <returns>
    /// Whether none is left. A statement whose connection broke may still be running, so leases that hold rows are settled again the next time.
    /// </returns>
    public async ValueTask<bool> SettleDoubtsAsync(CancellationToken cancellationToken)
    {
        List<(long Lease, long[] Rows)> doubts;
        lock (_lock)
        {
            doubts = [.. _held.Where(h => h.Key != _current).Select(static h => (h.Key, h.Value.ToArray()))];
        }

        foreach ((long lease, long[] rows) in doubts)
        {
            if (rows.Length > 0)
            {
                await database.ExecuteAsync(statements.Forget, cancellationToken, Parameter.Of(lease), Parameter.Of(rows)).ConfigureAwait(false);
                continue;
            }

            await database.ExecuteAsync(statements.Release, cancellationToken, Parameter.Of(new[] { lease })).ConfigureAwait(false);
            lock (_lock)
            {
                _held.Remove(lease);
            }
        }

        return doubts.TrueForAll(static d => d.Rows.Length == 0);
    }

    /// <summary>Renews all leases. Those that are gone are forgotten: what was held under them goes to others.</summary>
    public async ValueTask RenewAsync(CancellationToken cancellationToken)
    {
        long now = clock.GetTimestamp();
        long[] all = All();
        if (all.Length > 0)
        {
            Renewed(all, await database.QueryAsync(
                statements.Renew, static r => r.GetInt64(0), cancellationToken, Parameter.Of(all), Parameter.Of(duration)).ConfigureAwait(false));
        }

        Volatile.Write(ref _renewed, now);
    }

    /// <summary>Renews all leases on the current thread, which waits for the server and needs no other.</summary>
    /// <param name="connection">An open connection.</param>
    /// <param name="limit">How long the statement may take.</param>
    public void Renew(NpgsqlConnection connection, TimeSpan limit)
    {
        long now = clock.GetTimestamp();
        long[] all = All();
        if (all.Length > 0)
        {
            Renewed(all, Database.Query(connection, statements.Renew, static r => r.GetInt64(0), limit, Parameter.Of(all), Parameter.Of(duration)));
        }

        Volatile.Write(ref _renewed, now);
    }

    /// <summary>Ends all leases, and gives back what is held.</summary>
    public async ValueTask ReleaseAsync(CancellationToken cancellationToken)
    {
        long[] all = All();
        if (all.Length > 0)
        {
            await database.ExecuteAsync(statements.Release, cancellationToken, Parameter.Of(all)).ConfigureAwait(false);
        }
    }

    private void Renewed(long[] all, List<long> live)
    {
        lock (_lock)
        {
            foreach (long lost in all.Except(live))
            {
                _held.Remove(lost);
                _current = _current == lost ? null : _current;
            }
        }
    }

    private long[] All()
    {
        lock (_lock)
        {
            return [.. _held.Keys];
        }
    }
}

/// <summary>
/// Renews the leases of a source, on a thread and a connection of its own, with calls that block. Otherwise, handlers that hold all threads of the pool, or all
/// connections, would let the leases run out, and other sources would get items that still run.
/// </summary>
/// <remarks>
/// Now and then the platform passes the answer of a blocking read through the pool. While the pool has no thread, a statement ends at its time limit, and the
/// next one uses another connection, three times while the lease lasts. Nobody waits for the end of the thread, because a server that does not answer may
/// delay it. What it renews after that has been released already.
/// </remarks>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "The thread disposes of them at its end.")]
internal sealed class LeaseThread
{
    private const int StackBytes = 256 * 1024;
    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(200);

    // Immutable.
    private readonly Database _database;
    private readonly ConsumerLeases _leases;
    private readonly TimeSpan _period;
    private readonly CancellationToken _stop;
    private readonly AutoResetEvent _due = new(false);
    private readonly CancellationTokenRegistration _stopped;
    private readonly ITimer? _timer;

    // Of the thread.
    private NpgsqlConnection? _connection;

    /// <summary>Starts the thread.</summary>
    /// <param name="database">Where.</param>
    /// <param name="leases">The leases.</param>
    /// <param name="period">How often they are renewed.</param>
    /// <param name="clock">Measures the period. The system's needs no timer, whose callback would wait for the pool.</param>
    /// <param name="stop">Ends the thread.</param>
    public LeaseThread(Database database, ConsumerLeases leases, TimeSpan period, TimeProvider clock, CancellationToken stop)
    {
        (_database, _leases, _period, _stop) = (database, leases, period, stop);
        _stopped = stop.UnsafeRegister(Wake, _due);
        _timer = clock == TimeProvider.System ? null : clock.CreateTimer(Wake, _due, period, period);
        new Thread(Run, StackBytes) { IsBackground = true, Name = "Weir leases" }.Start();
    }

    private static void Wake(object? due)
    {
        try
        {
            ((AutoResetEvent)due!).Set();
        }
        catch (ObjectDisposedException)
        {
            // The thread has ended just now.
        }
    }

    // Nothing of it throws: an exception would end the process.
    private void Run()
    {
        while (!_stop.IsCancellationRequested)
        {
            try
            {
                // At once, before anybody can hold the pool: a connection takes longer to open than a statement.
                _connection ??= _database.Open();
                _due.WaitOne(_timer is null ? _period : Timeout.InfiniteTimeSpan);
                if (!_stop.IsCancellationRequested)
                {
                    _leases.Renew(_connection, _period);
                }
            }
            catch (Exception)
            {
                // The next try uses another connection. A source that reads gets the failure itself.
                Close();
                _due.WaitOne(Pause);
            }
        }

        Close();
        try
        {
            _stopped.Dispose();
            _timer?.Dispose();
            _due.Dispose();
        }
        catch (Exception)
        {
            // The timer belongs to the clock of the user.
        }
    }

    private void Close()
    {
        try
        {
            _connection?.Dispose();
        }
        catch (Exception)
        {
            // It is broken, or the user has disposed of the data source.
        }

        _connection = null;
    }
}
