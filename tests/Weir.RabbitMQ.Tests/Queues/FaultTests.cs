using System.Collections.Concurrent;
using RabbitMQ.Client;
using Weir.RabbitMQ.Tests.Servers;
using Weir.Runtimes;

namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>Connections and channels that end and brokers that are killed: nothing is lost.</summary>
public sealed class FaultTests(RabbitServer server) : QueueTest(server)
{
    [Fact(Timeout = Limit)]
    public async Task Hosts_ConnectionsAreCut_LoseNothing()
    {
        const int Count = 2000;
        await using RabbitWorkQueue<string> queue = await NewQueueAsync(static o => o with { MaxItemsPerMessage = 10 });
        var done = new ConcurrentDictionary<string, int>();
        using var stop = new CancellationTokenSource();
        await using IWorkSource<string> first = await queue.OpenSourceAsync();
        await using IWorkSource<string> second = await queue.OpenSourceAsync();
        Task[] hosts = [RunHostAsync(queue, first, done, stop.Token), RunHostAsync(queue, second, done, stop.Token)];
        int published = 0;
        foreach (WorkItem<string>[] part in Values(Count).Chunk(200))
        {
            await PublishAsync(queue, part);
            published += part.Length;
            int half = published - (part.Length / 2);
            await Guard.UntilAsync(() => done.Count >= half, "Half of what was published");
            await CutAsync(published % 400 == 0 ? first : second);
            await queue.Publisher.UseAsync(static connection => new ValueTask(connection.AbortAsync()), CancellationToken.None);
        }

        await Guard.UntilAsync(() => done.Count == Count, "Everything done");
        await stop.CancelAsync();
        await Task.WhenAll(hosts).WithinAsync("the hosts");
        Assert.Empty(await LettersAsync(queue));
    }

    [Fact(Timeout = Limit)]
    public async Task Source_ItsChannelIsClosed_GetsEverythingAgainAndStaleTagsAreDropped()
    {
        await using RabbitWorkQueue<string> queue = await NewQueueAsync(static o => o with { MaxItemsPerMessage = 1 });
        await PublishAsync(queue, Values(3));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        WorkBatch<string> stale = await NextAsync(source);
        WorkBatch<string> done = await NextAsync(source);
        await source.AcknowledgeAsync([done], CancellationToken.None);
        ConsumerLink link = ((RabbitWorkSource<string>)source).Link()!;

        // A tag that RabbitMQ does not know makes it close the channel.
        await link.AcknowledgeAsync([1_000_000], isLast: true);
        await Guard.UntilAsync(() => !link.IsOpen, "The end of the channel");
        await source.AcknowledgeAsync([stale], CancellationToken.None);
        await source.ReturnAsync([stale], CancellationToken.None);
        await source.Redelivery!.RedeliverAsync(stale, stale.Items, TimeSpan.Zero, CancellationToken.None);
        HashSet<string> missing = ["0", "2"];
        while (missing.Count > 0)
        {
            WorkBatch<string> batch = await NextAsync(source);
            Assert.Equal((1, 1, true), (batch.Items.Count, batch.Items[0].Attempt, missing.Remove(batch.Items[0].Value)));
            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }

        Assert.Equal((0u, 0u), (await CountAsync(Name), await CountAsync(queue.Names.Suspects)));
    }

