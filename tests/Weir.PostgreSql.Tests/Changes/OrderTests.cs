using System.Collections.Concurrent;
using Npgsql;
using Weir.PostgreSql.Tests.Servers;
using Weir.Runtimes;

namespace Weir.PostgreSql.Tests.Changes;

/// <summary>Which changes are processed one after another.</summary>
public sealed class OrderTests(PostgresServer server) : ChangeTest(server)
{
    [Theory(Timeout = Limit)]
    [InlineData(PostgresChangeOrder.Key, "rows:1 rows:2 rows:1 more:1 rows:1")]
    [InlineData(PostgresChangeOrder.Relation, "rows rows rows more rows")]
    [InlineData(PostgresChangeOrder.Transaction, "0 0 1 1 2")]
    [InlineData(PostgresChangeOrder.Global, "    ")]
    [InlineData(PostgresChangeOrder.None, "- - - - -")]
    public async Task Key_OfAnItem_IsItsLane(PostgresChangeOrder order, string expected)
    {
        await ExecuteAsync($"CREATE TABLE {Name("more")} (id int PRIMARY KEY); ALTER PUBLICATION {Publication} ADD TABLE {Name("more")}");
        await using PostgresChangeSource stream = await NewStreamAsync(Quiet with { Order = order });
        await ExecuteAsync($"INSERT INTO {Table} VALUES (1, 'a'), (2, 'b')");
        await ExecuteAsync($"UPDATE {Table} SET value = 'c' WHERE id = 1; INSERT INTO {Name("more")} VALUES (1)");
        await ExecuteAsync($"DELETE FROM {Table} WHERE id = 1");
        await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
        List<WorkItem<PostgresChange>> items = [];
        while (items.Count < 5)
        {
            items.AddRange((await NextAsync(source)).Items);
        }

        List<string> origins = [.. items.Select(static i => i.Id.Origin).Distinct()];
        IEnumerable<string> lanes = items.Select(item => order == PostgresChangeOrder.Transaction
            ? $"{origins.IndexOf(item.Key!)}"
            : item.Key?.Replace($"{Schema}.", "", StringComparison.Ordinal) ?? "-");
        Assert.Equal(expected, string.Join(' ', lanes));
    }

    [Fact(Timeout = Limit)]
    public async Task Read_KeyIsChanged_WaitsForWhatIsBeforeAndHoldsUpWhatIsBehind()
    {
        await using PostgresChangeSource stream = await NewStreamAsync();
        int mapped = 0;
        await using IWorkSource<string> source = await stream.OpenSourceAsync(change =>
        {
            Interlocked.Increment(ref mapped);
            return Text(change);
        });
        await ExecuteAsync($"INSERT INTO {Table} VALUES (1, 'a'); UPDATE {Table} SET id = 2; INSERT INTO {Table} VALUES (1, 'b')");
        for (int i = 0; i < 3; i++)
        {
            WorkBatch<string> batch = await NextAsync(source);
            Assert.Equal([new[] { "+1=a", "2=a", "+1=b" }[i]], batch.Items.Select(static item => item.Value));
            Task<WorkBatch<string>?> next = source.ReadAsync(CancellationToken.None).AsTask();
            await Guard.UntilAsync(() => Volatile.Read(ref mapped) == 3, "All batches");
            await Guard.SettleAsync();
            Assert.False(next.IsCompleted);
            await source.AcknowledgeAsync([batch], CancellationToken.None);
            if (i == 2)
            {
                break;
            }

            WorkBatch<string> given = (await next.WithinAsync("the next batch"))!;

            // Before it is given back: the reading goes on at once, and counts what it reads again.
            Volatile.Write(ref mapped, i + 1);
            await source.ReturnAsync([given], CancellationToken.None);
        }
    }

