namespace Weir.Audit.Parts;

/// <summary>
/// The process that publishes numbered changes: it looks up what it published last, and continues with the next. Without an engine, a reader moves them on.
/// </summary>
internal sealed class Publisher(NpgsqlDataSource database, IAuditEngine? engine, AuditScenario scenario, int together)
{
    private const int LongestPause = 4;

    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(50);

    public async Task RunAsync(PartWords words)
    {
        while (true)
        {
            try
            {
                await PublishAsync(words);
            }
            catch (Exception e) when (e is NpgsqlException or IOException or TimeoutException)
            {
                // A connection that was cut while it committed may have committed, so it asks again where it is.
                await Task.Delay(Pause, words.Stop);
            }
        }
    }

    private async Task PublishAsync(PartWords words)
    {
        await using NpgsqlConnection connection = await database.OpenConnectionAsync(words.Stop);
        long next = 1 + await AuditTables.ScalarAsync<long>(connection, "SELECT coalesce(max(number), 0) FROM changes", words.Stop);
        await Console.Out.WriteLineAsync(PartCommand.Ready);
        while (true)
        {
            long goal = await words.WaitForAsync(next);
            int count = (int)Math.Min(1 + (next % together), goal - next + 1);
            await PublishAsync(connection, next, count, words.Stop);
            next += count;
            await Task.Delay(TimeSpan.FromMilliseconds(next % LongestPause), words.Stop);
        }
    }

    private async Task PublishAsync(NpgsqlConnection connection, long first, int count, CancellationToken stop)
    {
        long[] numbers = [.. Enumerable.Range(0, count).Select(i => first + i)];
        string?[] keys = [.. numbers.Select(scenario.KeyOf)];
        await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync(stop);
        await AuditTables.ExecuteAsync(
            connection,
            "INSERT INTO changes (number, key) SELECT * FROM unnest($1, $2)",
            stop,
            AuditTables.Parameter(numbers),
            AuditTables.Parameter(Array.ConvertAll(keys, static k => k ?? "")));
        WorkItem<string>[] items =
        [
            .. numbers.Select((n, i) =>
                new WorkItem<string>(new WorkId(AuditTables.Origin, (int)n), n.ToString(CultureInfo.InvariantCulture), keys[i])),
        ];
        await (engine?.PublishAsync(transaction, items, stop).AsTask() ?? transaction.CommitAsync(stop));
    }
}
