using Npgsql;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Changes;

/// <summary>The rows that were there, and what has changed since: nothing is missing, and nothing is there twice.</summary>
public sealed class SnapshotTests(PostgresServer server) : ChangeTest(server)
{
    private static readonly PostgresChangeSourceOptions WithSnapshot = Quiet with { InitialSnapshot = true, MaxChangesPerBatch = 10 };

    [Fact(Timeout = Limit)]
    public async Task Read_OthersWriteMeanwhile_AddsUpToTheTable()
    {
        await ExecuteAsync($"INSERT INTO {Table} SELECT n, '0' FROM generate_series(1, 200) n");
        await using PostgresChangeSource stream = await NewStreamAsync(WithSnapshot);
        using var stop = new CancellationTokenSource();
        Task writing = Task.Run(async () =>
        {
            var random = new Random(3);
            while (!stop.IsCancellationRequested)
            {
                int id = random.Next(300);
                await ExecuteAsync($"INSERT INTO {Table} VALUES ({id}, '1') ON CONFLICT (id) DO UPDATE SET value = {Table}.value::int + 1");
                await ExecuteAsync($"DELETE FROM {Table} WHERE id = {random.Next(300)}");
            }
        });
        await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
        var copy = new Dictionary<int, string>();
        int snapshot = 0;
        int changes = 0;
        async Task ReadAsync()
        {
            WorkBatch<PostgresChange> batch = await NextAsync(source);
            foreach (PostgresChange change in batch.Items.Select(static i => i.Value))
            {
                Assert.True(change.Kind != PostgresChangeKind.Snapshot || changes == 0, "A row of the snapshot came after a change.");
                _ = change.Kind == PostgresChangeKind.Snapshot ? snapshot++ : changes++;
                if (change.Kind == PostgresChangeKind.Delete)
                {
                    Assert.True(copy.Remove(change.Old!.Get<int>("id")), $"{change.Id} deletes what is not there.");
                }
                else
                {
                    bool isNew = !copy.ContainsKey(change.New!.Get<int>("id"));
                    Assert.Equal(change.Kind != PostgresChangeKind.Update, isNew);
                    copy[change.New.Get<int>("id")] = change.New.Get<string>("value")!;
                }
            }

            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }

        while (changes < 100)
        {
            await ReadAsync();
        }

        await stop.CancelAsync();
        await writing.WithinAsync("the writer");
        await ExecuteAsync($"INSERT INTO {Table} VALUES (1000, 'end')");
        while (!copy.ContainsKey(1000))
        {
            await ReadAsync();
        }

        Assert.InRange(snapshot, 1, 300);
        Assert.Equal(await RowsAsync(), copy.OrderBy(static r => r.Key).Select(static r => $"{r.Key}={r.Value}"));
    }

    [Fact(Timeout = Limit)]
    public async Task Open_SnapshotWasNotFinished_BeginsAnew()
    {
        // More than fits into the buffers of the connection.
        await ExecuteAsync($"INSERT INTO {Table} SELECT n, repeat('a', 200000) FROM generate_series(1, 100) n");
        await using PostgresChangeSource stream = await NewStreamAsync(WithSnapshot with { MaxBufferedBatches = 1 });
        await using (IWorkSource<int> first = await stream.OpenSourceAsync(Id))
        {
            await first.AcknowledgeAsync([await NextAsync(first)], CancellationToken.None);
        }

        await ExecuteAsync($"INSERT INTO {Table} VALUES (101)");
        await using (IWorkSource<int> second = await stream.OpenSourceAsync(Id))
        {
            // The connection breaks: in the same process it begins anew as well.
            WorkBatch<int> old = await NextAsync(second);
            Assert.Equal(0, old.Items[0].Id.Index);
            await Guard.UntilAsync(async () => await TerminateReaderAsync() > 0, "The end of the connection that reads");
            List<int> rows = [];
            bool isNew = false;
            while (rows.Count < 101)
            {
                try
                {
                    WorkBatch<int> batch = await NextAsync(second);
                    isNew |= batch.Items[0].Id.Index == 0;
                    if (isNew)
                    {
                        rows.AddRange(batch.Items.Select(static i => i.Value));
                        await second.AcknowledgeAsync([old, batch], CancellationToken.None);
                    }
                }
                catch (NpgsqlException)
                {
                    // As it happens.
                }
            }

            Assert.Equal(Enumerable.Range(1, 101), rows);
            Assert.Equal("snapshot", await Checkpoints.LoadAsync(Slot));
            await second.AcknowledgeAsync([await NextAsync(second)], CancellationToken.None);
        }

        // Now it is complete, and is not taken again.
        await ExecuteAsync($"INSERT INTO {Table} VALUES (102)");
        await using IWorkSource<int> third = await stream.OpenSourceAsync(Id);
        Assert.Equal([102], await TakeAsync(third, 1));
    }

    [Fact(Timeout = Limit)]
    public async Task Read_SeveralTables_HasThePublishedRowsAndColumnsOfEach()
    {
        string pieces = Name("pieces");
        await ExecuteAsync($"INSERT INTO {Table} VALUES (1, 'a'), (2, 'b'); CREATE TABLE {Name("empty")} (id int PRIMARY KEY, value text)");
        await ExecuteAsync(
            $"CREATE TABLE {pieces} (id int PRIMARY KEY, value text, secret text) PARTITION BY LIST (id); "
            + $"CREATE TABLE {Name("leaf")} PARTITION OF {pieces} DEFAULT; INSERT INTO {pieces} VALUES (7, NULL, 's')");
        await ExecuteAsync(
            $"ALTER PUBLICATION {Publication} SET (publish_via_partition_root); "
            + $"ALTER PUBLICATION {Publication} SET TABLE {Table} WHERE (id > 1), {pieces} (id, value), {Name("empty")}");
        await using PostgresChangeSource stream = await NewStreamAsync(WithSnapshot);
        await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
        List<PostgresChange> changes = await TakeAsync(source, 2);
        await ExecuteAsync($"INSERT INTO {pieces} VALUES (8, 'c', 't')");
        changes.AddRange(await TakeAsync(source, 1));
        Assert.Equal(["pieces +7=", "rows +2=b", "pieces +8=c"], changes.Select(static c => $"{c.Relation.Name} {Text(c)}"));
        Assert.All(changes, static c => Assert.Equal((0, true, 2), (c.Index, c.IsLast, c.Relation.Columns.Count)));
    }

