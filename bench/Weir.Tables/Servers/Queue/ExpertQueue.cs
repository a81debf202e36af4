namespace Weir.Tables.Servers.Queue;

/// <summary>
/// A queue in a table as an expert writes it who needs no more: one prepared insert for many rows, and one transaction in which rows that nobody has locked are
/// deleted, handled and committed. It has no identities, keys, retries or dead letters; a crash in the middle gives the rows back at once.
/// </summary>
internal sealed class ExpertQueue(NpgsqlDataSource source)
{
    /// <summary>The statement that creates it.</summary>
    public const string Table = """
        CREATE TABLE expert (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text NOT NULL)
        WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0)
        """;

    private const string Insert = "INSERT INTO expert (payload) SELECT unnest($1)";

    private const string Take = """
        DELETE FROM expert WHERE id = ANY (ARRAY (SELECT id FROM expert ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING payload
        """;

    /// <summary>Enqueues batches, one after the other.</summary>
    public async Task EnqueueAsync(IEnumerable<string[]> batches, CancellationToken stop)
    {
        await using NpgsqlConnection connection = await source.OpenConnectionAsync(stop);
        await using NpgsqlCommand command = new(Insert, connection);
        NpgsqlParameter<string[]> payloads = new() { TypedValue = [] };
        command.Parameters.Add(payloads);
        await command.PrepareAsync(stop);
        foreach (string[] batch in batches)
        {
            payloads.TypedValue = batch;
            await command.ExecuteNonQueryAsync(stop);
        }
    }

    /// <summary>Handles items until there were so many.</summary>
    public async Task HandleAsync(long items, int most, Action<string> handle, CancellationToken stop)
    {
        await using NpgsqlConnection connection = await source.OpenConnectionAsync(stop);
        await using NpgsqlCommand command = new(Take, connection);
        command.Parameters.Add(new NpgsqlParameter<long> { TypedValue = most });
        await command.PrepareAsync(stop);
        for (long done = 0; done < items;)
        {
            await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync(stop);
            await using (NpgsqlDataReader reader = await command.ExecuteReaderAsync(stop))
            {
                for (; await reader.ReadAsync(stop); done++)
                {
                    handle(reader.GetString(0));
                }
            }

            await transaction.CommitAsync(stop);
        }
    }
}
