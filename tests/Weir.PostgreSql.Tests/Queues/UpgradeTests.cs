using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>Tables of the version before: they are upgraded while they are in use, and programs of that version go on with them.</summary>
public sealed class UpgradeTests(PostgresServer server) : QueueTest(server)
{
    private string Parts => $"{SqlName.Quote(Schema)}.parts";

    [Fact(Timeout = Limit)]
    public async Task Setup_OverTablesOfVersion2_KeepsTheItemsAndMakesBandsOfSuspects()
    {
        await CreateVersion2Async();
        await ExecuteAsync($"INSERT INTO {Items} (origin, place, payload) SELECT 'values', i, convert_to(i::text, 'UTF8') FROM generate_series(0, 9) AS i");
        await ExecuteAsync($"UPDATE {Items} SET consumer = 77 WHERE place < 4");
        await ExecuteAsync($"UPDATE {Items} SET expired = 3 WHERE place = 9");
        await using PostgresWorkQueue<string> queue = Queue();
        WorkSetupException old = await Assert.ThrowsAsync<WorkSetupException>(async () => await queue.OpenSourceAsync());
        Assert.Contains("version 2, and this program needs version 3: call SetupAsync once", old.Message, StringComparison.Ordinal);
        await Task.WhenAll(Enumerable.Range(0, 3).Select(_ => queue.SetupAsync()));
        Assert.Equal(3, await ScalarAsync<int>($"SELECT revision FROM {Parts}"));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        List<string> seen = [];
        while (seen.Count < 10)
        {
            WorkBatch<string> batch = await NextAsync(source);
            seen.AddRange(batch.Items.Select(i => $"{i.Value}{(batch.IsSuspect ? $" suspect {batch.Items.Count} {batch.Crashes}" : "")}"));
            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }

        Assert.Equal(
            ["0 suspect 2 0", "1 suspect 2 0", "2 suspect 2 0", "3 suspect 2 0", "4", "5", "6", "7", "8", "9 suspect 1 2"], seen.Order(StringComparer.Ordinal));
        Assert.Equal(0, await CountAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task ProgramOfVersion2_AfterTheUpgrade_OpensTakesAndReapsBesideThisOne()
    {
        await CreateVersion2Async();
        await using PostgresWorkQueue<string> queue = Queue();
        await queue.SetupAsync();

        // What it looks at when it opens the queue.
        Assert.Equal(2, await ScalarAsync<int>($"SELECT version FROM {Parts} WHERE part = 'queue work' AND settings = 'no key order'"));
        await ExecuteAsync($"INSERT INTO {Items} (origin, place, key, attempt, headers, payload, due) VALUES ('old', 0, NULL, 1, NULL, 'x', now())");
        await queue.EnqueueAsync(Values(7));
        await using IWorkSource<string> lost = await queue.OpenSourceAsync();
        Assert.Equal(8, (await NextAsync(lost)).Items.Count);
        await EndLeasesAsync();
        await using IWorkSource<string> next = await queue.OpenSourceAsync();

        // It takes a suspect that this version has put into a band, and dies with it. It reads no crash in it, and this version reads the one that it counts.
        Assert.Equal(0, await ScalarAsync<int>(Version2.TakeSuspect(Items, 88)));
        Assert.Equal(1, await ExecuteAsync(Version2.Reap(Items, 88)));
        List<(string Values, int Crashes)> seen = [];
        while (seen.Sum(static s => s.Values.Split(' ').Length) < 8)
        {
            WorkBatch<string> batch = await NextAsync(next);
            seen.Add((string.Join(' ', ValuesOf(batch)), batch.Crashes));
            await next.AcknowledgeAsync([batch], CancellationToken.None);
        }

        Assert.Equal([("0 1 2", 0), ("3 4 5 6", 0), ("x", 1)], seen.Order());
    }

    private async Task CreateVersion2Async()
    {
        foreach (string statement in Version2.Tables(SqlName.Quote(Schema), Items))
        {
            await ExecuteAsync(statement);
        }
    }
}
