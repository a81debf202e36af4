using Npgsql;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Changes;

/// <summary>A publication of all tables has those of Weir too. Their changes are none: a stream that took them would feed itself.</summary>
public sealed class OwnTablesTests(PostgresServer server) : ChangeTest(server)
{
    private readonly List<string> _notices = [];

    [Fact(Timeout = Limit)]
    public async Task Has_AllTablesThatSetupMakes_AndNoOthers()
    {
        await SetupAllAsync();
        await ExecuteAsync($"CREATE TABLE {Name("queue_of_people")} (id int PRIMARY KEY, name text); CREATE TABLE public.checkpoints (id int PRIMARY KEY)");
        List<string> others = [];
        int own = 0;
        await using NpgsqlCommand query = Source.CreateCommand(
            """
            SELECT c.relname, ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0)
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1
            """);
        await using NpgsqlDataReader tables = await query.ExecuteReaderAsync(TestContext.Current.CancellationToken);
        while (await tables.ReadAsync(TestContext.Current.CancellationToken))
        {
            if (OwnTables.Has(tables.GetString(0), tables.GetFieldValue<string[]>(1)))
            {
                own++;
            }
            else
            {
                others.Add(tables.GetString(0));
            }
        }

        Assert.Equal(["checkpoints", "queue_of_people", "rows"], others);
        Assert.Equal(11, own);
    }

    [Theory(Timeout = Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Read_PublicationOfAllTables_HasTheUsersChangesOnly(bool snapshot)
    {
        await using PostgresWorkQueue<string> queue = await SetupAllAsync();
        await ExecuteAsync($"DROP PUBLICATION {Publication}; CREATE PUBLICATION {Publication} FOR ALL TABLES");
        if (snapshot)
        {
            await ExecuteAsync($"INSERT INTO {Table} VALUES (0, 's')");
        }

        await using PostgresChangeSource stream = await NewStreamAsync(
            Quiet with { InitialSnapshot = snapshot, MaxChangesPerBatch = 1, HeartbeatInterval = TimeSpan.FromMilliseconds(10), OnNotice = _notices.Add });
        await using (IWorkSource<PostgresChange> source = await stream.OpenSourceAsync())
        {
            List<string> all = snapshot ? [.. (await TakeAsync(source, 1)).Select(Text)] : [];

            // A transaction that has changes of both, as one that enqueues has, and each acknowledgement is a change of Weir's.
            for (int i = 1; i <= 20; i++)
            {
                await using NpgsqlConnection connection = await Source.OpenConnectionAsync(TestContext.Current.CancellationToken);
                await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync(TestContext.Current.CancellationToken);
                await queue.EnqueueAsync(transaction, [WorkItem.Create("a")], cancellationToken: TestContext.Current.CancellationToken);
                await using var insert = new NpgsqlCommand($"INSERT INTO {Table} VALUES ({i}, 'x')", connection);
                await insert.ExecuteNonQueryAsync(TestContext.Current.CancellationToken);
                await queue.EnqueueAsync(transaction, [WorkItem.Create("b")], cancellationToken: TestContext.Current.CancellationToken);
                await transaction.CommitAsync(TestContext.Current.CancellationToken);
                PostgresChange change = (await TakeAsync(source, 1)).Single();
                Assert.True(change.IsLast);
                all.Add(Text(change));
            }

            Assert.Equal([.. snapshot ? ["+0=s"] : Array.Empty<string>(), .. Enumerable.Range(1, 20).Select(static i => $"+{i}=x")], all);
        }

        string notice = Assert.Single(_notices);
        Assert.Contains("checkpoints", notice, StringComparison.Ordinal);
        Assert.DoesNotContain("rows", notice, StringComparison.Ordinal);
        Assert.Contains("left out", notice, StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit)]
    public async Task Open_PublicationOfOneTable_SaysNothing()
    {
        await using PostgresChangeSource stream = await NewStreamAsync(Quiet with { OnNotice = _notices.Add });
        await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
        Assert.Empty(_notices);
    }

    private async Task<PostgresWorkQueue<string>> SetupAllAsync()
    {
        var queue = new PostgresWorkQueue<string>(Source, "mails", WorkSerializer.Text, new PostgresWorkQueueOptions { Schema = Schema });
        await queue.SetupAsync();
        await using var keyed = new PostgresWorkQueue<string>(
            Source, "in order", WorkSerializer.Text, new PostgresWorkQueueOptions { Schema = Schema, KeepKeyOrder = true });
        await keyed.SetupAsync();
        await new PostgresInbox(Source, "mails", new PostgresInboxOptions { Schema = Schema }).SetupAsync();
        await new PostgresRunCheckpoint(Source, "import", Schema).SetupAsync();
        return queue;
    }
}
