using Npgsql;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>Items that are enqueued together are stored as one row, and are the same items all the same.</summary>
public sealed class PackTests(PostgresServer server) : QueueTest(server)
{
    [Theory(Timeout = Limit)]
    [InlineData(7, 0)]
    [InlineData(8, 1)]
    [InlineData(256, 1)]
    [InlineData(700, 3)]
    public async Task Enqueue_ManyAtOnce_IsAPackForEachBatch(int count, int packs)
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        Assert.Equal(count, await queue.EnqueueAsync(Values(count)));
        Assert.Equal(packs, await ScalarAsync<long>($"SELECT count(*) FROM {Packs}"));
        Assert.Equal(packs == 0 ? 0 : count, await CountPackedAsync());
        Assert.Equal(count, await CountAsync());
        Assert.Equal((count, 0), await StateAsync(queue));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        List<string> seen = [];
        while (seen.Count < count)
        {
            WorkBatch<string> batch = await NextAsync(source);
            Assert.InRange(batch.Items.Count, 1, 256);
            seen.AddRange(ValuesOf(batch));
            Assert.Equal((count - seen.Count, batch.Items.Count), await StateAsync(queue));
            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }

        Assert.Equal(Values(count).Select(static v => v.Value), seen);
        Assert.Equal(0, await CountAsync());
    }

    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Items_UnlikeInAllTheyHave_ComeBackAsTheyAre(bool remembers)
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(
            o => o with { DuplicateHistory = remembers ? TimeSpan.FromMinutes(10) : TimeSpan.Zero });
        WorkItem<string>[] items =
        [
            .. Enumerable.Range(0, 40).Select(static i => new WorkItem<string>(
                new WorkId($"o{i % 3}", i),
                new string('v', i * 50),
                i % 4 == 0 ? null : $"k{i}",
                1 + (i % 5),
                i % 2 == 0 ? null : new Dictionary<string, string> { ["n"] = $"{i}" })),
            new WorkItem<string>(new WorkId("o0", int.MaxValue), "last"),
        ];
        await queue.EnqueueAsync(items);
        Assert.Equal(items.Length, await CountPackedAsync());
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Assert.Equal(items.Select(Text), (await NextAsync(source)).Items.Select(Text));

        static string Text(WorkItem<string> i) =>
            $"{i.Id} {i.Key} {i.Attempt} {i.Value} {string.Join(',', i.Headers?.Select(static h => $"{h.Key}={h.Value}") ?? [])}";
    }

    [Fact(Timeout = Limit)]
    public async Task Take_SeveralSmallPacks_FillsABatchAndNoMore()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { MaxItemsPerBatch = 64 });
        IReadOnlyList<WorkItem<string>> items = Values(110);
        for (int at = 0; at < 110; at += 22)
        {
            await queue.EnqueueAsync([.. items.Skip(at).Take(22)]);
        }

        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        WorkBatch<string>[] batches = [await NextAsync(source), await NextAsync(source), await NextAsync(source)];
        Assert.Equal([44, 44, 22], batches.Select(static b => b.Items.Count));
        Assert.Equal(items.Select(static i => i.Value), batches.SelectMany(ValuesOf));
        await source.AcknowledgeAsync(batches, CancellationToken.None);
        Assert.Equal(0, await CountAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Take_RowsAndPacks_ThoseThatAreDueForLongerComeFirst()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        IReadOnlyList<WorkItem<string>> items = Values(21);
        await queue.EnqueueAsync([.. items.Take(10)]);
        await queue.EnqueueAsync([items[10]]);
        await queue.EnqueueAsync([.. items.Skip(11)]);
        await ExecuteAsync($"UPDATE {Items} SET due = now() - interval '2 minutes'");
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Assert.Equal(["10"], ValuesOf(await NextAsync(source)));
        Assert.Equal(20, (await NextAsync(source)).Items.Count);
    }

    [Fact(Timeout = Limit)]
    public async Task Take_ByAConsumerOfShorterBatches_OpensThePack()
    {
        await using PostgresWorkQueue<string> publisher = await NewQueueAsync();
        await publisher.EnqueueAsync(Values(100));
        await using PostgresWorkQueue<string> queue = Queue(static o => o with { MaxItemsPerBatch = 30 });
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        List<string> seen = [];
        while (seen.Count < 100)
        {
            WorkBatch<string> batch = await NextAsync(source);
            Assert.InRange(batch.Items.Count, 1, 30);
            seen.AddRange(ValuesOf(batch));
            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }

        Assert.Equal(Values(100).Select(static v => v.Value), seen);
        Assert.Equal(0, await CountAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Redeliver_SomeOfAPack_LeavesTheOthersAndTheirAcknowledgement()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await queue.EnqueueAsync(Values(20));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        WorkBatch<string> batch = await NextAsync(source);

        // Several calls at once, each with an item of the same pack.
        await Task.WhenAll(Enumerable.Range(3, 4).Select(
            i => source.Redelivery!.RedeliverAsync(batch, [batch.Items[i].Again()], TimeSpan.FromHours(1), CancellationToken.None).AsTask()));
        Assert.Equal(4, await ScalarAsync<long>($"SELECT count(*) FROM {Items} WHERE consumer IS NULL AND attempt = 2 AND place BETWEEN 3 AND 6"));
        Assert.Equal((0, 16), await StateAsync(queue));
        await source.AcknowledgeAsync([batch], CancellationToken.None);
        Assert.Equal(4, await CountAsync());
        await ExecuteAsync($"UPDATE {Items} SET due = now()");
        Assert.Equal(["3", "4", "5", "6"], ValuesOf(await NextAsync(source)));
    }

    [Fact(Timeout = Limit)]
    public async Task Rows_OfAPackThatCannotBeRead_AreDeadLettersAndTheOthersGoOn()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { MaxItemBytes = 100 });
        await queue.EnqueueAsync(Values(10));
        await ExecuteAsync($"UPDATE {Packs} SET payloads[2] = '\\xff', payloads[3] = convert_to(repeat('x', 101), 'UTF8')");
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        WorkBatch<string> batch = await NextAsync(source);
        Assert.Equal(["0", "3", "4", "5", "6", "7", "8", "9"], ValuesOf(batch));
        Assert.Equal(
            [("values/1", DeadLetterReason.Undecodable), ("values/2", DeadLetterReason.TooLarge)],
            (await queue.DeadLetters.ListAsync().ToListAsync()).Select(static l => (l.Id, l.Reason)).Order());
        Assert.Equal(8, await CountAsync());
        await source.AcknowledgeAsync([batch], CancellationToken.None);
        Assert.Equal(0, await CountAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Return_OrDispose_GivesAPackBackAsItWas()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await queue.EnqueueAsync(Values(20));
        await using (IWorkSource<string> source = await queue.OpenSourceAsync())
        {
            await source.ReturnAsync([await NextAsync(source)], CancellationToken.None);
            Assert.Equal(20, (await NextAsync(source)).Items.Count);
        }

        Assert.Equal(20, await CountPackedAsync());
        await using IWorkSource<string> next = await queue.OpenSourceAsync();
        WorkBatch<string> again = await NextAsync(next);
        Assert.Equal((20, false), (again.Items.Count, again.IsSuspect));
    }

    [Fact(Timeout = Limit)]
    public async Task Acknowledge_AfterTheLeaseEnded_LeavesThePackToOthers()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await queue.EnqueueAsync(Values(9));
        await using IWorkSource<string> stale = await queue.OpenSourceAsync();
        WorkBatch<string> first = await NextAsync(stale);
        await EndLeasesAsync();
        await using IWorkSource<string> next = await queue.OpenSourceAsync();

        // Back in time with its lease, and too late all the same.
        await stale.Redelivery!.RedeliverAsync(first, [first.Items[0].Again()], TimeSpan.Zero, CancellationToken.None);
        await stale.AcknowledgeAsync([first], CancellationToken.None);
        Assert.Equal(9, await CountAsync());
        WorkBatch<string> half = await NextAsync(next);
        Assert.Equal((5, true, 1), (half.Items.Count, half.IsSuspect, half.Items[0].Attempt));
    }

    [Fact(Timeout = Limit)]
    public async Task Lease_OfAPackAndARowEnded_CountsNoCrashOfTheRow()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await queue.EnqueueAsync(Values(9));
        await queue.EnqueueAsync([WorkItem.Create("row")]);
        await using IWorkSource<string> lost = await queue.OpenSourceAsync();
        Assert.Equal(10, (await NextAsync(lost)).Items.Count + (await NextAsync(lost)).Items.Count);
        await EndLeasesAsync();
        await using IWorkSource<string> next = await queue.OpenSourceAsync();
        for (int seen = 0; seen < 10;)
        {
            WorkBatch<string> batch = await NextAsync(next);
            Assert.Equal((true, 0), (batch.IsSuspect, batch.Crashes));
            seen += batch.Items.Count;
            await next.AcknowledgeAsync([batch], CancellationToken.None);
        }
    }

    [Fact(Timeout = Limit)]
    public async Task QueuedItems_InPacks_AreListedFoundAndCancelledOneByOne()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await queue.EnqueueAsync(Values(300));
        await queue.EnqueueAsync([WorkItem.Create("row")]);
        List<QueuedItem> items = await queue.QueuedItems!.ListAsync(1000).ToListAsync();
        Assert.Equal(Values(300).Select(static v => v.Id.ToString()), items.Take(300).Select(static i => i.Id));
        Assert.Equal(301, items.Count);
        Assert.Equal(257, (await queue.QueuedItems.ListAsync(257).ToListAsync()).Count);
        Assert.Equal(300, (await queue.QueuedItems.ListAsync(300).ToListAsync()).Count);
        QueuedItem found = (await queue.QueuedItems.FindAsync(new WorkId("values", 270)))!;
        Assert.Equal(("values/270", false, "270"), (found.Id, found.IsInFlight, WorkSerializer.Text.Read(found.Payload.Span)));
        Assert.Equal(2, await queue.QueuedItems.CancelAsync([new WorkId("values", 3), new WorkId("values", 7), new WorkId("other", 8)]));
        Assert.Equal((299L, 44L), (await CountAsync(), await CountPackedAsync()));
        Assert.Null(await queue.QueuedItems.FindAsync(new WorkId("values", 3)));

        // What a worker has is not cancelled.
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        for (int taken = 0; taken < 299;)
        {
            taken += (await NextAsync(source)).Items.Count;
        }

        Assert.Equal(0, await queue.QueuedItems.CancelAsync([new WorkId("values", 280), new WorkId("values", 9)]));
        Assert.True((await queue.QueuedItems.FindAsync(new WorkId("values", 280)))!.IsInFlight);
    }

    [Fact(Timeout = Limit)]
    public async Task Enqueue_WithADelayOrInATransaction_IsAPackToo()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        Assert.Equal(20, await queue.EnqueueAsync(Values(20), TimeSpan.FromHours(1)));
        Assert.Equal((20L, 20L), ((await queue.GetStatisticsAsync()).Scheduled!.Value, await CountPackedAsync()));
        await using NpgsqlConnection connection = await Source.OpenConnectionAsync();
        await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync();
        Assert.Equal(300, await queue.EnqueueAsync(transaction, [.. Values(320).Skip(10)]));
        await transaction.RollbackAsync();
        Assert.Equal(20, await CountAsync());
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Task<WorkBatch<string>> next = NextAsync(source);
        await Guard.SettleAsync();
        Assert.False(next.IsCompleted);
        await ExecuteAsync($"UPDATE {Packs} SET due = now()");
        await queue.NotifyAsync();
        Assert.Equal(20, (await next).Items.Count);
    }
}