    [Fact(Timeout = Limit)]
    public async Task Setup_PolicyHidesRows_SaysSoAndLeavesNothing()
    {
        string user = $"some_{Guid.NewGuid():N}";
        string schema = SqlName.Quote(Schema);
        await ExecuteAsync(
            $"""
            INSERT INTO {Table} SELECT n, 'a' FROM generate_series(1, 10) n;
            CREATE ROLE {user} LOGIN REPLICATION PASSWORD 'sesame-7';
            GRANT USAGE ON SCHEMA {schema} TO {user};
            GRANT SELECT, INSERT, UPDATE ON {schema}.checkpoints TO {user};
            GRANT SELECT ON {schema}.parts, {Table} TO {user};
            ALTER TABLE {Table} ENABLE ROW LEVEL SECURITY;
            CREATE POLICY half ON {Table} USING (id <= 5)
            """);
        try
        {
            string connection = new NpgsqlConnectionStringBuilder(ConnectionString) { Username = user, Password = "sesame-7", Pooling = false }.ToString();
            await using NpgsqlDataSource least = NpgsqlDataSource.Create(connection);
            await using var stream = new PostgresChangeSource(connection, Slot, Publication, new PostgresCheckpointStore(least, Schema), WithSnapshot);
            WorkSetupException hidden = await Assert.ThrowsAsync<WorkSetupException>(() => stream.SetupAsync());
            Assert.Contains("row level security hides rows of", hidden.Message, StringComparison.Ordinal);
            Assert.Contains("BYPASSRLS", hidden.Message, StringComparison.Ordinal);
            Assert.Null(await Checkpoints.LoadAsync(Slot));
            await ExecuteAsync($"ALTER ROLE {user} BYPASSRLS");
            await stream.SetupAsync();

            // And when it comes later.
            await ExecuteAsync($"ALTER ROLE {user} NOBYPASSRLS");
            await Assert.ThrowsAsync<WorkSetupException>(async () => await stream.OpenSourceAsync());
            Assert.Equal(0, await SlotsAsync());
            await ExecuteAsync($"ALTER ROLE {user} BYPASSRLS");
            await using IWorkSource<int> source = await stream.OpenSourceAsync(Id);
            Assert.Equal(Enumerable.Range(1, 10), await TakeAsync(source, 10));
        }
        finally
        {
            await ExecuteAsync($"DROP OWNED BY {user}; DROP ROLE {user}");
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Read_FailsInTheSnapshot_RemovesItsSlot()
    {
        await ExecuteAsync($"INSERT INTO {Table} VALUES (1, 'a')");
        await using PostgresChangeSource stream = await NewStreamAsync(WithSnapshot);
        await using (IWorkSource<int> source = await stream.OpenSourceAsync<int>(static _ => throw new FormatException("no")))
        {
            await Assert.ThrowsAsync<WorkSetupException>(() => NextAsync(source));
        }

        Assert.Equal(0, await SlotsAsync());
        await using IWorkSource<int> next = await stream.OpenSourceAsync(Id);
        Assert.Equal([1], await TakeAsync(next, 1));
    }

    [Theory(Timeout = Limit)]
    [InlineData("DEFAULT")]
    [InlineData("FULL")]
    [InlineData("USING INDEX wide_key")]
    public async Task Key_OfAnIndexThatIncludesColumns_HasNoneOfThem(string identity)
    {
        string wide = Name("wide");
        await ExecuteAsync(
            $"""
            CREATE TABLE {wide} (id int NOT NULL, value text, extra text, CONSTRAINT wide_key PRIMARY KEY (id) INCLUDE (value, extra));
            ALTER TABLE {wide} REPLICA IDENTITY {identity};
            INSERT INTO {wide} VALUES (1, 'a', 'x');
            ALTER PUBLICATION {Publication} SET TABLE {wide}
            """);
        await using PostgresChangeSource stream = await NewStreamAsync(WithSnapshot);
        await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
        List<PostgresChange> changes = await TakeAsync(source, 1);
        await ExecuteAsync($"UPDATE {wide} SET value = 'b'");
        changes.AddRange(await TakeAsync(source, 1));
        Assert.All(changes, static c => Assert.Equal([1], c.GetKeyValues()));
        Assert.All(changes, static c => Assert.Equal(1, c.Relation.Version));
    }

    private static int Id(PostgresChange change) => change.New!.Get<int>("id");

    private Task<long> SlotsAsync() => ScalarAsync<long>($"SELECT count(*) FROM pg_replication_slots WHERE slot_name = '{Slot}'");

    private Task<long> TerminateReaderAsync() => ScalarAsync<long>(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT \"id\", \"value\" FROM %'");

    private async Task<List<string>> RowsAsync()
    {
        List<string> rows = [];
        await using NpgsqlCommand query = Source.CreateCommand($"SELECT id || '=' || value FROM {Table} ORDER BY id");
        await using NpgsqlDataReader reader = await query.ExecuteReaderAsync();
        while (await reader.ReadAsync())
        {
            rows.Add(reader.GetString(0));
        }

        return rows;
    }
}
