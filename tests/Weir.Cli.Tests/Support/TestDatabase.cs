using Npgsql;

namespace Weir.Cli.Tests.Support;

/// <summary>A database of its own on the real server, for tests of changes: a slot belongs to one, and sees what others do in it.</summary>
public sealed class TestDatabase : IAsyncDisposable
{
    private readonly NpgsqlDataSource _server;
    private readonly NpgsqlDataSource _own;

    private TestDatabase(string server, string name)
    {
        Name = name;
        Address = new NpgsqlConnectionStringBuilder(server) { Database = name }.ToString();
        _server = NpgsqlDataSource.Create(server);
        _own = NpgsqlDataSource.Create(Address);
    }

    /// <summary>Its name, which is that of no other slot either.</summary>
    public string Name { get; }

    /// <summary>How to connect to it.</summary>
    public string Address { get; }

    /// <summary>Creates one.</summary>
    /// <param name="server">How to connect to the server.</param>
    /// <param name="options">Options of CREATE DATABASE.</param>
    public static async Task<TestDatabase> CreateAsync(string server, string options)
    {
        TestDatabase database = new(server, $"weir_cli_{Guid.NewGuid():N}");
        await ExecuteAsync(database._server, $"CREATE DATABASE {database.Name} TEMPLATE template0 {options}");
        return database;
    }

    public Task ExecuteAsync(string statements) => ExecuteAsync(_own, statements);

    public async Task<T> ScalarAsync<T>(string query)
    {
        await using NpgsqlCommand command = _own.CreateCommand(query);
        return (T)(await command.ExecuteScalarAsync(CancellationToken.None))!;
    }

    public async ValueTask DisposeAsync()
    {
        await ExecuteAsync(
            _server,
            $"SELECT pg_terminate_backend(active_pid, 60000) FROM pg_replication_slots WHERE database = '{Name}' AND active_pid IS NOT NULL");
        await ExecuteAsync(_server, $"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = '{Name}'");
        await _own.DisposeAsync();
        await ExecuteAsync(_server, $"DROP DATABASE {Name} WITH (FORCE)");
        await _server.DisposeAsync();
    }

    private static async Task ExecuteAsync(NpgsqlDataSource source, string statements)
    {
        await using NpgsqlCommand command = source.CreateCommand(statements);
        await command.ExecuteNonQueryAsync(CancellationToken.None);
    }
}
