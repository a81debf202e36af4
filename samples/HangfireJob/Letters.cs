using System.Collections.Concurrent;
using Npgsql;

/// <summary>Stands for what the application has anyway: rows of a table, each of which stands for a letter that has to be sent, over a connection that fails at times.</summary>
public sealed class Letters(NpgsqlDataSource database)
{
    private readonly ConcurrentDictionary<long, bool> _tried = new();

    /// <summary>Makes the rows 1 to <paramref name="count"/>.</summary>
    public async Task CreateAsync(int count)
    {
        await ExecuteAsync("CREATE TABLE letters (id bigint PRIMARY KEY, times_sent int NOT NULL DEFAULT 0)");
        await ExecuteAsync($"INSERT INTO letters SELECT generate_series(1, {count})");
    }

    /// <summary>Sends a letter. The first attempt fails for each hundredth.</summary>
    public async ValueTask SendAsync(long id, CancellationToken token)
    {
        await Task.Delay(4, token);
        if (id % 100 == 0 && _tried.TryAdd(id, true))
        {
            throw new TimeoutException("The mail server did not answer in time.");
        }

        await using NpgsqlCommand command = database.CreateCommand("UPDATE letters SET times_sent = times_sent + 1 WHERE id = $1");
        command.Parameters.Add(new NpgsqlParameter<long> { TypedValue = id });
        await command.ExecuteNonQueryAsync(token);
    }

    /// <summary>Those that are not sent.</summary>
    public async Task<List<long>> OpenAsync(long first, long last, CancellationToken token)
    {
        await using NpgsqlCommand command = database.CreateCommand("SELECT id FROM letters WHERE id BETWEEN $1 AND $2 AND times_sent = 0 ORDER BY id");
        command.Parameters.Add(new NpgsqlParameter<long> { TypedValue = first });
        command.Parameters.Add(new NpgsqlParameter<long> { TypedValue = last });
        await using NpgsqlDataReader reader = await command.ExecuteReaderAsync(token);
        List<long> ids = [];
        while (await reader.ReadAsync(token))
        {
            ids.Add(reader.GetInt64(0));
        }

        return ids;
    }

    private async Task ExecuteAsync(string sql)
    {
        await using NpgsqlCommand command = database.CreateCommand(sql);
        await command.ExecuteNonQueryAsync();
    }
}
