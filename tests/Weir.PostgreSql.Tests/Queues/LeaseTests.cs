using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>What becomes of items whose consumer disappears.</summary>
public sealed class LeaseTests(PostgresServer server) : QueueTest(server)
{
    [Fact(Timeout = Limit)]
    public async Task Lease_Ended_ItemsAreSuspectAndComeInHalvesAfterNothingElseRuns()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await queue.EnqueueAsync(Values(7));
        await using IWorkSource<string> lost = await queue.OpenSourceAsync();
        Assert.Equal(["0", "1", "2", "3", "4", "5", "6"], ValuesOf(await NextAsync(lost)));
        await EndLeasesAsync();
        await using IWorkSource<string> next = await queue.OpenSourceAsync();
        await queue.EnqueueAsync([WorkItem.Create("other")]);
        List<string> seen = [];
        while (seen.Count < 3)
        {
            WorkBatch<string> batch = await NextAsync(next);
            Assert.Equal((batch.Items[0].Value != "other", 0, 1), (batch.IsSuspect, batch.Crashes, batch.Items[0].Attempt));
            Assert.Equal(batch.Items.Count, await ScalarAsync<long>($"SELECT count(*) FROM {Items} WHERE consumer IS NOT NULL"));
            seen.Add(string.Join(' ', ValuesOf(batch)));
            await next.AcknowledgeAsync([batch], CancellationToken.None);
        }

