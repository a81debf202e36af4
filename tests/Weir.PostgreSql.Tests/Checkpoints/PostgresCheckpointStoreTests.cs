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

    [Fact(Timeout = Limit)]
    public async Task TwoRunsAtOnce_AreRefused_AndOneWhoseLockIsLostStops()
    {
        string schema = server.NewSchema();
        var store = new PostgresCheckpointStore(server.Source, schema);
        await store.SetupAsync();
        using Gate gate = new();
        using Gate started = new();
        Task first = RunAsync(store, async () =>
        {
            started.Open();
            await gate.WaitAsync();
        });
        await started.WaitAsync();
        var second = new PostgresCheckpointStore(server.Source, schema);
        IOException e = await Assert.ThrowsAsync<IOException>(() => RunAsync(second, static () => Task.CompletedTask));
        Assert.StartsWith("The checkpoint import is in use by another run, of this process or another: wait", e.Message, StringComparison.Ordinal);
        await Assert.ThrowsAsync<IOException>(() => RunAsync(store, static () => Task.CompletedTask));
        await using (NpgsqlCommand kill = server.Source.CreateCommand(
            $"""
            SELECT count(pg_terminate_backend(l.pid, 60000)) FROM pg_locks l
            WHERE locktype = 'advisory' AND (classid::bigint << 32) + objid::bigint = hashtextextended({SqlName.Literal($"weir checkpoint {schema}.import")}, 0)
            """))
        {
            Assert.Equal(1L, await kill.ExecuteScalarAsync(TestContext.Current.CancellationToken));
        }

        // The second one begins while the first one goes on, which then saves nothing.
        await RunAsync(second, static () => Task.CompletedTask);
        string saved = (await store.LoadAsync("import"))!;
        gate.Open();
        IOException lost = await Assert.ThrowsAsync<IOException>(() => first);
        Assert.StartsWith("The checkpoint import could not be saved, so the run has stopped", lost.Message, StringComparison.Ordinal);
        Assert.Equal(saved, await store.LoadAsync("import"));

        static Task RunAsync(PostgresCheckpointStore store, Func<Task> call) => Enumerable.Range(0, 1).ForEachParallelAsync(
            async (_, _) => await call(), new ParallelRunOptions { Resume = store.AsCheckpoint("import") });
    }
}
