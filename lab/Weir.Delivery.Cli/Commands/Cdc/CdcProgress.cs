namespace Weir.Delivery.Cli.Commands.Cdc;

/// <summary>Counts what the target has taken, and shows it now and then, with how far the slot is behind the server's log.</summary>
internal sealed class CdcProgress(IWorkSink<ChangeLine> inner, NpgsqlDataSource database, string slot, WorkCliHost host) : IWorkSink<ChangeLine>
{
    private readonly long _started = host.Clock.GetTimestamp();
    private long _changes;
    private long _delay;

    /// <summary>How many changes are done.</summary>
    public long Changes => Volatile.Read(ref _changes);

    /// <summary>Where everything is done up to.</summary>
    public string? Position { get; private set; }

    private double Seconds => host.Clock.GetElapsedTime(_started).TotalSeconds;

    public async ValueTask WriteAsync(IReadOnlyList<WorkItem<ChangeLine>> items, string? position, CancellationToken cancellationToken)
    {
        await inner.WriteAsync(items, position, cancellationToken);
        Position = position ?? Position;
        if (items.Count > 0)
        {
            Interlocked.Exchange(ref _delay, (host.Clock.GetUtcNow() - items[^1].Value.Time).Ticks);
            Interlocked.Add(ref _changes, items.Count);
        }
    }

    public ValueTask DisposeAsync() => inner.DisposeAsync();

    /// <summary>Shows progress until it is stopped.</summary>
    public async Task ShowAsync(CancellationToken stop)
    {
        using PeriodicTimer timer = new(host.Progress, host.Clock);
        long before = 0;
        double since = 0;
        try
        {
            while (await timer.WaitForNextTickAsync(stop))
            {
                long now = Changes;
                double seconds = Seconds;
                string rate = Numbers.Grouped((long)((now - before) / Math.Max(seconds - since, 0.001)));
                (before, since) = (now, seconds);
                host.Error.WriteLine($"{Numbers.Grouped(now)} changes, {rate}/s; {await BehindAsync(stop)}");
            }
        }
        catch (OperationCanceledException)
        {
            // The stream has ended.
        }
    }

    /// <summary>Shows what it came to.</summary>
    public void ShowEnd(string target) => host.Error.WriteLine(
        $"{Numbers.Grouped(Changes)} changes to {target}, up to {Position ?? "the same position as before"}; "
        + string.Create(CultureInfo.InvariantCulture, $"{Seconds:0.0} s"));

    private async ValueTask<string> BehindAsync(CancellationToken stop)
    {
        string delay = Changes == 0
            ? ""
            : string.Create(CultureInfo.InvariantCulture, $", the last one {new TimeSpan(Volatile.Read(ref _delay)).TotalSeconds:0.0} s after its commit");
        try
        {
            await using NpgsqlCommand command = database.CreateCommand(
                "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)::bigint FROM pg_catalog.pg_replication_slots WHERE slot_name = $1");
            command.Parameters.Add(new NpgsqlParameter<string> { TypedValue = slot });
            return await command.ExecuteScalarAsync(stop) is long bytes
                ? $"{Numbers.Bytes(Math.Max(bytes, 0))} behind{delay}"
                : $"the slot is not there{delay}";
        }
        catch (NpgsqlException)
        {
            return $"the server does not say how far behind{delay}";
        }
    }
}