        Assert.Equal(["0 1 2 3", "4 5 6", "other"], seen.Order(StringComparer.Ordinal));
        Assert.Equal(0, await CountAsync());
    }

    [Theory(Timeout = Limit)]
    [InlineData(5, 3)]
    [InlineData(256, 200)]
    [InlineData(300, 299)]
    public async Task Lease_EndsWheneverOneItemRuns_ThatItemIsFoundAndNoOtherCountsACrash(int count, int poison)
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await queue.EnqueueAsync(Values(count));
        List<string> done = [];
        int crashes = 0;
        for (int deaths = 0; crashes < 2; deaths++)
        {
            Assert.True(deaths <= 11, "At most log2(256) + 3: all that the first process had, 8 halves, and twice alone.");
            await using IWorkSource<string> source = await queue.OpenSourceAsync();
            while (true)
            {
                WorkBatch<string> batch = await NextAsync(source);
                if (ValuesOf(batch).Contains($"{poison}"))
                {
                    crashes = batch.Crashes;
                    Assert.True(crashes == 0 || batch.Items.Count == 1);
                    break;
                }

                Assert.Equal(0, batch.Crashes);
                done.AddRange(ValuesOf(batch));
                await source.AcknowledgeAsync([batch], CancellationToken.None);
            }

            await EndLeasesAsync();
            await using IWorkSource<string> reaper = await queue.OpenSourceAsync();
        }

        // Nobody waits for the one that kills: the others are done, or were never taken.
        Assert.Equal(count - 1, done.Distinct().Count());
        Assert.Equal(count - 1, done.Count);
        Assert.Equal(1, await CountAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Lease_OfManyItemsEnded_EachOfSeveralSourcesTakesABandOfItsOwn()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await queue.EnqueueAsync(Values(1000));
        await using IWorkSource<string> lost = await queue.OpenSourceAsync();
        for (int batches = 0; batches < 4; batches++)
        {
            await NextAsync(lost);
        }

        await EndLeasesAsync();
        await using IWorkSource<string> first = await queue.OpenSourceAsync();
        await using IWorkSource<string> second = await queue.OpenSourceAsync();
        HashSet<string> seen = [];
        while (seen.Count < 1000)
        {
            WorkBatch<string> one = await NextAsync(first);
            WorkBatch<string> two = await NextAsync(second);
            Assert.True(one.IsSuspect && two.IsSuspect);
            Assert.Equal(one.Items.Count + two.Items.Count, ValuesOf(one).Concat(ValuesOf(two)).Count(seen.Add));
            Assert.InRange(one.Items.Count, 100, 128);
            await first.AcknowledgeAsync([one], CancellationToken.None);
            await second.AcknowledgeAsync([two], CancellationToken.None);
        }

        Assert.Equal(0, await CountAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Lease_EndedOfASuspect_CountsAsACrash()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await queue.EnqueueAsync(Values(1));
        for (int crashes = -1; crashes < 3; crashes++)
        {
            await using IWorkSource<string> source = await queue.OpenSourceAsync();
            WorkBatch<string> batch = await NextAsync(source);
            Assert.Equal((crashes >= 0, Math.Max(0, crashes)), (batch.IsSuspect, batch.Crashes));
            await EndLeasesAsync();
            await using IWorkSource<string> reaper = await queue.OpenSourceAsync();
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Return_OrDispose_CountsAsNoCrash()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await queue.EnqueueAsync(Values(4));
        await using (IWorkSource<string> source = await queue.OpenSourceAsync())
        {
            WorkBatch<string> batch = await NextAsync(source);
            await source.ReturnAsync([batch], CancellationToken.None);
            Assert.Equal(4, (await NextAsync(source)).Items.Count);
        }

        Assert.Equal(0, await ScalarAsync<long>($"SELECT count(*) FROM {Consumers}"));
        await using IWorkSource<string> next = await queue.OpenSourceAsync();
        WorkBatch<string> again = await NextAsync(next);
        Assert.Equal((4, false), (again.Items.Count, again.IsSuspect));
    }

    [Fact(Timeout = Limit)]
    public async Task Acknowledge_AfterTheLeaseEnded_IsIgnored()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await queue.EnqueueAsync(Values(1));
        await using IWorkSource<string> stale = await queue.OpenSourceAsync();
        WorkBatch<string> first = await NextAsync(stale);
        await EndLeasesAsync();
        await using IWorkSource<string> next = await queue.OpenSourceAsync();
        WorkBatch<string> second = await NextAsync(next);
        await stale.AcknowledgeAsync([first], CancellationToken.None);
        await stale.AcknowledgeAsync([first], CancellationToken.None);
        Assert.Equal(1, await CountAsync());
        await next.AcknowledgeAsync([second], CancellationToken.None);
        Assert.Equal(0, await CountAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Acknowledge_OfABatchWhoseItemIsBackAlready_LeavesTheItem()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await queue.EnqueueAsync(Values(2));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        WorkBatch<string> first = await NextAsync(source);
        await source.Redelivery!.RedeliverAsync(first, [first.Items[1].Again()], TimeSpan.Zero, CancellationToken.None);
        WorkBatch<string> second = await NextAsync(source);
        Assert.Equal(("1", 2), (second.Items[0].Value, second.Items[0].Attempt));
        await source.AcknowledgeAsync([first], CancellationToken.None);
        Assert.Equal(1, await CountAsync());
        await source.AcknowledgeAsync([second], CancellationToken.None);
        Assert.Equal(0, await CountAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Lease_OfAConsumerThatLives_IsRenewedHoweverLongItsItemsRun()
    {
        var clock = new ManualTimeProvider();
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(o => o with { TimeProvider = clock });
        await queue.EnqueueAsync(Values(1));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        WorkBatch<string> batch = await NextAsync(source);
        await ExecuteAsync($"UPDATE {Consumers} SET lease_until = now() + interval '10 minutes'");

        // Renewed by a task of its own, which takes as long as the server does: only the test's own limit ends this.
        while (await ScalarAsync<long>($"SELECT count(*) FROM {Consumers} WHERE lease_until > now() + interval '9 hours'") == 0)
        {
            clock.Advance(LongLease / 4);
            await Guard.SettleAsync();
        }

        await using IWorkSource<string> other = await queue.OpenSourceAsync();
        Assert.Equal(1, await ScalarAsync<long>($"SELECT count(*) FROM {Items} WHERE consumer IS NOT NULL AND expired = 0"));
        await source.AcknowledgeAsync([batch], CancellationToken.None);
        Assert.Equal(0, await CountAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Rows_ThatCannotBeRead_AreDeadLettersAndTheOthersGoOn()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { MaxItemBytes = 100 });
        await queue.EnqueueAsync(Values(5));
        await ExecuteAsync($"UPDATE {Items} SET payload = '\\xff' WHERE place = 1");
        await ExecuteAsync($"UPDATE {Items} SET payload = convert_to(repeat('x', 101), 'UTF8') WHERE place = 2");
        await ExecuteAsync($"UPDATE {Items} SET headers = '[' WHERE place = 3");
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Assert.Equal(["0", "4"], ValuesOf(await NextAsync(source)));
        List<DeadLetter> letters = [];
        await foreach (DeadLetter letter in queue.DeadLetters.ListAsync())
        {
            letters.Add(letter);
        }

        Assert.Equal(
            [("values/1", DeadLetterReason.Undecodable), ("values/2", DeadLetterReason.TooLarge), ("values/3", DeadLetterReason.Undecodable)],
            letters.Select(static l => (l.Id, l.Reason)).Order());
        Assert.Equal([0xff], letters.Single(static l => l.Id == "values/1").Payload.ToArray());
        Assert.Equal(2, await CountAsync());
    }
}
