using Npgsql;

namespace Weir.PostgreSql;

/// <summary>A connection that listens, and is opened again when it breaks. Polling finds what is missed meanwhile.</summary>
internal sealed class QueueListener(NpgsqlDataSource source, Database database, string channel, WakeUp wake, TimeProvider clock)
{
    private static readonly TimeSpan Pause = TimeSpan.FromSeconds(1);

    // If the other end of a connection has disappeared silently, the connection fails only when it is used.
    private static readonly TimeSpan Check = TimeSpan.FromSeconds(60);

    // Atomic: whoever exchanges it for null closes it.
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

/// <summary>
/// Notifies the sources of a queue. Transactions with a notification commit one at a time in the whole server. So one runs here at a time, and all calls
/// that come meanwhile share the next.
/// </summary>
internal sealed class QueueNotifier(Database database, string channel)
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(2);

    private readonly Lock _lock = new();

    // Under the lock: the notification that is under way or was the last, and the one that all who come meanwhile share.
    private Task _running = Task.CompletedTask;
    private Task? _next;

    /// <returns>A task that completes when a notification has been sent that began after this call.</returns>
    public Task NotifyAsync()
    {
        lock (_lock)
        {
            return _next ??= RunAsync(_running);
        }
    }

    /// <summary>Notifies, and nobody waits for it. If it fails, the other sources find by polling what there is.</summary>
    public void Notify() => _ = EndedAsync(NotifyAsync());

    /// <summary>Waits for the last notification, for as long as an answer of a server takes.</summary>
    public Task EndAsync()
    {
        lock (_lock)
        {
            return EndedAsync((_next ?? _running).WaitAsync(Patience, TimeProvider.System));
        }
    }

    private static async Task EndedAsync(Task notification) => await notification.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);

    private async Task RunAsync(Task before)
    {
        // Not under the lock of the caller.
        await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        await before.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        lock (_lock)
        {
            (_running, _next) = (_next!, null);
        }

        await database.ExecuteAsync($"SELECT pg_notify('{channel}', '')", CancellationToken.None).ConfigureAwait(false);
    }
}

/// <summary>Wakes those who wait for a change. A waiter that gets <see cref="Next"/> before it looks misses nothing.</summary>
internal sealed class WakeUp
{
    private TaskCompletionSource _next = New();

    /// <summary>Completes at the next change.</summary>
    public Task Next => Volatile.Read(ref _next).Task;

    public void Set() => Interlocked.Exchange(ref _next, New()).TrySetResult();

    private static TaskCompletionSource New() => new(TaskCreationOptions.RunContinuationsAsynchronously);
}
