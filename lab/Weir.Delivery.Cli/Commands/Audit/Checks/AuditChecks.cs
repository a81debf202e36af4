namespace Weir.Delivery.Cli.Commands.Audit.Checks;

/// <summary>Compares what was published with what came of it. One statement reads all, so its figures belong to one moment.</summary>
internal static class AuditChecks
{
    // An effect that was applied twice is in its place the first time.
    private const string Count = """
        WITH firsts AS (SELECT number, key, min(sequence) AS sequence FROM effects GROUP BY number, key)
        SELECT
            (SELECT count(*) FROM changes),
            (SELECT count(*) FROM effects),
            (SELECT count(*) FROM repeats),
            (SELECT count(*) FROM changes c WHERE NOT EXISTS (SELECT FROM effects e WHERE e.number = c.number)),
            (SELECT count(*) FROM effects) - (SELECT count(*) FROM firsts),
            (SELECT count(*) FROM (SELECT number < max(number) OVER (PARTITION BY key ORDER BY sequence) AS is_late FROM firsts) o WHERE is_late),
            (SELECT count(*) FROM firsts f WHERE NOT EXISTS (SELECT FROM changes c WHERE c.number = f.number AND c.key = f.key))
        """;

    public static async ValueTask<AuditCounts> CountAsync(NpgsqlConnection connection, IAuditEngine engine, CancellationToken stop)
    {
        AuditCounts counts = await ReadAsync(connection, stop);
        return counts with { DeadLetters = await engine.CountDeadLettersAsync(stop) };
    }

    private static async ValueTask<AuditCounts> ReadAsync(NpgsqlConnection connection, CancellationToken stop)
    {
        await using NpgsqlCommand command = new(Count, connection);
        await using NpgsqlDataReader reader = await command.ExecuteReaderAsync(stop);
        await reader.ReadAsync(stop);
        return new AuditCounts
        {
            Published = reader.GetInt64(0),
            Applied = reader.GetInt64(1),
            DeliveredAgain = reader.GetInt64(2),
            Lost = reader.GetInt64(3),
            AppliedTwice = reader.GetInt64(4),
            OutOfOrder = reader.GetInt64(5),
            Unknown = reader.GetInt64(6),
        };
    }
}
