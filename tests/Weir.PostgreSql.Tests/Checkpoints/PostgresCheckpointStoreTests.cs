using Npgsql;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Checkpoints;

/// <summary>Positions of streams, alone and together with effects.</summary>
public sealed class PostgresCheckpointStoreTests(PostgresServer server)
{
    private const int Limit = 120_000;

    [Fact(Timeout = Limit)]
    public async Task Save_Position_IsLoadedByTheNextProcess()
    {
        string schema = server.NewSchema();
        var store = new PostgresCheckpointStore(server.Source, schema);
        await Assert.ThrowsAsync<WorkSetupException>(async () => await store.LoadAsync("orders"));
        await store.SetupAsync();
        Assert.Null(await store.LoadAsync("orders"));
        await store.SaveAsync("orders", "0/16B3748");
        await store.SaveAsync("orders", "0/16B3750");
        await store.SaveAsync("mails", "7");
        Assert.Equal("0/16B3750", await new PostgresCheckpointStore(server.Source, schema).LoadAsync("orders"));
    }

    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Save_InATransaction_SharesItsEnd(bool commit)
    {
        var store = new PostgresCheckpointStore(server.Source, server.NewSchema());
        await store.SetupAsync();
        await store.SaveAsync("orders", "1");
        await using NpgsqlConnection connection = await server.Source.OpenConnectionAsync();
        await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync();
        Assert.Equal("1", await store.LoadAsync(transaction, "orders"));
        await store.SaveAsync(transaction, "orders", "2");
        await (commit ? transaction.CommitAsync() : transaction.RollbackAsync());
        Assert.Equal(commit ? "2" : "1", await store.LoadAsync("orders"));
    }
}
