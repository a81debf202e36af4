using System.Diagnostics.CodeAnalysis;
using Npgsql;

namespace Weir.PostgreSql;

/// <summary>
/// Renews the leases of a source, on a thread and a connection of its own, with calls that block. Handlers that hold all threads of the pool, or all its
/// connections, would let the leases end otherwise, and others would get items that still run.
/// </summary>
/// <remarks>
/// The platform now and then hands the answer for a blocking read to the pool. While that has no thread at all, a statement ends with its time limit, and
/// another connection is tried, three times while the lease lasts. Nobody waits for the end of the thread: a server that does not answer may hold it until
/// then, and what it renews after that is gone already.
/// </remarks>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "The thread disposes of them at its end.")]
internal sealed class LeaseThread
{
    private const int StackBytes = 256 * 1024;
    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(200);

    private readonly Database _database;
    private readonly ConsumerLeases _leases;
    private readonly TimeSpan _period;
    private readonly CancellationToken _stop;
    private readonly AutoResetEvent _due = new(false);
    private readonly CancellationTokenRegistration _stopped;
    private readonly ITimer? _timer;
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
                // The next try is on another connection, and a source that reads hears of it itself.
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
            // The timer is that of the user's clock.
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
            // It is broken, or the pool of the user's is gone.
        }

        _connection = null;
    }
}