    [Fact(Timeout = Limit)]
    public async Task Acknowledge_InAnyOrder_LeavesNothingAndKeepsTheChannel()
    {
        const int Count = 300;
        await using RabbitWorkQueue<string> queue = await NewQueueAsync(static o => o with { MaxItemsPerMessage = 1, Prefetch = 50 });
        await PublishAsync(queue, Values(Count));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        ConsumerLink link = ((RabbitWorkSource<string>)source).Link()!;
        var random = new Random(11);
        List<WorkBatch<string>> held = [];
        for (int read = 0; read < Count || held.Count > 0;)
        {
            if (read < Count && held.Count < 40)
            {
                held.Add(await NextAsync(source));
                read++;
            }

            if (held.Count == 40 || read == Count)
            {
                WorkBatch<string>[] some = [.. held.OrderBy(_ => random.Next()).Take(random.Next(1, 6))];
                held.RemoveAll(some.Contains);
                await source.AcknowledgeAsync(some, CancellationToken.None);
            }
        }

        Assert.Same(link, ((RabbitWorkSource<string>)source).Link());
        Assert.True(link.IsOpen);
        await source.DisposeAsync();
        Assert.Equal(0u, await CountAsync(Name));
    }

    [Fact(Timeout = 3 * Limit)]
    public async Task Host_BrokerIsKilledAndStartedAgain_LosesNothing()
    {
        // A broker that is killed within moments of a queue's setup may have forgotten the exchange when it is back: then the host ends, and says so.
        Assert.SkipUnless(Environment.GetEnvironmentVariable("WEIR_STRESS") is { Length: > 0 }, "Kills a broker: run it with WEIR_STRESS=60.");
        const int Count = 300;
        string folder = Path.Combine(Path.GetTempPath(), $"weir-rmq-{Guid.NewGuid():N}");
        try
        {
            (int code, string output, string error) = await ServersScript.UpAsync(folder, SharedServers.Rabbit);
            Assert.SkipWhen(code != 0, $"No second broker can be started here: {error}");
            var own = new Uri(ServersScript.Connection(output, SharedServers.RabbitVariable)!);
            await using RabbitWorkQueue<string> queue = Queue(static o => o with { MaxItemsPerMessage = 10, ReconnectTimeout = TimeSpan.FromMinutes(10) }, own);
            await queue.SetupAsync();
            await PublishAsync(queue, Values(Count / 2));
            var done = new ConcurrentDictionary<string, int>();
            using var stop = new CancellationTokenSource();
            await using IWorkSource<string> source = await queue.OpenSourceAsync();
            await using IWorkSink<string> sink = await queue.OpenSinkAsync();
            Task host = RunHostAsync(queue, source, done, stop.Token);
            await Guard.UntilAsync(() => done.Count >= Count / 4, "A part of it done");
            Assert.Equal(0, (await ServersScript.RunAsync(folder, "kill", "rabbitmq")).Code);

            // It waits until the broker is there again.
            Task publishing = sink.WriteAsync([.. Values(Count).Skip(Count / 2)], null, CancellationToken.None).AsTask();
            while ((await ServersScript.UpAsync(folder, SharedServers.Rabbit)).Code != 0)
            {
                // A busy machine may take longer for it than the script waits.
            }

            await publishing.WithinAsync("publishing");

            // A broker that comes back on a machine that is busy takes its time, so only the test's own limit ends this.
            while (done.Count < Count && !host.IsCompleted)
            {
                await Guard.PauseAsync();
            }

            await stop.CancelAsync();
            await host.WithinAsync("the host");
            Assert.Equal(Count, done.Count);
        }
        finally
        {
            await ServersScript.RunAsync(folder, "down");
        }
    }

    private static async Task RunHostAsync(
        RabbitWorkQueue<string> queue, IWorkSource<string> source, ConcurrentDictionary<string, int> done, CancellationToken stop)
    {
        await using var runtime = new ConcurrentRuntime(4);
        var host = new WorkHost<string>(
            source,
            runtime,
            async (item, token) =>
            {
                await Task.Yield();
                done.AddOrUpdate(item.Value, 1, static (_, n) => n + 1);
            },
            new WorkHostOptions<string>
            {
                DeadLetters = queue.DeadLetters,
                Serializer = WorkSerializer.Text,
                MaxItemsInFlight = 60,

                // A connection that is cut looks like a crash, and these are cut often.
                MaxCrashes = 100,
            });
        await host.RunAsync(stop);
    }
}
