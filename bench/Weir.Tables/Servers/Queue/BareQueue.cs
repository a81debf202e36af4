using NpgsqlTypes;

namespace Weir.Tables.Servers.Queue;

/// <summary>
/// A queue in a table as one would write it by hand, with the same statements: many rows in one insert, a take that skips what is locked, a delete.
/// </summary>
internal sealed class BareQueue(NpgsqlDataSource source)
{
    private const string Insert =
        "WITH added AS (INSERT INTO bare (origin, place, payload) SELECT * FROM unnest($1, $2, $3)) SELECT pg_notify('bare', '')";

    private const string Take = """
        WITH picked AS MATERIALIZED (
            SELECT c.id FROM bare c WHERE c.consumer IS NULL AND c.due <= now() ORDER BY c.due, c.id LIMIT $1 FOR UPDATE OF c SKIP LOCKED)
        UPDATE bare t SET consumer = 1, delivery = t.delivery + 1 FROM picked WHERE t.id = picked.id RETURNING t.id, t.origin, t.place, t.payload
        """;

    private const string Delete = "DELETE FROM bare t USING unnest($1) AS d(id) WHERE t.id = d.id";

    /// <summary>The statements that create it.</summary>
    public const string Table = """
        CREATE TABLE bare (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, due timestamptz NOT NULL DEFAULT now(), consumer bigint,
            delivery integer NOT NULL DEFAULT 0, origin text NOT NULL, place integer NOT NULL, payload bytea NOT NULL)
        WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
        CREATE INDEX ON bare (due, id) WHERE consumer IS NULL;
        CREATE INDEX ON bare (consumer) WHERE consumer IS NOT NULL
        """;

    /// <summary>Enqueues rows, on a connection of their own or on the given one.</summary>
    public async ValueTask EnqueueAsync(string origin, IReadOnlyList<byte[]> payloads, CancellationToken stop, NpgsqlConnection? connection = null)
    {
        await using NpgsqlCommand command = connection is null ? source.CreateCommand(Insert) : new NpgsqlCommand(Insert, connection);
        command.Parameters.Add(new NpgsqlParameter<string[]> { TypedValue = [.. payloads.Select(_ => origin)] });
        command.Parameters.Add(new NpgsqlParameter<int[]> { TypedValue = [.. Enumerable.Range(0, payloads.Count)] });
        command.Parameters.Add(new NpgsqlParameter<byte[][]> { TypedValue = [.. payloads] });
        await command.ExecuteNonQueryAsync(stop);
    }

    /// <summary>Takes rows.</summary>
    public async ValueTask<List<(long Id, byte[] Payload)>> TakeAsync(int most, CancellationToken stop)
    {
        await using NpgsqlCommand command = source.CreateCommand(Take);
        command.Parameters.Add(new NpgsqlParameter { Value = (long)most, NpgsqlDbType = NpgsqlDbType.Bigint });
        await using NpgsqlDataReader reader = await command.ExecuteReaderAsync(stop);
        List<(long, byte[])> rows = [];
        while (await reader.ReadAsync(stop))
        {
            rows.Add((reader.GetInt64(0), reader.GetFieldValue<byte[]>(3)));
        }

        return rows;
    }

    /// <summary>Deletes what is done.</summary>
    public async ValueTask DeleteAsync(IReadOnlyList<(long Id, byte[] Payload)> rows, CancellationToken stop)
    {
        await using NpgsqlCommand command = source.CreateCommand(Delete);
        command.Parameters.Add(new NpgsqlParameter<long[]> { TypedValue = [.. rows.Select(static r => r.Id)] });
        await command.ExecuteNonQueryAsync(stop);
    }
}
