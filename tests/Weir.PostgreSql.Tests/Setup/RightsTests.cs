using System.Text.RegularExpressions;
using Npgsql;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Setup;

/// <summary>The rights that the pages list, as they stand there: a user who has them and no others can do all that the pages say.</summary>
public sealed partial class RightsTests(PostgresServer server) : IAsyncLifetime
{
    private const int Limit = 120_000;
    private const string Password = "sesame-7";

    private readonly string _name = $"rights_{Guid.NewGuid():N}";
    private NpgsqlDataSource? _owner;

    private NpgsqlDataSource Owner => _owner!;

    // A database of its own, because the pages name the schema weir.
    public async ValueTask InitializeAsync()
    {
        await server.Source.ExecuteAsync($"CREATE DATABASE {_name} TEMPLATE template0");
        _owner = NpgsqlDataSource.Create(new NpgsqlConnectionStringBuilder(server.ConnectionString) { Database = _name });
    }

    public async ValueTask DisposeAsync()
    {
        GC.SuppressFinalize(this);
        if (_owner is not null)
        {
            await Owner.ExecuteAsync($"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = '{_name}'");
            await Owner.ExecuteAsync($"DROP OWNED BY {_name}; DROP ROLE {_name}");
            await Owner.DisposeAsync();
            await server.Source.ExecuteAsync($"DROP DATABASE {_name} WITH (FORCE)");
        }
    }

