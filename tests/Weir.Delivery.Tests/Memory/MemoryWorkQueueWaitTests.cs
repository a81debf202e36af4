namespace Weir.Delivery.Tests.Memory;

/// <summary>Many who wait for a queue in memory, some of whom give up.</summary>
public sealed class MemoryWorkQueueWaitTests
{
    private const int Limit = 120_000;

    [Fact(Timeout = Limit)]
    public async Task Complete_WritersWait_SaysSoToThem()
    {
        await using var queue = new MemoryWorkQueue<string>("q", WorkSerializer.Text, new MemoryWorkQueueOptions { Capacity = 1 });
        await using IWorkSink<string> sink = await queue.OpenSinkAsync();
        Task[] writes = [.. Enumerable.Range(0, 3).Select(_ => sink.WriteAsync([WorkItem.Create("a"), WorkItem.Create("b")], null, default).AsTask())];
        queue.Complete();
        foreach (Task write in writes)
        {
            await Assert.ThrowsAsync<InvalidOperationException>(() => write.WithinAsync());
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Redeliver_AfterLongerThanATimerLasts_ComesWhenItIsTime()
    {
        ManualTimeProvider clock = new();
        await using var queue = new MemoryWorkQueue<string>("q", WorkSerializer.Text, new MemoryWorkQueueOptions { TimeProvider = clock });
        await using IWorkSink<string> sink = await queue.OpenSinkAsync();
        await sink.WriteAsync([WorkItem.Create("a")], null, default);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        WorkBatch<string> batch = (await source.ReadAsync(default).AsTask().WithinAsync())!;
        await source.Redelivery!.RedeliverAsync(batch, batch.Items, TimeSpan.FromDays(120), default);
        await source.AcknowledgeAsync([batch], default);
        clock.Advance(TimeSpan.FromDays(119));
        Assert.Equal((0L, 1L), await WaitingAsync());
        clock.Advance(TimeSpan.FromDays(1));
        Assert.Equal((1L, 0L), await WaitingAsync());

        async Task<(long?, long?)> WaitingAsync()
        {
            WorkStatistics now = await queue.GetStatisticsAsync();
            return (now.Waiting, now.Scheduled);
        }
    }
}
