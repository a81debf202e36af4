using Npgsql;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>Setting up, and what must match.</summary>
public sealed class SetupTests(PostgresServer server) : QueueTest(server)
{
    [Fact(Timeout = Limit)]
    public async Task Setup_OfAll_CanBeRepeatedAndRunAtOnce()
    {
        await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Queue().SetupAsync()));
        await new PostgresWorkQueue<string>(Source, "another'; DROP TABLE \"x", WorkSerializer.Text, Options).SetupAsync();
        await new PostgresCheckpointStore(Source, Schema).SetupAsync();
        await new PostgresCheckpointStore(Source, Schema).SetupAsync();
        Assert.Equal(3, await ScalarAsync<long>($"SELECT count(*) FROM {SqlName.Quote(Schema)}.parts"));
    }

    [Fact(Timeout = Limit)]
    public async Task Open_NotSetUpOrOtherwise_SaysWhatToDo()
    {
        await using PostgresWorkQueue<string> queue = Queue();
        WorkSetupException missing = await Assert.ThrowsAsync<WorkSetupException>(async () => await queue.OpenSourceAsync());
        Assert.Contains("SetupAsync", missing.Message, StringComparison.Ordinal);
        await Assert.ThrowsAsync<WorkSetupException>(async () => await queue.EnqueueAsync(Values(1)));
        await queue.SetupAsync();
        PostgresWorkQueue<string> keyed = Queue(static o => o with { KeepKeyOrder = true });
        Assert.Contains("key order", (await Assert.ThrowsAsync<WorkSetupException>(() => keyed.SetupAsync())).Message, StringComparison.Ordinal);
        await ExecuteAsync($"UPDATE {SqlName.Quote(Schema)}.parts SET version = 9");
        Assert.Contains("version 9", (await Assert.ThrowsAsync<WorkSetupException>(async () => await queue.OpenSinkAsync())).Message, StringComparison.Ordinal);
        var other = new PostgresWorkQueue<string>(Source, "other", WorkSerializer.Text, Options);
        Assert.Contains("'other'", (await Assert.ThrowsAsync<WorkSetupException>(async () => await other.OpenSinkAsync())).Message, StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit)]
    public async Task User_WithTheRightsOfThePage_CanDoEverythingButSetUp()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await new PostgresCheckpointStore(Source, Schema).SetupAsync();
        string user = SqlName.Quote($"least {Guid.NewGuid():N}");
        string schema = SqlName.Quote(Schema);
        await ExecuteAsync($"CREATE ROLE {user} LOGIN PASSWORD 'least'");
        try
        {
            await using NpgsqlDataSource least = NpgsqlDataSource.Create(
                new NpgsqlConnectionStringBuilder(Server.ConnectionString) { Username = user.Trim('"'), Password = "least" });
            var own = new PostgresWorkQueue<string>(least, "work", WorkSerializer.Text, Options);
            Assert.Contains("right", (await Assert.ThrowsAsync<WorkSetupException>(async () => await own.OpenSinkAsync())).Message, StringComparison.Ordinal);
            await ExecuteAsync($"GRANT USAGE ON SCHEMA {schema} TO {user}");
            await ExecuteAsync($"GRANT SELECT ON {schema}.parts TO {user}");
            await ExecuteAsync(
                $"""
                GRANT SELECT, INSERT, UPDATE, DELETE
                ON {Items}, {Packs}, {Consumers}, {schema}.published, {schema}.dead_letters, {schema}.checkpoints TO {user}
                """);
            await own.SetupAsync();
            await own.EnqueueAsync(Values(20));
            await using IWorkSource<string> source = await own.OpenSourceAsync();
            WorkBatch<string> batch = await NextAsync(source);
            await source.Redelivery!.RedeliverAsync(batch, [batch.Items[0]], TimeSpan.Zero, CancellationToken.None);
            await source.AcknowledgeAsync([batch], CancellationToken.None);
            await source.ReturnAsync([await NextAsync(source)], CancellationToken.None);
            await own.EnqueueAsync([.. Values(30).Skip(20)]);
            Assert.Equal(1, await own.QueuedItems!.CancelAsync([new WorkId("values", 25)]));
            await own.DeadLetters.AddAsync(
                [new DeadLetter { Id = "a/1", Source = "a", Reason = DeadLetterReason.Failed, Time = DateTimeOffset.UnixEpoch, Payload = new byte[1] }]);
            Assert.Equal(1, await own.DeadLetters.ReplayAsync(["a/1"]));
            var checkpoints = new PostgresCheckpointStore(least, Schema);
            await checkpoints.SetupAsync();
            await checkpoints.SaveAsync("s", "1");
        }
        finally
        {
            await ExecuteAsync($"DROP OWNED BY {user}; DROP ROLE {user}");
        }
    }
}
