using Npgsql;

namespace Weir.PostgreSql;

/// <summary>A connection that listens, and is opened again when it breaks. Polling finds what is missed meanwhile.</summary>
internal sealed class QueueListener(NpgsqlDataSource source, Database database, string channel, WakeUp wake, TimeProvider clock)
{
    private static readonly TimeSpan Pause = TimeSpan.FromSeconds(1);

    // A connection whose other end has disappeared silently fails only when it is used.
    private static readonly TimeSpan Check = TimeSpan.FromSeconds(60);

    private NpgsqlConnection? _connection;

    public async ValueTask OpenAsync(CancellationToken cancellationToken)
    {
        NpgsqlConnection connection = await source.OpenConnectionAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            connection.Notification += (_, _) => wake.Set();
            await database.ExecuteOnAsync(connection, $"LISTEN {SqlName.Quote(channel)}", cancellationToken).ConfigureAwait(false);
            _connection = connection;
        }
        catch
        {
            await connection.DisposeAsync().ConfigureAwait(false);
            throw;
        }

        // Items may have been enqueued before this connection listened.
        wake.Set();
    }

    public async Task RunAsync(CancellationToken stop)
    {
        while (!stop.IsCancellationRequested)
        {
            try
            {
                if (_connection is null)
                {
                    await OpenAsync(stop).ConfigureAwait(false);
                }

                await ListenAsync(_connection!, stop).ConfigureAwait(false);
            }
            catch (Exception e) when (e is not OutOfMemoryException)
            {
                await CloseAsync().ConfigureAwait(false);
                await Task.Delay(Pause, clock, stop).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            }
        }

        await CloseAsync().ConfigureAwait(false);
    }

    public async ValueTask CloseAsync()
    {
        if (Interlocked.Exchange(ref _connection, null) is not { } connection)
        {
            return;
        }

        try
        {
            await connection.DisposeAsync().ConfigureAwait(false);
        }
        catch (NpgsqlException)
        {
            // The connection is gone already.
        }
    }

    private static async Task ListenAsync(NpgsqlConnection connection, CancellationToken stop)
    {
        while (true)
        {
            if (!await connection.WaitAsync(Check, stop).ConfigureAwait(false))
            {
                var command = new NpgsqlCommand("SELECT 1", connection);
                await using (command.ConfigureAwait(false))
                {
                    await command.ExecuteNonQueryAsync(stop).ConfigureAwait(false);
                }
            }
        }
    }
}
