using Npgsql;
using Weir.PostgreSql.Tests.Servers;

[assembly: AssemblyFixture(typeof(PostgresServer))]

namespace Weir.PostgreSql.Tests.Servers;

/// <summary>
/// The server of all tests: that of WEIR_POSTGRES, or the one that all test projects share. Where none is to be had, the tests are skipped and say why.
/// </summary>
public sealed class PostgresServer : IAsyncLifetime
{
    private readonly SharedServers _servers = new();
    private readonly List<string> _schemas = [];
    private NpgsqlDataSource? _source;
    private string _reason = "";
    private int _count;

    /// <summary>Connections to the server.</summary>
    public NpgsqlDataSource Source
    {
        get
        {
            Assert.SkipWhen(_source is null, _reason);
            return _source!;
        }
    }

    /// <summary>The same with the password.</summary>
    public string ConnectionString { get; private set; } = "";

    public async ValueTask InitializeAsync()
    {
        (string? connection, _reason) = await _servers.AddressAsync(SharedServers.Postgres);
        if (connection is null)
        {
            return;
        }

        NpgsqlDataSource source = NpgsqlDataSource.Create(new NpgsqlConnectionStringBuilder(connection) { IncludeErrorDetail = true, MaxPoolSize = 60 });
        try
        {
            await using NpgsqlConnection first = await source.OpenConnectionAsync();
            _source = source;
            ConnectionString = connection;
        }
        catch (NpgsqlException e)
        {
            _reason = $"PostgreSQL does not answer: {e.Message}";
            await source.DisposeAsync();
        }
    }

    /// <summary>The name of a schema that no other test has. It goes at the end.</summary>
    public string NewSchema()
    {
        lock (_schemas)
        {
            string schema = $"test {Environment.ProcessId} \"{++_count}\"";
            _schemas.Add(schema);
            return schema;
        }
    }

    public async ValueTask DisposeAsync()
    {
        await using SharedServers left = _servers;
        if (_source is null)
        {
            return;
        }

        foreach (string schema in _schemas)
        {
            await _source.ExecuteAsync($"DROP SCHEMA IF EXISTS {SqlName.Quote(schema)} CASCADE");
        }

        await _source.DisposeAsync();
    }
}

/// <summary>Statements of tests.</summary>
internal static class Statements
{
    public static async Task<int> ExecuteAsync(this NpgsqlDataSource source, string statements)
    {
        await using NpgsqlCommand command = source.CreateCommand(statements);
        return await command.ExecuteNonQueryAsync(CancellationToken.None);
    }

    public static async Task<T> ScalarAsync<T>(this NpgsqlDataSource source, string statement)
    {
        await using NpgsqlCommand command = source.CreateCommand(statement);
        return (T)(await command.ExecuteScalarAsync(CancellationToken.None))!;
    }
}
