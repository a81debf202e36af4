using System.Collections.Concurrent;
using System.Globalization;
using Weir.RabbitMQ.Tests.Servers;
using Weir.Runtimes;

namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>Items of the same key, in the order in which they were published.</summary>
public sealed class KeyOrderTests(RabbitServer server) : QueueTest(server)
{
    private static readonly Func<RabbitWorkQueueOptions, RabbitWorkQueueOptions> Keyed =
        static o => o with { Partitions = 4, MaxItemsPerMessage = 7, Prefetch = 8 };

    [Fact(Timeout = Limit)]
    public async Task Hosts_TakeOver_HaveEachKeyInOrder()
    {
        const int Count = 1200;
        await using RabbitWorkQueue<string> queue = await NewQueueAsync(Keyed);
        await PublishAsync(queue, Values(Count, static i => $"{i % 11}"));
        var order = new ConcurrentDictionary<string, ConcurrentQueue<int>>();
        int done = 0;
        for (int host = 0; host < 4; host++)
        {
            int until = (host + 1) * Count / 4;
            using var stop = new CancellationTokenSource();
            await using IWorkSource<string> source = await queue.OpenSourceAsync();
            Assert.Null(source.Redelivery);

            // It waits behind the first one.
            await using IWorkSource<string> second = await queue.OpenSourceAsync();
            await using var runtime = new ConcurrentRuntime(8);
            WorkHost<string>? worker = null;
            worker = new WorkHost<string>(
                source,
                runtime,
                async (item, token) =>
                {
                    await Task.Yield();
                    order.GetOrAdd(item.Key!, static _ => new()).Enqueue(int.Parse(item.Value, CultureInfo.InvariantCulture));
                    if (Interlocked.Increment(ref done) >= until)
                    {
                        await stop.CancelAsync();

                        // Until the host stops, which other threads do, the others would go on, and might leave nothing for the next host.
                        await Guard.UntilAsync(() => worker!.Statistics.State == WorkHostState.Draining, "The stop");
                    }
                },
                new WorkHostOptions<string> { DeadLetters = queue.DeadLetters, Serializer = WorkSerializer.Text, PartitionBy = static i => i.Key });
            await worker.RunAsync(stop.Token).WithinAsync("the host");
            Assert.Equal(WorkHostState.Stopped, worker.Statistics.State);
        }

        // What was done and not acknowledged as a whole message comes again, so an order is one but for steps back to what was seen before.
        Assert.All(order.Values, static seen =>
        {
            HashSet<int> known = [];
            int last = -1;
            foreach (int number in seen)
            {
                Assert.True(number > last || known.Contains(number), $"{number} after {last}");
                known.Add(number);
                last = Math.Max(last, number);
            }
        });
    }

    [Fact(Timeout = Limit)]
    public async Task Source_Ends_AnotherGoesOnInOrder()
    {
        await using RabbitWorkQueue<string> queue = await NewQueueAsync(static o => Keyed(o) with { MaxItemsPerMessage = 2 });
        await PublishAsync(queue, Values(40, static _ => "one key"));
        IWorkSource<string> first = await queue.OpenSourceAsync();
        await using IWorkSource<string> second = await queue.OpenSourceAsync();
        WorkBatch<string> batch = await NextAsync(first);
        Assert.Equal(["0", "1"], ValuesOf(batch));
        await first.ReturnAsync([batch], CancellationToken.None);
        batch = await NextAsync(first);
        Assert.Equal((false, "0 1"), (batch.IsSuspect, string.Join(' ', ValuesOf(batch))));
        await first.AcknowledgeAsync([batch], CancellationToken.None);
        Assert.Equal(["2", "3"], ValuesOf(await NextAsync(first)));
        await first.DisposeAsync();
        for (int next = 2; next < 40; next += 2)
        {
            batch = await NextAsync(second);
            Assert.Equal([$"{next}", $"{next + 1}"], ValuesOf(batch));
            Assert.Equal(0, batch.Crashes);
            await second.AcknowledgeAsync([batch], CancellationToken.None);
        }
    }

    [Fact]
    public void Partition_OfAKey_IsAlwaysTheSame()
    {
        var names = new QueueNames("a", new RabbitWorkQueueOptions { Partitions = 4 });
        Dictionary<string, int> counts = [];
        for (int i = 0; i < 1000; i++)
        {
            string partition = names.PartitionOf($"key {i}", new WorkId("x", i));
            Assert.Equal(partition, names.PartitionOf($"key {i}", new WorkId("y", 0)));
            counts[partition] = counts.GetValueOrDefault(partition) + 1;
        }

        Assert.Equal(4, counts.Count);
        Assert.All(counts.Values, static n => Assert.InRange(n, 150, 350));
        Assert.Equal("a.3", names.PartitionOf("one key", new WorkId("x", 0)));
    }
}
