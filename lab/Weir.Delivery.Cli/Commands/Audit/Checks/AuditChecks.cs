namespace Weir.Delivery.Cli.Commands.Audit.Checks;

/// <summary>Reads the tables of an audit for its judge.</summary>
internal static class AuditChecks
{
    private const string Missing = """
        SELECT count(*) FROM changes c WHERE c.number > $1 AND NOT EXISTS (SELECT FROM effects e WHERE e.number = c.number)
        """;

    private const string Recovery = """
        SELECT extract(epoch FROM max(e.time) - $1)::float8, count(*) FROM changes c JOIN effects e ON e.number = c.number
        WHERE c.number > $2 AND c.time <= $1 AND e.time > $1
        """;

    /// <summary>Counts everything, as it is at one moment.</summary>
    public static async ValueTask<AuditCounts> CountAsync(NpgsqlConnection connection, IAuditEngine engine, CancellationToken stop)
    {
        AuditJudge judge = new();
        long repeats;
        await using (NpgsqlTransaction transaction = await connection.BeginTransactionAsync(System.Data.IsolationLevel.RepeatableRead, stop))
        {
            await ReadAsync(connection, "SELECT number, key FROM changes", judge.Publish, stop);
            await ReadAsync(connection, "SELECT number, key FROM effects ORDER BY sequence", judge.Apply, stop);
            repeats = await AuditTables.ScalarAsync<long>(connection, "SELECT count(*) FROM repeats", stop);
        }

        return judge.Counts with { DeliveredAgain = repeats, DeadLetters = await engine.CountDeadLettersAsync(stop) };
    }

    /// <summary>Counts the changes after one that have no effect yet: whether there is something to wait for.</summary>
    public static ValueTask<long> CountMissingAsync(NpgsqlConnection connection, long after, CancellationToken stop) =>
        AuditTables.ScalarAsync<long>(connection, Missing, stop, AuditTables.Parameter(after));

    /// <summary>How long after a moment everything had its effect that was published then; <see langword="null"/> if all had it already.</summary>
    /// <param name="connection">A connection.</param>
    /// <param name="moment">The moment, by the server's clock.</param>
    /// <param name="after">The last change of the round before.</param>
    /// <param name="stop">Ends the wait.</param>
    public static async ValueTask<AuditRecovery?> FindRecoveryAsync(NpgsqlConnection connection, DateTime moment, long after, CancellationToken stop)
    {
        await using NpgsqlCommand command = new(Recovery, connection) { Parameters = { AuditTables.Parameter(moment), AuditTables.Parameter(after) } };
        await using NpgsqlDataReader reader = await command.ExecuteReaderAsync(stop);
        await reader.ReadAsync(stop);
        return reader.GetInt64(1) == 0 ? null : new AuditRecovery(reader.GetDouble(0), reader.GetInt64(1));
    }

    private static async ValueTask ReadAsync(NpgsqlConnection connection, string query, Action<long, string> add, CancellationToken stop)
    {
        await using NpgsqlCommand command = new(query, connection);
        await using NpgsqlDataReader reader = await command.ExecuteReaderAsync(stop);
        while (await reader.ReadAsync(stop))
        {
            add(reader.GetInt64(0), reader.GetString(1));
        }
    }
}
