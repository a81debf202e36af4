using Npgsql;
using Weir.Lab.Queues.Arms;

namespace Weir.Lab.Queues.Tests;

/// <summary>
/// A database or a queue of its own on a real server, whose address is in WEIR_POSTGRES or WEIR_RABBITMQ: <c>eng/services up</c>. It is deleted at the end.
/// </summary>
internal sealed class ServerUnderTest : IAsyncDisposable
{
    private readonly string _arm;
    private readonly string _server;
    private readonly string _unique;

    private ServerUnderTest(string arm, string server, string unique, QueueAddress address)
    {
        _arm = arm;
        _server = server;
        _unique = unique;
        Address = address;
    }

    /// <summary>Where it is.</summary>
    public QueueAddress Address { get; }

    /// <summary>Makes it, or skips the test if there is no server.</summary>
    /// <param name="arm">The name of the arm that uses it.</param>
    /// <param name="change">Changes its settings.</param>
    public static async Task<ServerUnderTest> StartAsync(string arm, Func<QueueAddress, QueueAddress>? change = null)
    {
        bool isPostgres = arm.StartsWith("postgres/", StringComparison.Ordinal);
        string server = Environment.GetEnvironmentVariable(isPostgres ? "WEIR_POSTGRES" : "WEIR_RABBITMQ") ?? "";
        Assert.SkipWhen(server.Length == 0, "There is no server: eng/services up.");
        string unique = $"weir_arms_{Guid.NewGuid():N}";
        if (isPostgres)
        {
            await ExecuteAsync(server, $"CREATE DATABASE {unique} TEMPLATE template0");
        }

        QueueAddress address = isPostgres
            ? new QueueAddress(new NpgsqlConnectionStringBuilder(server) { Database = unique }.ToString(), "items")
            : new QueueAddress(server, unique);
        return new ServerUnderTest(arm, server, unique, change?.Invoke(address) ?? address);
    }

    public async ValueTask DisposeAsync()
    {
        if (!Address.IsBroker)
        {
            NpgsqlConnection.ClearAllPools();
            await ExecuteAsync(_server, $"DROP DATABASE {_unique} WITH (FORCE)");
            return;
        }

        await using IQueueArm arm = QueueArms.Create(_arm, Address);
        await arm.DeleteAsync();
    }

    private static async Task ExecuteAsync(string server, string statement)
    {
        await using NpgsqlDataSource source = NpgsqlDataSource.Create(server);
        await using NpgsqlCommand command = source.CreateCommand(statement);
        await command.ExecuteNonQueryAsync();
    }
}
