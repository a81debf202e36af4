using System.Security.Cryptography;
using Npgsql;
using Weir.TestKit;

namespace Weir.Cli.Tests.Commands.Audit;

/// <summary>The server that lends databases to the audits of tests. Where there is none, the tests are skipped and say why.</summary>
public sealed class AuditPostgres(SharedServers servers) : IAsyncLifetime
{
    private const string Password = "sesame-open-7";

    private readonly string _user = $"weir_audit_{RandomNumberGenerator.GetHexString(12, lowercase: true)}";
    private NpgsqlConnectionStringBuilder? _admin;
    private string _reason = "";

    /// <summary>A connection string whose password is nowhere else.</summary>
    public string Connection
    {
        get
        {
            Assert.SkipWhen(_admin is null, _reason);
            return new NpgsqlConnectionStringBuilder(_admin!.ConnectionString) { Username = _user, Password = Password }.ConnectionString;
        }
    }

    /// <summary>Makes sure that a text does not have the password.</summary>
    public static void AssertNoPassword(string text) => Assert.DoesNotContain(Password, text, StringComparison.Ordinal);

    public async ValueTask InitializeAsync()
    {
        (string? connection, _reason) = await servers.AddressAsync(SharedServers.Postgres);
        if (connection is not null)
        {
            _admin = new NpgsqlConnectionStringBuilder(connection) { Pooling = false };
            await ExecuteAsync($"CREATE ROLE {_user} LOGIN CREATEDB REPLICATION PASSWORD '{Password}'");
        }
    }

    /// <summary>How many databases of audits of this user there are.</summary>
    public async Task<long> CountDatabasesAsync()
    {
        await using NpgsqlConnection connection = new(Connection);
        await connection.OpenAsync();
        await using NpgsqlCommand command = new("SELECT count(*) FROM pg_database WHERE pg_get_userbyid(datdba) = current_user", connection);
        return (long)(await command.ExecuteScalarAsync())!;
    }

    public async ValueTask DisposeAsync()
    {
        if (_admin is not null)
        {
            await ExecuteAsync($"DROP ROLE {_user}");
        }
    }

    private async Task ExecuteAsync(string statement)
    {
        await using NpgsqlConnection connection = new(_admin!.ConnectionString);
        await connection.OpenAsync();
        await using NpgsqlCommand command = new(statement, connection);
        await command.ExecuteNonQueryAsync();
    }
}
