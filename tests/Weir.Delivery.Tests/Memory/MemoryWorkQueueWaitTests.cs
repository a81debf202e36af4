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
}
