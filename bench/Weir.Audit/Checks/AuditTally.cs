namespace Weir.Audit.Checks;

/// <summary>
/// Counts what the tables of a scenario say, and reads only the rows that were not there the last time. What it finds wrong, it reads all of again, so that no
/// promise is said to be broken because of the order in which rows appeared. Not thread-safe.
/// </summary>
internal sealed class AuditTally(IAuditEngine engine)
{
    // A row is new if its transaction had not committed when the snapshot before was taken, whichever number it has.
    private const string IsNew = "WHERE written >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(written, $1::pg_snapshot)";

    private AuditJudge _judge = new();
    private string? _seen;
    private long _last;

    /// <summary>Counts everything, as it is at one moment.</summary>
    /// <param name="connection">A connection without a transaction.</param>
    /// <param name="reread">Whether to read again what was counted before: it may have gone since.</param>
    /// <param name="stop">Ends the wait.</param>
    public async ValueTask<AuditCounts> CountAsync(NpgsqlConnection connection, bool reread, CancellationToken stop)
    {
        AuditCounts counts;
        if (reread || _seen is null)
        {
            counts = await ReadAsync(connection, stop);
        }
        else
        {
            bool isLate;
            (counts, isLate) = await AddAsync(connection, stop);
            if (isLate || (counts with { Asked = counts.Published }).FindBroken().Any())
            {
                counts = await ReadAsync(connection, stop);
            }
        }

        return counts with { DeadLetters = await engine.CountDeadLettersAsync(stop) };
    }

    private async ValueTask<AuditCounts> ReadAsync(NpgsqlConnection connection, CancellationToken stop)
    {
        (_judge, _seen, _last) = (new AuditJudge(), null, 0);
        (AuditCounts counts, _) = await AddAsync(connection, stop);
        return counts;
    }

    /// <returns>The counts, and whether an effect with a key appeared after one of a higher number, which the judge has seen already.</returns>
    private async ValueTask<(AuditCounts Counts, bool IsLate)> AddAsync(NpgsqlConnection connection, CancellationToken stop)
    {
        // Until all is read, nothing is: a read that breaks off has told the judge a part.
        (AuditJudge judge, string? seen, _seen) = (_judge, _seen, null);
        bool isLate = false;
        await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync(System.Data.IsolationLevel.RepeatableRead, stop);
        string snapshot = await AuditTables.ScalarAsync<string>(connection, "SELECT pg_current_snapshot()::text", stop);
        await ReadAsync(connection, "SELECT number, key FROM changes", seen, r => judge.Publish(r.GetInt64(0), r.GetString(1)), stop);
        await ReadAsync(
            connection,
            "SELECT number, key, sequence FROM effects",
            seen,
            r =>
            {
                (string key, long sequence) = (r.GetString(1), r.GetInt64(2));
                isLate |= sequence < _last && key.Length > 0;
                _last = Math.Max(_last, sequence);
                judge.Apply(r.GetInt64(0), key);
            },
            stop,
            "ORDER BY sequence");
        long repeats = await AuditTables.ScalarAsync<long>(connection, "SELECT count(*) FROM repeats", stop);
        _seen = snapshot;
        return (judge.Counts with { DeliveredAgain = repeats }, isLate);
    }

    private static async ValueTask ReadAsync(
        NpgsqlConnection connection, string query, string? seen, Action<NpgsqlDataReader> add, CancellationToken stop, string order = "")
    {
        await using NpgsqlCommand command = new($"{query} {(seen is null ? "" : IsNew)} {order}", connection);
        if (seen is not null)
        {
            command.Parameters.Add(AuditTables.Parameter(seen));
        }

        await using NpgsqlDataReader reader = await command.ExecuteReaderAsync(stop);
        while (await reader.ReadAsync(stop))
        {
            add(reader);
        }
    }
}
