using Weir.PostgreSql.Tests.Servers;
using Weir.Runtimes;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>Items that are acknowledged before the rest of their batch.</summary>
public sealed class ItemAcknowledgementTests(PostgresServer server) : QueueTest(server)
{
    [Fact(Timeout = Limit)]
    public async Task Items_Acknowledged_AreGoneAndTheOthersComeAgainAfterADeath()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await EnqueueRowsAsync(queue, 6);
        await using IWorkSource<string> lost = await queue.OpenSourceAsync();
        WorkBatch<string> batch = await NextAsync(lost);
        Assert.Equal(6, batch.Items.Count);
        Assert.True(await AcknowledgeAsync(lost, batch, 4, 0, 1));
        Assert.Equal(3, await CountAsync());

        // Said again, and with one more.
        Assert.True(await AcknowledgeAsync(lost, batch, 0, 1, 3, 4));
        Assert.Equal(2, await CountAsync());
        await EndLeasesAsync();
        await using IWorkSource<string> next = await queue.OpenSourceAsync();
        List<string> again = [];
        while (again.Count < 2)
        {
            WorkBatch<string> band = await NextAsync(next);
            Assert.True(band.IsSuspect);
            again.AddRange(ValuesOf(band));
            await next.AcknowledgeAsync([band], CancellationToken.None);
        }

        Assert.Equal(["2", "5"], again.Order());
        Assert.Equal(0, await CountAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Batch_AcknowledgedOrReturnedAfterSomeOfItsItems_IsTheRestOfIt()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await EnqueueRowsAsync(queue, 4);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        WorkBatch<string> batch = await NextAsync(source);
        await AcknowledgeAsync(source, batch, 1);
        await source.ReturnAsync([batch], CancellationToken.None);
        WorkBatch<string> again = await NextAsync(source);
        Assert.Equal(["0", "2", "3"], ValuesOf(again));
        await AcknowledgeAsync(source, again, 2);
        await source.AcknowledgeAsync([again], CancellationToken.None);
        Assert.Equal(0, await CountAsync());

        // Nothing is left to say anything of.
        Assert.True(await AcknowledgeAsync(source, again, 0, 1, 2));
    }

    [Fact(Timeout = Limit)]
    public async Task Pack_IsOpenedOnlyIfItTakesLong()
    {
        var clock = new ManualTimeProvider();
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(o => o with { TimeProvider = clock });
        await queue.EnqueueAsync(Values(20));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        WorkBatch<string> batch = await NextAsync(source);
        clock.Advance(TimeSpan.FromSeconds(0.99));
        Assert.False(await AcknowledgeAsync(source, batch, 3, 4));
        Assert.Equal(20, await CountPackedAsync());
        clock.Advance(TimeSpan.FromSeconds(0.01));
        Assert.True(await AcknowledgeAsync(source, batch, 3, 4));
        Assert.Equal((0, 18), (await CountPackedAsync(), await CountAsync()));
        Assert.Equal((0, 18), await StateAsync(queue));
        await source.AcknowledgeAsync([batch], CancellationToken.None);
        Assert.Equal(0, await CountAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Pack_AllOfWhoseItemsAreDone_IsGoneAtOnce()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(o => o with { TimeProvider = new ManualTimeProvider() });
        await queue.EnqueueAsync([.. Values(30).Take(20)]);
        await queue.EnqueueAsync([.. Values(30).Skip(20)]);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        WorkBatch<string> batch = await NextAsync(source);
        Assert.Equal(30, batch.Items.Count);
        Assert.True(await AcknowledgeAsync(source, batch, [.. Enumerable.Range(20, 10)]));
        Assert.Equal((20, 20), (await CountPackedAsync(), await CountAsync()));
        Assert.False(await AcknowledgeAsync(source, batch, [.. Enumerable.Range(19, 11)]));
        await source.AcknowledgeAsync([batch], CancellationToken.None);
        Assert.Equal(0, await CountAsync());
    }

    [Theory(Timeout = Limit)]
    [InlineData(3)]
    [InlineData(20)]
    public async Task Items_WhoseLeaseEnded_AreLeftToOthers(int count)
    {
        var clock = new ManualTimeProvider();
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(o => o with { TimeProvider = clock });
        await (count < QueueStatements.MinPack ? EnqueueRowsAsync(queue, count) : queue.EnqueueAsync(Values(count)).AsTask());
        await using IWorkSource<string> stale = await queue.OpenSourceAsync();
        WorkBatch<string> first = await NextAsync(stale);
        clock.Advance(TimeSpan.FromSeconds(2));
        await EndLeasesAsync();
        await using IWorkSource<string> next = await queue.OpenSourceAsync();
        Assert.True(await AcknowledgeAsync(stale, first, 0, 1));
        Assert.Equal(count, await CountAsync());
        Assert.True((await NextAsync(next)).IsSuspect);
    }

    [Fact(Timeout = Limit)]
    public async Task Items_OfOneIdentity_AreToldApart()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { DuplicateHistory = TimeSpan.Zero });
        for (int i = 0; i < 3; i++)
        {
            await queue.EnqueueAsync([new WorkItem<string>(new WorkId("same", 0), $"{i}")]);
        }

        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        WorkBatch<string> batch = await NextAsync(source);
        Assert.Equal(3, batch.Items.Count);
        await AcknowledgeAsync(source, batch, 0, 1);
        await source.Redelivery!.RedeliverAsync(batch, [batch.Items[2].Again()], TimeSpan.FromHours(1), CancellationToken.None);
        await source.AcknowledgeAsync([batch], CancellationToken.None);
        Assert.Equal(batch.Items[2].Value, await ScalarAsync<string>($"SELECT convert_from(payload, 'UTF8') FROM {Items} WHERE attempt = 2"));
        Assert.Equal(1, await CountAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Key_WhoseItemsAreAcknowledged_IsFreeForOthersOnlyThen()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { KeepKeyOrder = true, MaxItemsPerBatch = 2 });
        await queue.EnqueueAsync(Values(3, static _ => "a"));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        await using IWorkSource<string> other = await queue.OpenSourceAsync();
        WorkBatch<string> batch = await NextAsync(source);
        Assert.Equal(["0", "1"], ValuesOf(batch));
        await AcknowledgeAsync(source, batch, 0);
        await queue.EnqueueAsync([new WorkItem<string>(new WorkId("later", 0), "later", "b")]);

