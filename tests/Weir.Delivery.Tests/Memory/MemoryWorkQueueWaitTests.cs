using System.Collections.Concurrent;

namespace Weir.Delivery.Tests.Memory;

/// <summary>Many who wait for a queue in memory, some of whom give up.</summary>
public sealed class MemoryWorkQueueWaitTests
{
    private const int Limit = 120_000;
    private const int Readers = 60;
    private const int Writers = 20;
    private const int ItemsOfAWriter = 200;

    [Theory(Timeout = Limit)]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public async Task ReadersAndWriters_GiveUpAtAnyTime_NobodyIsForgotten(int seed)
    {
        await using var queue = new MemoryWorkQueue<string>("q", WorkSerializer.Text, new MemoryWorkQueueOptions { Capacity = 7, MaxItemsPerBatch = 3 });
        var seen = new ConcurrentDictionary<string, int>();
        async Task ReadAsync(int reader)
        {
            var random = new Random((seed * 1000) + reader);
            await using IWorkSource<string> source = await queue.OpenSourceAsync();
            while (true)
            {
                // Some of them wait a little, and then come again.
                using var patience = new CancellationTokenSource();
                Task<WorkBatch<string>?> next = source.ReadAsync(patience.Token).AsTask();
                if (random.Next(3) == 0)
                {
                    await Task.Yield();
                    await patience.CancelAsync();
                }

                try
                {
                    if (await next is not { } batch)
                    {
                        return;
                    }

                    if (random.Next(5) == 0)
                    {
                        await source.ReturnAsync([batch], CancellationToken.None);
                        continue;
                    }

                    foreach (WorkItem<string> item in batch.Items)
                    {
                        seen.AddOrUpdate(item.Value, 1, static (_, n) => n + 1);
                    }

                    await source.AcknowledgeAsync([batch], CancellationToken.None);
                }
                catch (OperationCanceledException)
                {
                    // Again.
                }
            }
        }

        async Task WriteAsync(int writer)
        {
            await Task.Yield();
            await using IWorkSink<string> sink = await queue.OpenSinkAsync();
            for (int i = 0; i < ItemsOfAWriter; i += 5)
            {
                await sink.WriteAsync([.. Enumerable.Range(i, 5).Select(n => WorkItem.Create($"{writer}:{n}"))], null, CancellationToken.None);
            }
        }

        Task[] readers = [.. Enumerable.Range(0, Readers).Select(r => Task.Run(() => ReadAsync(r)))];
        await Task.WhenAll(Enumerable.Range(0, Writers).Select(WriteAsync)).WithinAsync("the writers");
        queue.Complete();
        await Task.WhenAll(readers).WithinAsync("the readers");
        Assert.Equal(Writers * ItemsOfAWriter, seen.Count);
        Assert.All(seen.Values, static n => Assert.Equal(1, n));
    }

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
