using Npgsql;
using Weir.PostgreSql.Tests.Queues;
using Weir.PostgreSql.Tests.Servers;
using Weir.Runtimes;

namespace Weir.PostgreSql.Tests.Inbox;

/// <summary>The effect of an item and its identity, in one transaction: whatever breaks between, the effect is there once.</summary>
public sealed class PostgresInboxTests(PostgresServer server) : QueueTest(server)
{
    private string Effects => $"{SqlName.Quote(Schema)}.effects";

    private string Rows => $"{SqlName.Quote(Schema)}.inbox";

    [Fact(Timeout = Limit)]
    public async Task Process_SameItemAgain_DoesNothing()
    {
        PostgresInbox inbox = await NewInboxAsync();
        var id = new WorkId("message", 3);
        Assert.True(await inbox.ProcessAsync(id, (t, _) => AddEffectAsync(t, "a")));
        Assert.False(await inbox.ProcessAsync(id, (t, _) => AddEffectAsync(t, "b")));
        Assert.True(await inbox.ProcessAsync(new WorkId("message", 4), (t, _) => AddEffectAsync(t, "c")));

        // Another inbox of the same table is not concerned.
        Assert.True(await Inbox("other").ProcessAsync(id, (t, _) => AddEffectAsync(t, "d")));
        Assert.Equal("a,c,d", await EffectsAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Process_SomeItems_GivesThoseThatAreNewEachOnceAndInOrder()
    {
        PostgresInbox inbox = await NewInboxAsync();
        await inbox.ProcessAsync(new WorkId("values", 1), (t, _) => AddEffectAsync(t, "1"));
        List<string> seen = [];
        WorkItem<string>[] items = [.. Values(4).Reverse(), .. Values(4)];
        Assert.Equal(3, await inbox.ProcessAsync(items, AddAsync));
        Assert.Equal(["3", "2", "0"], seen);
        Assert.Equal(0, await inbox.ProcessAsync(items, AddAsync));
        Assert.Equal(0, await inbox.ProcessAsync(Array.Empty<WorkItem<string>>(), AddAsync));
        Assert.Equal("0,1,2,3", await EffectsAsync());

        async ValueTask AddAsync(NpgsqlTransaction transaction, IReadOnlyList<WorkItem<string>> added, CancellationToken stop)
        {
            seen.AddRange(added.Select(static i => i.Value));
            foreach (WorkItem<string> item in added)
            {
                await AddEffectAsync(transaction, item.Value);
            }
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Process_EffectFailsOrItsConnectionBreaks_LeavesNothingAndComesAgain()
    {
        PostgresInbox inbox = await NewInboxAsync();
        var id = new WorkId("message", 0);
        await Assert.ThrowsAsync<FormatException>(async () => await inbox.ProcessAsync(id, async (t, _) =>
        {
            await AddEffectAsync(t, "failed");
            throw new FormatException();
        }));
        await Assert.ThrowsAnyAsync<NpgsqlException>(async () => await inbox.ProcessAsync(id, async (t, _) =>
        {
            // Killed between the effect and the commit.
            await AddEffectAsync(t, "killed");
            await ScalarAsync<bool>($"SELECT pg_terminate_backend({t.Connection!.ProcessID}, 60000)");
        }));

        // What the effect itself runs into stays its own exception.
        PostgresException own = await Assert.ThrowsAsync<PostgresException>(async () => await inbox.ProcessAsync(id, async (t, _) =>
        {
            await using var command = new NpgsqlCommand("SELECT * FROM nowhere", t.Connection);
            await command.ExecuteNonQueryAsync();
        }));
        Assert.Equal(PostgresErrorCodes.UndefinedTable, own.SqlState);
        Assert.Equal((0L, ""), (await ScalarAsync<long>($"SELECT count(*) FROM {Rows}"), await EffectsAsync()));
        Assert.True(await inbox.ProcessAsync(id, (t, _) => AddEffectAsync(t, "done")));
        Assert.Equal("done", await EffectsAsync());
    }

    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Process_WhileAnotherHasTheItem_WaitsForItsEnd(bool commits)
    {
        PostgresInbox inbox = await NewInboxAsync();
        var id = new WorkId("message", 0);
        await using NpgsqlConnection connection = await Source.OpenConnectionAsync();
        await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync();
        Assert.True(await inbox.TryAddAsync(transaction, id));
        await AddEffectAsync(transaction, "first");
        Task<bool> second = inbox.ProcessAsync(id, (t, _) => AddEffectAsync(t, "second")).AsTask();
        string waits = $"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND strpos(query, {SqlName.Literal(Rows)}) > 0)";
        await Guard.UntilAsync(() => ScalarAsync<bool>(waits), "The second one waits");
        await (commits ? transaction.CommitAsync() : transaction.RollbackAsync());
        Assert.Equal(!commits, await second.WithinAsync("the second"));
        Assert.Equal(commits ? "first" : "second", await EffectsAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Hosts_ConnectionsAreCutAndNothingIsAcknowledged_HaveEachEffectOnce()
    {
        const int Count = 600;
        string name = $"weir-test-{Guid.NewGuid():N}";
        await using NpgsqlDataSource cut = NpgsqlDataSource.Create(
            new NpgsqlConnectionStringBuilder(Server.ConnectionString) { ApplicationName = name }.ToString());
        PostgresInbox inbox = await NewInboxAsync();
        var own = new PostgresInbox(cut, inbox.Name, new PostgresInboxOptions { Schema = Schema });
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { MaxItemsPerBatch = 50 });
        await queue.EnqueueAsync(Values(Count));
        int calls = 0;

        // Each round has all the items that are left, and dies with its leases before it has acknowledged what it did.
        for (int round = 0; round < 3; round++)
        {
            await using IWorkSource<string> source = await queue.OpenSourceAsync();
            for (int batch = 0; batch < 4; batch++)
            {
                await ProcessAllAsync(await NextAsync(source), cutEach: 7);
            }
        }

        // The last one acknowledges. A connection that was cut while nobody used it fails when it is used next, which is not to be now.
        cut.Clear();
        await using IWorkSource<string> last = await queue.OpenSourceAsync();
        while (await CountAsync() > 0)
        {
            WorkBatch<string> batch = await NextAsync(last);
            await ProcessAllAsync(batch, cutEach: int.MaxValue);
            await last.AcknowledgeAsync([batch], CancellationToken.None);
        }

        Assert.Equal((long)Count, await ScalarAsync<long>($"SELECT count(*) FROM {Effects}"));
        Assert.Equal((long)Count, await ScalarAsync<long>($"SELECT count(DISTINCT value) FROM {Effects}"));

        async Task ProcessAllAsync(WorkBatch<string> batch, int cutEach)
        {
            await using var runtime = new ConcurrentRuntime(8);
            await runtime.ProcessManyAsync(
                batch.Items,
                async (item, token) =>
                {
                    try
                    {
                        await own.ProcessAsync(
                            item.Id,
                            async (transaction, stop) =>
                            {
                                await AddEffectAsync(transaction, item.Value);
                                if (Interlocked.Increment(ref calls) % cutEach == 0)
                                {
                                    await ScalarAsync<long>(
                                        $"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '{name}'");
                                }
                            },
                            token);
                    }
                    catch (NpgsqlException) when (cutEach < int.MaxValue)
                    {
                        // It comes again.
                    }

                    return true;
                });
        }
    }

    [Fact(Timeout = Limit)]
    public async Task History_IsOver_ForgetsAndKnowsTheYoungOnes()
    {
        PostgresInbox inbox = await NewInboxAsync(static o => o with { History = TimeSpan.FromMinutes(5) });
        await inbox.ProcessAsync(Values(1200), static (_, _, _) => default);
        await ExecuteAsync($"UPDATE {Rows} SET time = now() - interval '6 minutes' WHERE place < 900");

        // Each thousandth item or so looks for what is old.
        await inbox.ProcessAsync([WorkItem.Create("young")], static (_, _, _) => default);
        WorkItem<string>[] more = [.. Enumerable.Range(0, 1000).Select(static i => new WorkItem<string>(new WorkId("more", i), "x"))];
        await inbox.ProcessAsync(more, static (_, _, _) => default);
        Assert.Equal(1301, await ScalarAsync<long>($"SELECT count(*) FROM {Rows}"));
        Assert.False(await inbox.ProcessAsync(new WorkId("values", 900), static (_, _) => default));
        Assert.True(await inbox.ProcessAsync(new WorkId("values", 899), static (_, _) => default));
        Assert.Equal(0, await inbox.ForgetAsync());
        Assert.Equal(
            nameof(PostgresInboxOptions.History),
            Assert.Throws<ArgumentOutOfRangeException>(() => Inbox("x", static o => o with { History = TimeSpan.FromSeconds(1) })).ParamName);
    }

    [Fact(Timeout = Limit)]
    public async Task Process_BadIdentitiesAndMissingTable_SayWhatIsWrong()
    {
        PostgresInbox inbox = Inbox("work");
        await Assert.ThrowsAsync<WorkSetupException>(async () => await inbox.ProcessAsync(new WorkId("m", 0), static (_, _) => default));
        await inbox.SetupAsync();
        await Assert.ThrowsAsync<ArgumentException>(async () => await inbox.ProcessAsync(new WorkId(new string('x', 501), 0), static (_, _) => default));
        await Assert.ThrowsAsync<ArgumentException>(async () => await inbox.ProcessAsync(default, static (_, _) => default));
    }

    private PostgresInbox Inbox(string name, Func<PostgresInboxOptions, PostgresInboxOptions>? change = null)
    {
        PostgresInboxOptions options = new() { Schema = Schema };
        return new PostgresInbox(Source, name, change is null ? options : change(options));
    }

    private async Task<PostgresInbox> NewInboxAsync(Func<PostgresInboxOptions, PostgresInboxOptions>? change = null)
    {
        PostgresInbox inbox = Inbox("it's work", change);
        await inbox.SetupAsync();
        await inbox.SetupAsync();
        await ExecuteAsync($"CREATE TABLE {Effects} (value text NOT NULL)");
        return inbox;
    }

    private async ValueTask AddEffectAsync(NpgsqlTransaction transaction, string value)
    {
        await using var command = new NpgsqlCommand($"INSERT INTO {Effects} VALUES ('{value}')", transaction.Connection, transaction);
        await command.ExecuteNonQueryAsync();
    }

    private async Task<string> EffectsAsync() => await ScalarAsync<string>($"SELECT coalesce(string_agg(value, ',' ORDER BY value), '') FROM {Effects}");
}
