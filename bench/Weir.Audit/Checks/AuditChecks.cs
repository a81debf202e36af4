namespace Weir.Audit.Checks;

/// <summary>Asks the tables of an audit whether a round is over, and how long it took.</summary>
internal static class AuditChecks
{
    private const string Missing = """
        SELECT count(*) FROM changes c WHERE c.number > $1 AND NOT EXISTS (SELECT FROM effects e WHERE e.number = c.number)
        """;

    private const string Recovery = """
        SELECT extract(epoch FROM max(e.time) - $1)::float8, count(*), r.count, r.age
        FROM changes c JOIN effects e ON e.number = c.number,
            (SELECT count(*), coalesce(extract(epoch FROM $1 - min(d.time)), 0)::float8 AS age FROM effects d
            WHERE d.number > $2 AND d.time <= $1 AND EXISTS (SELECT FROM repeats a WHERE a.number = d.number)) r
        WHERE c.number > $2 AND c.time <= $1 AND e.time > $1
        GROUP BY r.count, r.age
        """;

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
        return await reader.ReadAsync(stop)
            ? new AuditRecovery(reader.GetDouble(0), reader.GetInt64(1), reader.GetInt64(2), reader.GetDouble(3))
            : null;
    }
}
