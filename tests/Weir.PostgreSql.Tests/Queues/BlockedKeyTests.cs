using System.Text.Json;
using Npgsql;
using NpgsqlTypes;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>Very many rows of keys that wait, in front of the others.</summary>
public sealed class BlockedKeyTests(PostgresServer server) : QueueTest(server)
{
    private const int Crowd = 100_000;

    // Pages that a take may look at, of which the crowd has some thousands and some hundred thousand accesses.
    private const long MostPages = 60_000;

    private static readonly Func<PostgresWorkQueueOptions, PostgresWorkQueueOptions> Keyed = static o => o with { KeepKeyOrder = true };

    [Fact(Timeout = Limit)]
    public async Task Read_BehindACrowdOfABlockedKey_TakesTheOthersAndLooksAtFewRows()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(Keyed);
        await CrowdAsync();
        await using IWorkSource<string> first = await queue.OpenSourceAsync();
        Assert.Equal(256, (await NextAsync(first)).Items.Count);
        await using IWorkSource<string> second = await queue.OpenSourceAsync();
        await queue.EnqueueAsync(
            [
                WorkItem.Create("b1", "b"), WorkItem.Create("none"), WorkItem.Create("empty", ""),
                .. Enumerable.Range(0, 600).Select(static i => WorkItem.Create($"{i}", $"k{i}")),
            ]);
        HashSet<string> seen = [];
        List<WorkBatch<string>> batches = [];
        while (seen.Count < 603)
        {
            WorkBatch<string> batch = await NextAsync(second);
            Assert.All(ValuesOf(batch), value => Assert.True(seen.Add(value)));
            batches.Add(batch);
        }

        Assert.Superset(new HashSet<string> { "b1", "none", "empty" }, seen);
        await second.ReturnAsync(batches, CancellationToken.None);
        string[] statements = [queue.Statements.Take, queue.Statements.NextDue, queue.Statements.FirstKeys];
        foreach (string statement in statements)
        {
            Assert.InRange(await PagesAsync(statement), 0, MostPages);
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Read_OneFreeKeyOfManyRows_LooksAtFewRows()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(Keyed);
        await CrowdAsync();
        Assert.InRange(await PagesAsync(queue.Statements.Take), 0, MostPages);
    }

    [Fact(Timeout = Limit)]
    public async Task Read_CrowdOfManyBlockedKeys_FindsTheOneThatIsFree()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { KeepKeyOrder = true, MaxItemsPerBatch = 7 });
        await ExecuteAsync(
            $"""
            INSERT INTO {Items} (origin, payload, key, due)
            SELECT 'crowd', '', 'k' || (i % 50), CASE WHEN i < 50 THEN now() + interval '1 day' ELSE now() - interval '1 day' END
            FROM generate_series(0, 5000) AS i
            """);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        foreach (string key in new[] { "k999", "a", "k22b" })
        {
            await queue.EnqueueAsync([WorkItem.Create("free", key)]);
            Assert.Equal(["free"], ValuesOf(await NextAsync(source)));
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Reap_ManyRowsInFlight_LooksAtTheirHoldersOnly()
    {
        // Some thousand rows of three consumers, one of which has disappeared, and of one that nobody knows.
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await ExecuteAsync(
            $"""
            INSERT INTO {Consumers} (queue, host, lease_until)
            SELECT 'work', '', now() + CASE i WHEN 2 THEN interval '-1 hour' ELSE interval '1 hour' END FROM generate_series(1, 3) AS i
            """);
        await ExecuteAsync($"INSERT INTO {Items} (origin, payload, consumer) SELECT 'many', '', 1 + 2 * (i % 2) FROM generate_series(1, {Crowd}) AS i");
        await ExecuteAsync($"INSERT INTO {Items} (origin, payload, consumer) VALUES ('ended', '', 2), ('ended', '', 2), ('unknown', '', 999)");
        await ExecuteAsync($"ANALYZE {Items}");
        Assert.InRange(await PagesAsync(queue.Statements.Reap), 0, 200);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Assert.Equal(3, await ScalarAsync<long>($"SELECT count(*) FROM {Items} WHERE consumer IS NULL AND expired = 1 AND origin <> 'many'"));
        Assert.Equal(Crowd, await ScalarAsync<long>($"SELECT count(*) FROM {Items} WHERE consumer IN (1, 3)"));
    }

    private Task<int> CrowdAsync() => ExecuteAsync(
        $"INSERT INTO {Items} (origin, payload, key, due) SELECT 'crowd', '', 'a', now() - interval '1 day' FROM generate_series(1, {Crowd})");

    private async Task<long> PagesAsync(string statement)
    {
        await using NpgsqlConnection connection = await Source.OpenConnectionAsync();
        await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync();
        await using var command = new NpgsqlCommand($"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", connection);
        if (statement.Contains("$1", StringComparison.Ordinal))
        {
            command.Parameters.Add(new NpgsqlParameter { Value = long.MaxValue, NpgsqlDbType = NpgsqlDbType.Bigint });
        }

        using JsonDocument plan = JsonDocument.Parse((string)(await command.ExecuteScalarAsync())!);
        JsonElement root = plan.RootElement[0].GetProperty("Plan");
        return root.GetProperty("Shared Hit Blocks").GetInt64() + root.GetProperty("Shared Read Blocks").GetInt64();
    }
}
