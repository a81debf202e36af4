namespace Weir.Delivery.Cli.Commands.Audit.Parts;

/// <summary>
/// The process that publishes numbered changes: it looks up what it published last, and goes on with the next. Without an engine, a reader moves them on.
/// </summary>
internal static class Publisher
{
    private const int MostTogether = 8;
    private const int LongestPause = 4;

    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(50);

    public static async Task RunAsync(NpgsqlDataSource database, IAuditEngine? engine, PartWords words)
    {
        while (true)
        {
            try
            {
                await PublishAsync(database, engine, words);
            }
            catch (Exception e) when (e is NpgsqlException or IOException or TimeoutException)
            {
                // A connection that was cut while it committed may have committed, so it asks again where it is.
                await Task.Delay(Pause, words.Stop);
            }
        }
    }

    private static async Task PublishAsync(NpgsqlDataSource database, IAuditEngine? engine, PartWords words)
    {
        await using NpgsqlConnection connection = await database.OpenConnectionAsync(words.Stop);
        long next = 1 + await AuditTables.ScalarAsync<long>(connection, "SELECT coalesce(max(number), 0) FROM changes", words.Stop);
        await Console.Out.WriteLineAsync(PartCommand.Ready);
        while (true)
        {
            long goal = await words.WaitForAsync(next);
            int count = (int)Math.Min(1 + (next % MostTogether), goal - next + 1);
            await PublishAsync(connection, engine, next, count, words.Stop);
            next += count;
            await Task.Delay(TimeSpan.FromMilliseconds(next % LongestPause), words.Stop);
        }
    }

    private static async Task PublishAsync(NpgsqlConnection connection, IAuditEngine? engine, long first, int count, CancellationToken stop)
    {
        long[] numbers = [.. Enumerable.Range(0, count).Select(i => first + i)];
        string[] keys = [.. numbers.Select(AuditTables.KeyOf)];
        await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync(stop);
        await AuditTables.ExecuteAsync(
            connection,
            "INSERT INTO changes SELECT * FROM unnest($1, $2)",
            stop,
            AuditTables.Parameter(numbers),
            AuditTables.Parameter(keys));
        WorkItem<string>[] items =
        [
            .. numbers.Select((n, i) =>
                new WorkItem<string>(new WorkId(AuditTables.Origin, (int)n), n.ToString(CultureInfo.InvariantCulture), keys[i])),
        ];
        if (engine is not null)
        {
            await engine.PublishAsync(transaction, items, stop);
        }

        await transaction.CommitAsync(stop);
    }
}
