using System.Runtime.CompilerServices;
using Weir.TestKit;

namespace Weir.Delivery.Tests.Memory;

/// <summary>Does a queue in memory, or a source that waits for it, hold what was acknowledged?</summary>
public sealed class MemoryWorkQueueLeakTests
{
    [Fact(Timeout = 120_000)]
    public async Task AcknowledgedItems_AreHeldByNothing()
    {
        await using MemoryWorkQueue<string> queue = new("q", WorkSerializer.Text, new MemoryWorkQueueOptions { MaxItemsPerBatch = 3 });
        await using IWorkSource<string> source = await queue.OpenSourceAsync(TestContext.Current.CancellationToken);
        WeakReference[] read = await ReadAsync(queue, source);

        // The source is open, and somebody waits for more.
        Task<WorkBatch<string>?> next = source.ReadAsync(TestContext.Current.CancellationToken).AsTask();
        await Leak.GoneAsync(read, "batches and items that were acknowledged");
        queue.Complete();
        Assert.Null(await next.WithinAsync());
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static async Task<WeakReference[]> ReadAsync(MemoryWorkQueue<string> queue, IWorkSource<string> source)
    {
        List<WeakReference> read = [];
        await using IWorkSink<string> sink = await queue.OpenSinkAsync();
        await sink.WriteAsync([.. Enumerable.Range(0, 20).Select(static n => WorkItem.Create($"item {n}"))], null, CancellationToken.None);
        for (int items = 0; items < 20;)
        {
            WorkBatch<string> batch = (await source.ReadAsync(CancellationToken.None))!;
            read.Add(new WeakReference(batch));
            read.AddRange(batch.Items.Select(static item => new WeakReference(item.Value)));
            items += batch.Items.Count;
            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }

        return [.. read];
    }
}
