using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>Tables of the version before: they are upgraded while they are in use, and programs of that version go on with them.</summary>
public sealed class UpgradeTests(PostgresServer server) : QueueTest(server)
{
    private string Parts => $"{SqlName.Quote(Schema)}.parts";

    [Fact(Timeout = Limit)]
    public async Task Setup_OverTablesOfVersion3_KeepsTheItemsAndWhoMayUseThem()
    {
        await CreateVersion3Async();
        string user = SqlName.Quote($"a 'user' {Guid.NewGuid():N}");
        await ExecuteAsync($"CREATE ROLE {user}");
        try
        {
            await ExecuteAsync($"GRANT SELECT, INSERT ON {Items} TO {user}; GRANT SELECT ON {Items} TO PUBLIC");
            await ExecuteAsync(
                $"INSERT INTO {Items} (origin, place, payload) SELECT 'values', i, convert_to(i::text, 'UTF8') FROM generate_series(0, 9) AS i");
            await ExecuteAsync($"UPDATE {Items} SET consumer = 77 WHERE place < 4");
            await using PostgresWorkQueue<string> queue = Queue();
            WorkSetupException old = await Assert.ThrowsAsync<WorkSetupException>(async () => await queue.OpenSourceAsync());
            Assert.Contains("version 3, and this program needs version 4: call SetupAsync once", old.Message, StringComparison.Ordinal);
            await Task.WhenAll(Enumerable.Range(0, 3).Select(_ => queue.SetupAsync()));
            Assert.Equal(4, await ScalarAsync<int>($"SELECT revision FROM {Parts}"));
            Assert.Equal(
                "INSERT SELECT false true",
                await ScalarAsync<string>(
                    $"""
                    SELECT string_agg(a.privilege_type, ' ' ORDER BY a.privilege_type) || ' ' || has_table_privilege({SqlName.Literal(user.Trim('"'))},
                        {SqlName.Literal(Packs)}, 'DELETE') || ' ' || bool_or(EXISTS (SELECT FROM aclexplode(c.relacl) p WHERE p.grantee = 0))
                    FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a WHERE c.oid = {SqlName.Literal(Packs)}::regclass
                        AND a.grantee = {SqlName.Literal(user)}::regrole
                    """));
            await queue.EnqueueAsync([.. Values(30).Skip(10)]);
            await using IWorkSource<string> source = await queue.OpenSourceAsync();
            List<string> seen = [];
            while (seen.Count < 30)
            {
                WorkBatch<string> batch = await NextAsync(source);
                seen.AddRange(batch.Items.Select(i => $"{i.Value}{(batch.IsSuspect ? $" suspect {batch.Items.Count} {batch.Crashes}" : "")}"));
                await source.AcknowledgeAsync([batch], CancellationToken.None);
            }

            IEnumerable<string> all = Enumerable.Range(0, 30).Select(static i => i < 4 ? $"{i} suspect 2 0" : $"{i}");
            Assert.Equal(all.Order(StringComparer.Ordinal), seen.Order(StringComparer.Ordinal));
            Assert.Equal(0, await CountAsync());
        }
        finally
        {
            await ExecuteAsync($"DROP OWNED BY {user}; DROP ROLE {user}");
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Setup_OverTablesThatAreOlder_NamesTheWaysOutThatThePageHas()
    {
        await CreateVersion3Async();
        await ExecuteAsync($"UPDATE {Parts} SET version = 1, revision = 2");
        await using PostgresWorkQueue<string> queue = Queue();
        WorkSetupException old = await Assert.ThrowsAsync<WorkSetupException>(() => queue.SetupAsync());
        Assert.Contains("have version 2, and this program needs version 4: bring them on version by version", old.Message, StringComparison.Ordinal);

        // The second way, with the statements of the page.
        string page = await File.ReadAllTextAsync(Path.Combine(Repository.Root, "docs", "reference", "postgresql.md"), TestContext.Current.CancellationToken);
        string statements = page.Split("```sql\n").Select(static s => s.Split("```")[0]).Single(static s => s.Contains("DROP TABLE", StringComparison.Ordinal));
        await ExecuteAsync(statements
            .Replace("weir.", $"{SqlName.Quote(Schema)}.", StringComparison.Ordinal)
            .Replace("queue_mails", "queue_work", StringComparison.Ordinal)
            .Replace("packs_mails", "packs_work", StringComparison.Ordinal)
            .Replace("'mails'", "'work'", StringComparison.Ordinal)
            .Replace("'queue mails'", "'queue work'", StringComparison.Ordinal));
        await queue.SetupAsync();
        Assert.Equal(1, await queue.EnqueueAsync([WorkItem.Create("a")]));
    }

    [Fact(Timeout = Limit)]
    public async Task ProgramOfVersion3_AfterTheUpgrade_TakesAndReapsBesideThisOne()
    {
        await CreateVersion3Async();
        await using PostgresWorkQueue<string> queue = Queue();
        await queue.SetupAsync();

        // What it looks at when it opens the queue.
        Assert.Equal(3, await ScalarAsync<int>($"SELECT version FROM {Parts} WHERE part = 'queue work' AND settings = 'no key order'"));
        await ExecuteAsync($"INSERT INTO {Items} (origin, place, key, attempt, headers, payload, due) VALUES ('old', 0, NULL, 1, NULL, 'x', now())");
        await queue.EnqueueAsync(Values(20));

        // Packs are not for it: it takes its own row, and dies.
        Assert.Equal(1, await ScalarAsync<long>($"WITH taken AS ({Version3.Take(Items, 88)}) SELECT count(*) FROM taken"));
        await using IWorkSource<string> lost = await queue.OpenSourceAsync();
        WorkBatch<string> old = await NextAsync(lost);
        Assert.Equal(("x", true, 0), (old.Items[0].Value, old.IsSuspect, old.Crashes));
        await lost.AcknowledgeAsync([old], CancellationToken.None);

        // A consumer of this version dies with a pack. The old program frees nothing of it, and the next one of this version does.
        Assert.Equal(20, (await NextAsync(lost)).Items.Count);
        await EndLeasesAsync();
        Assert.Equal(0, await ExecuteAsync(Version3.Reap(SqlName.Quote(Schema), Items)));
        Assert.Equal(20, await CountPackedAsync());
        await using IWorkSource<string> next = await queue.OpenSourceAsync();
        Assert.Equal(0, await CountPackedAsync());
        List<string> seen = [];
        while (seen.Count < 2)
        {
            WorkBatch<string> batch = await NextAsync(next);
            Assert.Equal((true, 0), (batch.IsSuspect, batch.Crashes));
            seen.Add(string.Join(' ', ValuesOf(batch)));
            await next.AcknowledgeAsync([batch], CancellationToken.None);
        }

        Assert.Equal(["0 1 2 3 4 5 6 7 8 9", "10 11 12 13 14 15 16 17 18 19"], seen.Order(StringComparer.Ordinal));
        Assert.Equal(0, await CountAsync());
    }

    private async Task CreateVersion3Async()
    {
        foreach (string statement in Version3.Tables(SqlName.Quote(Schema), Items))
        {
            await ExecuteAsync(statement);
        }
    }
}
