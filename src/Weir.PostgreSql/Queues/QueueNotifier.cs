namespace Weir.PostgreSql;

/// <summary>
/// Notifies the sources of a queue. The server lets one transaction with a notification commit at a time, so one runs here at a time, and all who come
/// meanwhile share the next.
/// </summary>
internal sealed class QueueNotifier(Database database, string channel)
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(2);

    private readonly Lock _lock = new();
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

    /// <summary>Notifies without anybody who waits. What fails is found by polling.</summary>
    public void Nudge() => _ = EndedAsync(NotifyAsync());

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