    [Theory(Timeout = Limit)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task Host_WithManyAtOnce_KeepsACopyOfTheTable(int seed)
    {
        await using PostgresChangeSource stream = await NewStreamAsync(Quiet with { MaxChangesPerBatch = 20 });
        var random = new Random(seed);
        var copy = new ConcurrentDictionary<int, string>();
        var letters = new MemoryWorkQueue<string>("letters", WorkSerializer.Text);
        await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
        await using var runtime = new ConcurrentRuntime(8);
        using var stop = new CancellationTokenSource();
        var host = new WorkHost<PostgresChange>(
            source,
            runtime,
            async (item, _) =>
            {
                for (int turns = item.Id.Index % 4; turns > 0; turns--)
                {
                    await Task.Yield();
                }

                Apply(item.Value, copy);
            },
            new WorkHostOptions<PostgresChange> { DeadLetters = letters.DeadLetters, Serializer = new NoBytes(), PartitionBy = static item => item.Key });
        Task running = host.RunAsync(stop.Token);
        for (int i = 0; i < 80; i++)
        {
            await ExecuteAsync(string.Join(';', Enumerable.Range(0, random.Next(1, 8)).Select(_ => Statement(random))));
        }

        await ExecuteAsync($"INSERT INTO {Table} VALUES (-1, 'end')");
        await Guard.UntilAsync(() => copy.ContainsKey(-1) || host.Statistics.DeadLettered > 0, "The last change");
        await Guard.UntilAsync(() => host.Statistics.InFlight == 0, "All changes");
        await stop.CancelAsync();
        await running.WithinAsync("the host");
        Assert.Equal(0, host.Statistics.DeadLettered);
        List<string> rows = [];
        await using NpgsqlCommand query = Source.CreateCommand($"SELECT id || '=' || value FROM {Table} ORDER BY id");
        await using NpgsqlDataReader reader = await query.ExecuteReaderAsync();
        while (await reader.ReadAsync())
        {
            rows.Add(reader.GetString(0));
        }

        Assert.Equal(rows, copy.OrderBy(static r => r.Key).Select(static r => $"{r.Key}={r.Value}"));
    }

    /// <summary>Fails if the change does not fit what was done before.</summary>
    private static void Apply(PostgresChange change, ConcurrentDictionary<int, string> copy)
    {
        switch (change.Kind)
        {
            case PostgresChangeKind.Truncate:
                copy.Clear();
                return;
            case PostgresChangeKind.Delete:
                Assert.True(copy.TryRemove(change.Old!.Get<int>("id"), out _));
                return;
            case PostgresChangeKind.Update when change.Old is { } old:
                Assert.True(copy.TryRemove(old.Get<int>("id"), out _));
                Assert.True(copy.TryAdd(change.New!.Get<int>("id"), change.New.Get<string>("value")!));
                return;
            case PostgresChangeKind.Update:
                Assert.True(copy.ContainsKey(change.New!.Get<int>("id")));
                copy[change.New.Get<int>("id")] = change.New.Get<string>("value")!;
                return;
            default:
                Assert.True(copy.TryAdd(change.New!.Get<int>("id"), change.New.Get<string>("value")!));
                return;
        }
    }

    private string Statement(Random random) => random.Next(30) switch
    {
        0 => $"TRUNCATE {Table}",
        1 => $"ALTER TABLE {Table} ADD IF NOT EXISTS c{random.Next(3)} int",
        2 or 3 => $"UPDATE {Table} SET id = id + 100 WHERE id = {random.Next(10)} AND NOT EXISTS (SELECT FROM {Table} t WHERE t.id = {Table}.id + 100)",
        4 or 5 => $"DELETE FROM {Table} WHERE id = {random.Next(10)}",
        6 => $"DELETE FROM {Table} WHERE id >= 100",
        < 15 => $"UPDATE {Table} SET value = '{random.Next(1000)}'",
        _ => $"INSERT INTO {Table} VALUES ({random.Next(10)}, 'n') ON CONFLICT (id) DO UPDATE SET value = '{random.Next(1000)}'",
    };
}
