namespace Weir.Tables.Servers.Turns;

/// <summary>A database that is created for a measurement and dropped afterwards, with its slots.</summary>
internal sealed class FigureDatabase : IAsyncDisposable
{
    private readonly NpgsqlDataSource _server;
    private int _slots;

    private FigureDatabase(NpgsqlConnectionStringBuilder server)
    {
        Name = $"weir_figures_{Guid.NewGuid():N}";
        _server = NpgsqlDataSource.Create(server);
        Connection = new NpgsqlConnectionStringBuilder(server.ToString()) { Database = Name, CommandTimeout = 300 }.ToString();
        Source = NpgsqlDataSource.Create(Connection);
    }

    public string Name { get; }

    /// <summary>How to connect to it.</summary>
    public string Connection { get; }

    /// <summary>Connections to it.</summary>
    public NpgsqlDataSource Source { get; }

    public static async Task<FigureDatabase> CreateAsync(NpgsqlConnectionStringBuilder server, CancellationToken stop)
    {
        FigureDatabase database = new(server);
        await ExecuteAsync(database._server, $"CREATE DATABASE {database.Name} TEMPLATE template0", stop);
        return database;
    }

    public Task ExecuteAsync(string statement, CancellationToken stop) => ExecuteAsync(Source, statement, stop);

    public async Task<T> ScalarAsync<T>(string query, CancellationToken stop)
    {
        await using NpgsqlCommand command = Source.CreateCommand(query);
        return (T)(await command.ExecuteScalarAsync(stop))!;
    }

    /// <summary>Creates slots, all of which get the same log from now on.</summary>
    public async Task<Queue<string>> CreateSlotsAsync(int count, CancellationToken stop)
    {
        Queue<string> slots = new();
        for (int i = 0; i < count; i++)
        {
            string slot = $"{Name}_{++_slots}";
            slots.Enqueue(slot);
            await ExecuteAsync($"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')", stop);
        }

        return slots;
    }

    public Task DropSlotAsync(string slot, CancellationToken stop) => ExecuteAsync(
        $"SELECT pg_terminate_backend(active_pid, 60000) FROM pg_replication_slots WHERE slot_name = '{slot}' AND active_pid IS NOT NULL; "
            + $"SELECT pg_drop_replication_slot('{slot}')",
        stop);

    public async ValueTask DisposeAsync()
    {
        await ExecuteAsync(
            _server,
            $"SELECT pg_terminate_backend(active_pid, 60000) FROM pg_replication_slots WHERE database = '{Name}' AND active_pid IS NOT NULL",
            CancellationToken.None);
        await ExecuteAsync(_server, $"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = '{Name}'", CancellationToken.None);
        await Source.DisposeAsync();
        await ExecuteAsync(_server, $"DROP DATABASE {Name} WITH (FORCE)", CancellationToken.None);
        await _server.DisposeAsync();
    }

    private static async Task ExecuteAsync(NpgsqlDataSource source, string statement, CancellationToken stop)
    {
        await using NpgsqlCommand command = source.CreateCommand(statement);
        await command.ExecuteNonQueryAsync(stop);
    }
}
