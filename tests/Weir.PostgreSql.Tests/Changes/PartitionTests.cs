using System.Collections.Concurrent;
using Npgsql;
using Weir.PostgreSql.Tests.Servers;
using Weir.Runtimes;

namespace Weir.PostgreSql.Tests.Changes;

/// <summary>A row that moves to another partition is a delete in one and an insert in another. Whoever knows rows by one column gets them in order.</summary>
public sealed class PartitionTests(PostgresServer server) : ChangeTest(server)
{
    [Theory(Timeout = Limit)]
    [InlineData(false, "PRIMARY KEY (id, region)", "")]
    [InlineData(true, "PRIMARY KEY (id, region)", "")]
    [InlineData(false, "PRIMARY KEY (region, id)", "FULL")]
    [InlineData(true, "PRIMARY KEY (region, id)", "FULL")]
    public async Task Host_RowsMove_KeepsTheirOrderById(bool isRoot, string key, string identity)
    {
        await CreateAsync(isRoot, key, identity);
        await using PostgresChangeSource stream = await NewStreamAsync();
        await ExecuteAsync($"INSERT INTO {Name("orders")} SELECT n, 'a', 'new' FROM generate_series(1, 20) n");
        foreach (string region in new[] { "b", "c", "b2", "a", "c" })
        {
            // Each row in a transaction of its own, as they come, and one that is updated where it is.
            await ExecuteAsync(string.Join(';', Enumerable.Range(1, 20).Select(n => $"UPDATE {Name("orders")} SET region = '{region}' WHERE id = {n}")));
            await ExecuteAsync($"UPDATE {Name("orders")} SET state = 'in {region}'");
        }

        await ExecuteAsync($"DELETE FROM {Name("orders")} WHERE id = 20");
        await ExecuteAsync($"INSERT INTO {Name("orders")} VALUES (-1, 'a', 'end')");
        var index = new ConcurrentDictionary<int, string>();
        var letters = new MemoryWorkQueue<string>("letters", WorkSerializer.Text);
        await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
        await using var runtime = new ConcurrentRuntime(8);
        using var stop = new CancellationTokenSource();
        var host = new WorkHost<PostgresChange>(
            source,
            runtime,
            async (item, _) =>
            {
                // What puts a row somewhere takes longer than what removes it.
                for (int turns = item.Value.Kind == PostgresChangeKind.Delete ? 0 : 5; turns > 0; turns--)
                {
                    await Task.Yield();
                }

                if (item.Value is { Kind: PostgresChangeKind.Delete, Old: { } old })
                {
                    index.TryRemove(old.Get<int>("id"), out string? _);
                }
                else
                {
                    index[item.Value.New!.Get<int>("id")] = $"{item.Value.New["region"]} {item.Value.New["state"]}";
                }
            },
            new WorkHostOptions<PostgresChange> { DeadLetters = letters.DeadLetters, Serializer = new NoBytes(), PartitionBy = static item => item.Key });
        Task running = host.RunAsync(stop.Token);
        await Guard.UntilAsync(() => index.ContainsKey(-1) && host.Statistics.InFlight == 0, "All changes");
        await stop.CancelAsync();
        await running.WithinAsync("the host");
        Assert.Equal(0, host.Statistics.DeadLettered);
        Assert.Equal(
            ["-1 a end", .. Enumerable.Range(1, 19).Select(static n => $"{n} c in c")],
            index.OrderBy(static r => r.Key).Select(static r => $"{r.Key} {r.Value}"));
    }

    [Theory(Timeout = Limit)]
    [InlineData(PostgresChangeOrder.Key, false, "orders:1 orders:1 orders:1 rows:1")]
    [InlineData(PostgresChangeOrder.Key, true, "orders:1 orders:1 orders:1 rows:1")]
    [InlineData(PostgresChangeOrder.Relation, false, "orders orders orders rows")]
    public async Task Key_OfARowThatMoves_IsThatOfItsTable(PostgresChangeOrder order, bool isRoot, string expected)
    {
        await CreateAsync(isRoot, "PRIMARY KEY (id, region)", "");
        await ExecuteAsync($"ALTER PUBLICATION {Publication} ADD TABLE {Table}");
        await using PostgresChangeSource stream = await NewStreamAsync(Quiet with { Order = order });
        await ExecuteAsync($"INSERT INTO {Name("orders")} VALUES (1, 'a'); UPDATE {Name("orders")} SET region = 'b'; INSERT INTO {Table} VALUES (1)");
        Assert.Equal(expected, await LanesAsync(stream, 4));
    }

    [Fact(Timeout = Limit)]
    public async Task Key_PartitionedByAllOfIt_IsAllOfIt()
    {
        await ExecuteAsync(
            $"CREATE TABLE {Name("parts of it")} (id int PRIMARY KEY) PARTITION BY HASH (id); "
            + $"CREATE TABLE {Name("p0")} PARTITION OF {Name("parts of it")} FOR VALUES WITH (MODULUS 1, REMAINDER 0); "
            + $"ALTER PUBLICATION {Publication} ADD TABLE {Name("parts of it")}");
        await using PostgresChangeSource stream = await NewStreamAsync();
        await ExecuteAsync($"INSERT INTO {Name("parts of it")} VALUES (1), (2)");
        Assert.Equal("parts of it:1 parts of it:2", await LanesAsync(stream, 2));
    }

    private async Task<string> LanesAsync(PostgresChangeSource stream, int count)
    {
        await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
        List<WorkItem<PostgresChange>> items = [];
        while (items.Count < count)
        {
            WorkBatch<PostgresChange> batch = await NextAsync(source);
            items.AddRange(batch.Items);
            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }

        return string.Join(' ', items.Select(i => i.Key!.Replace($"{Schema}.", "", StringComparison.Ordinal)));
    }

    // One of the partitions has partitions of its own.
    private Task CreateAsync(bool isRoot, string key, string identity)
    {
        string table = Name("orders");
        string full = identity.Length == 0 ? "" : string.Concat(
            new[] { "orders", "o_a", "o_b", "o_b1", "o_b2", "o_c" }.Select(t => $"ALTER TABLE {Name(t)} REPLICA IDENTITY {identity};"));
        return ExecuteAsync(
            $"""
            CREATE TABLE {table} (id int, region text, state text, {key}) PARTITION BY LIST (region);
            CREATE TABLE {Name("o_a")} PARTITION OF {table} FOR VALUES IN ('a');
            CREATE TABLE {Name("o_b")} PARTITION OF {table} FOR VALUES IN ('b', 'b2') PARTITION BY LIST (region);
            CREATE TABLE {Name("o_b1")} PARTITION OF {Name("o_b")} FOR VALUES IN ('b');
            CREATE TABLE {Name("o_b2")} PARTITION OF {Name("o_b")} FOR VALUES IN ('b2');
            CREATE TABLE {Name("o_c")} PARTITION OF {table} FOR VALUES IN ('c');
            {full}
            ALTER PUBLICATION {Publication} SET TABLE {table};
            ALTER PUBLICATION {Publication} SET (publish_via_partition_root = {isRoot})
            """);
    }
}