        // What is left of the key is still with the first source.
        Assert.Equal(["later"], ValuesOf(await NextAsync(other)));
        await AcknowledgeAsync(source, batch, 1);
        Assert.Equal(["2"], ValuesOf(await NextAsync(other)));
    }

    [Fact(Timeout = Limit)]
    public async Task Host_WithASlowItem_HasOnlyThatOneLeftInTheQueue()
    {
        using var gate = new Gate();
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await EnqueueRowsAsync(queue, 5);
        await queue.EnqueueAsync([.. Values(45).Skip(5)]);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        await using var runtime = new ConcurrentRuntime(8);
        using var stop = new CancellationTokenSource();
        var host = new WorkHost<string>(
            source,
            runtime,
            async (item, _) => await (item.Value is "2" or "20" ? gate.WaitAsync() : Task.CompletedTask),
            new WorkHostOptions<string> { DeadLetters = queue.DeadLetters });
        Task run = host.RunAsync(stop.Token);
        await Guard.UntilAsync(async () => await CountAsync() == 2, "The two that wait");
        Assert.Equal((43, 0), (host.Statistics.Succeeded, host.Statistics.AcknowledgedBatches));
        gate.Open();
        await Guard.UntilAsync(async () => await CountAsync() == 0, "Nothing is left");
        await stop.CancelAsync();
        await run.WithinAsync();
        Assert.Equal((45, 0, 0, 0), (host.Statistics.Succeeded, host.Statistics.Failed, host.Statistics.Returned, host.Statistics.Faults));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(-2)]
    [InlineData(86_400_001)]
    public void Interval_OutOfRange_IsRefused(int milliseconds)
    {
        ArgumentOutOfRangeException e = Assert.Throws<ArgumentOutOfRangeException>(
            () => Queue(o => o with { AcknowledgeInterval = TimeSpan.FromMilliseconds(milliseconds) }));
        Assert.StartsWith("AcknowledgeInterval must be from 1 millisecond to 1 day, or Timeout.InfiniteTimeSpan.", e.Message, StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit)]
    public async Task Interval_WithoutEnd_LeavesWholeBatches()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { AcknowledgeInterval = Timeout.InfiniteTimeSpan });
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Assert.Null(source.ItemAcknowledgement);
    }

    // One by one, because those that are enqueued together may be a pack.
    private static async Task EnqueueRowsAsync(PostgresWorkQueue<string> queue, int count)
    {
        foreach (WorkItem<string> item in Values(count))
        {
            await queue.EnqueueAsync([item]);
        }
    }

    private static async Task<bool> AcknowledgeAsync(IWorkSource<string> source, WorkBatch<string> batch, params int[] places) =>
        await source.ItemAcknowledgement!.AcknowledgeItemsAsync([new DoneItems<string>(batch, places)], CancellationToken.None);
}