    [Theory(Timeout = Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Queue_RightsOfThePage_AreEnough(bool keepsKeyOrder)
    {
        var options = new PostgresWorkQueueOptions { KeepKeyOrder = keepsKeyOrder };
        await new PostgresWorkQueue<string>(Owner, "mails", WorkSerializer.Text, options).SetupAsync();
        await new PostgresCheckpointStore(Owner).SetupAsync();
        await new PostgresInbox(Owner, "mails").SetupAsync();
        await new PostgresRunCheckpoint(Owner, "import").SetupAsync();
        await Owner.ExecuteAsync($"CREATE ROLE {_name} LOGIN PASSWORD '{Password}'");
        await Owner.ExecuteAsync(Statements("reference/postgresql.md", "worker", line => !keepsKeyOrder || !line.Contains("packs_", StringComparison.Ordinal)));
        await using NpgsqlDataSource worker = NpgsqlDataSource.Create(WorkerConnection);
        CancellationToken stop = TestContext.Current.CancellationToken;

        // At each start, as a user who may not create anything.
        await using var queue = new PostgresWorkQueue<string>(worker, "mails", WorkSerializer.Text, options);
        await queue.SetupAsync(stop);
        var checkpoints = new PostgresCheckpointStore(worker);
        await checkpoints.SetupAsync(stop);
        var inbox = new PostgresInbox(worker, "mails");
        await inbox.SetupAsync(stop);

        await queue.EnqueueAsync([.. Enumerable.Range(0, 30).Select(static i => new WorkItem<string>(new WorkId("a", i), $"{i}", $"{i}"))], cancellationToken: stop);
        await queue.NotifyAsync(stop);
        await using (IWorkSink<string> sink = await queue.OpenSinkAsync(stop))
        {
            await sink.WriteAsync([WorkItem.Create("31")], null, stop);
        }

        Assert.Equal(1, await queue.QueuedItems!.CancelAsync([new WorkId("a", 29)], stop));
        Assert.NotNull(await queue.QueuedItems.FindAsync(new WorkId("a", 28), stop));
        await using (IWorkSource<string> source = await queue.OpenSourceAsync(stop))
        {
            WorkBatch<string> batch = (await source.ReadAsync(stop))!;
            await source.Redelivery!.RedeliverAsync(batch, [batch.Items[0].Again()], TimeSpan.Zero, stop);
            if (source.ItemAcknowledgement is { } items)
            {
                await items.AcknowledgeItemsAsync([new DoneItems<string>(batch, [1])], stop);
            }

            await source.AcknowledgeAsync([batch], stop);
            await source.ReturnAsync([(await source.ReadAsync(stop))!], stop);
        }

        await queue.DeadLetters.AddAsync(
            [new DeadLetter { Id = "a/1", Source = "a", Reason = DeadLetterReason.Failed, Time = DateTimeOffset.UnixEpoch, Payload = new byte[1] }], stop);
        Assert.NotNull(await queue.DeadLetters.FindAsync("a/1", stop));
        Assert.Equal(1, await queue.DeadLetters.ReplayAsync(["a/1"], stop));
        _ = await queue.GetStatisticsAsync(stop);
        await checkpoints.SaveAsync("s", "1", stop);
        Assert.Equal("1", await checkpoints.LoadAsync("s", stop));
        Assert.True(await inbox.ProcessAsync(new WorkId("a", 0), static (_, _) => default, stop));
        _ = await inbox.ForgetAsync(stop);
        var import = new PostgresRunCheckpoint(worker, "import");
        await import.SetupAsync(stop);
        for (int run = 0; run < 2; run++)
        {
            await Enumerable.Range(0, 3).ForEachParallelAsync(
                async (i, token) => await import.ProcessAsync(i, static (_, _) => default, token), new ParallelRunOptions { Resume = import.AsCheckpoint() }, stop);
        }

        await import.DeleteAsync(stop);
    }

    [Fact(Timeout = Limit)]
    public async Task Changes_RightsOfThePage_AreEnough()
    {
        await new PostgresCheckpointStore(Owner).SetupAsync();
        await Owner.ExecuteAsync(
            """
            CREATE TABLE orders (id int PRIMARY KEY); CREATE TABLE customers (id int PRIMARY KEY); INSERT INTO orders VALUES (1);
            CREATE PUBLICATION shop FOR TABLE orders, customers
            """);
        await Owner.ExecuteAsync(Statements("changes.md", "reader", static _ => true));
        await using NpgsqlDataSource reader = NpgsqlDataSource.Create(WorkerConnection);
        CancellationToken stop = TestContext.Current.CancellationToken;
        var checkpoints = new PostgresCheckpointStore(reader);
        await checkpoints.SetupAsync(stop);
        await using var changes = new PostgresChangeSource(
            WorkerConnection, _name, "shop", checkpoints, new PostgresChangeSourceOptions { InitialSnapshot = true, OnNotice = static _ => { } });
        await changes.SetupAsync(stop);
        await using (IWorkSource<int> source = await changes.OpenSourceAsync(static change => change.New!.Get<int>("id"), stop))
        {
            for (int next = 1; next <= 2; next++)
            {
                WorkBatch<int> batch;
                do
                {
                    batch = (await source.ReadAsync(stop))!;
                    await source.AcknowledgeAsync([batch], stop);
                }
                while (batch.Items.Count == 0);

                Assert.Equal([next], batch.Items.Select(static i => i.Value));
                await Owner.ExecuteAsync($"INSERT INTO orders VALUES ({next + 1})");
            }
        }

        _ = await changes.GetStatisticsAsync(stop);
        await changes.DropAsync(stop);
    }

    private string WorkerConnection =>
        new NpgsqlConnectionStringBuilder(server.ConnectionString) { Database = _name, Username = _name, Password = Password, Pooling = false }.ToString();

    /// <summary>The statements of the page's list of rights, for the role of this test.</summary>
    private string Statements(string page, string role, Func<string, bool> applies)
    {
        string text = File.ReadAllText(Path.Combine(Repository.Root, "docs", page));
        string[] lines = Sql().Matches(text).Select(static m => m.Groups[1].Value).Single(static s => s.Contains("GRANT", StringComparison.Ordinal)).Split('\n');
        return Regex.Replace(
            string.Join('\n', lines.Where(applies)).Replace("'...'", $"'{Password}'", StringComparison.Ordinal), $@"\b{role}\b", _name);
    }

    [GeneratedRegex("```sql\n(.*?)```", RegexOptions.Singleline)]
    private static partial Regex Sql();
}
