using System.Text.RegularExpressions;
using Npgsql;
using Weir.TestKit;

namespace Weir.Cli.Tests.Support;

/// <summary>A database of its own on the real server, for tests of changes: a slot belongs to one, and sees what others do in it.</summary>
internal sealed partial class TestDatabase : IAsyncDisposable
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

    /// <summary>Creates one, or skips the test where there is no server.</summary>
    public static async Task<TestDatabase> CreateAsync()
    {
        string? server = Server();
        Assert.SkipWhen(server is null, "There is no PostgreSQL: 'eng/services up postgres' starts one.");
        TestDatabase database = new(server!, $"weir_cli_{Guid.NewGuid():N}");
        await ExecuteAsync(database._server, $"CREATE DATABASE {database.Name} TEMPLATE template0");
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

    /// <summary>The server that the environment or the script names; null if there is none that answers.</summary>
    public static string? Server()
    {
        if (Environment.GetEnvironmentVariable("WEIR_POSTGRES") is { Length: > 0 } given)
        {
            return given;
        }

        string folder = Environment.GetEnvironmentVariable("WEIR_SERVICES") ?? Path.Combine(Repository.Root, "artifacts", "services");
        string file = Path.Combine(folder, "env");
        string? address = File.Exists(file) && Line().Match(File.ReadAllText(file)) is { Success: true } match ? match.Groups[1].Value : null;
        return address is not null && Answers(address) ? address : null;
    }

    // A server that was stopped leaves its file.
    private static bool Answers(string address)
    {
        try
        {
            using NpgsqlConnection connection = new(address);
            connection.Open();
            return true;
        }
        catch (NpgsqlException)
        {
            return false;
        }
    }

    [GeneratedRegex("^WEIR_POSTGRES='([^']*)'$", RegexOptions.Multiline)]
    private static partial Regex Line();
}
