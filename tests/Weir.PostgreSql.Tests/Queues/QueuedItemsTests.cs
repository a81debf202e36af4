using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>Looking at the items of a queue, and cancelling some.</summary>
public sealed class QueuedItemsTests(PostgresServer server) : QueueTest(server)
{
    [Fact(Timeout = Limit)]
    public async Task List_MoreThanAPage_HasAllInOrderWithTheirState()
    {
        PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { MaxItemsPerBatch = 3 });
        await queue.EnqueueAsync(Values(120, static i => i % 2 == 0 ? "even" : null));
        await queue.EnqueueAsync([new WorkItem<string>(new WorkId("later", 0), "z")], TimeSpan.FromDays(1));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        WorkBatch<string> taken = await NextAsync(source);
        List<QueuedItem> items = await queue.QueuedItems!.ListAsync(1000).ToListAsync();

        Assert.Equal([.. Values(120).Select(static v => v.Id.ToString()), "later/0"], items.Select(static i => i.Id));
        Assert.Equal(taken.Items.Select(static i => i.Id.ToString()), items.Where(static i => i.IsInFlight).Select(static i => i.Id));
        Assert.Equal(("even", 1, "0"), (items[0].Key, items[0].Attempt, WorkSerializer.Text.Read(items[0].Payload.Span)));
        Assert.True(items[^1].Due > items[0].Due + TimeSpan.FromHours(23));
        Assert.Equal(70, (await queue.QueuedItems.ListAsync(70).ToListAsync()).Count);
        Assert.Throws<ArgumentOutOfRangeException>(() => queue.QueuedItems.ListAsync(0));
    }

    [Fact(Timeout = Limit)]
    public async Task Cancel_RemovesWhatNoWorkerHas()
    {
        PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { MaxItemsPerBatch = 1 });
        IReadOnlyList<WorkItem<string>> values = Values(3);
        await queue.EnqueueAsync(values);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        WorkBatch<string> taken = await NextAsync(source);
        WorkId running = taken.Items[0].Id;
        WorkId waiting = values.First(v => v.Id != running).Id;

        QueuedItem found = (await queue.QueuedItems!.FindAsync(running))!;
        Assert.Equal((true, taken.Items[0].Value), (found.IsInFlight, WorkSerializer.Text.Read(found.Payload.Span)));
        Assert.Equal(1, await queue.QueuedItems.CancelAsync([running, waiting, new WorkId("none", 7), waiting, default]));
        Assert.Null(await queue.QueuedItems.FindAsync(waiting));
        Assert.Null(await queue.QueuedItems.FindAsync(default));
        await source.AcknowledgeAsync([taken], CancellationToken.None);
        Assert.Equal(values.Select(static v => v.Id).Single(id => id != running && id != waiting), (await NextAsync(source)).Items[0].Id);
        Assert.Equal(1, await CountAsync());
        Assert.Empty(await queue.DeadLetters.ListAsync().ToListAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Cancel_TheFirstItemOfAKey_FreesTheNext()
    {
        PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { KeepKeyOrder = true });
        await queue.EnqueueAsync([new WorkItem<string>(new WorkId("later", 0), "z", "k")], TimeSpan.FromDays(1));
        await queue.EnqueueAsync(Values(1, static _ => "k"));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Task<WorkBatch<string>> next = NextAsync(source);
        await Guard.SettleAsync();
        Assert.False(next.IsCompleted);
        Assert.Equal(1, await queue.QueuedItems!.CancelAsync([new WorkId("later", 0)]));
        Assert.Equal(["0"], ValuesOf(await next));
    }
}
