using Weir.RabbitMQ.Tests.Servers;

namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>What the broker says of a queue: it counts messages, and no items.</summary>
public sealed class StatisticsTests(RabbitServer server) : QueueTest(server)
{
    [Theory(Timeout = Limit)]
    [InlineData(0)]
    [InlineData(3)]
    public async Task GetStatistics_Messages_AreCountedOverAllQueues(int partitions)
    {
        await using RabbitWorkQueue<string> queue = await NewQueueAsync(
            o => o with { Partitions = partitions, MaxItemsPerMessage = 1, RetryDelays = [TimeSpan.FromHours(1)], Prefetch = 2 });
        await UntilAsync(queue, static now => now == (0, 0, 0));
        await PublishAsync(queue, Values(6, static i => $"{i}"));
        await UntilAsync(queue, static now => now == (6, 0, 0));
        if (partitions == 0)
        {
            await using IWorkSource<string> source = await queue.OpenSourceAsync();
            WorkBatch<string> batch = await NextAsync(source);
            await source.Redelivery!.RedeliverAsync(batch, batch.Items, TimeSpan.FromMinutes(1), CancellationToken.None);
            await source.AcknowledgeAsync([batch], CancellationToken.None);
            await UntilAsync(queue, static now => now is { Item2: 1, Item1: < 6 });
        }

        await queue.DeadLetters.AddAsync(
        [
            new DeadLetter
            {
                Id = "a", Source = Name, Reason = DeadLetterReason.Failed, Time = TimeProvider.System.GetUtcNow(), Payload = default,
            },
        ]);
        int left = partitions == 0 ? 5 : 6;
        await UntilAsync(queue, now => now == (left, 6 - left, 1));
        WorkStatistics known = await queue.GetStatisticsAsync();
        Assert.Equal((null, null, null, null), (known.Waiting, known.Scheduled, known.InFlight, known.OldestAge));
    }

    [Fact(Timeout = Limit)]
    public async Task GetStatistics_NotSetUp_SaysWhatToDoAndLaterWorks()
    {
        await using RabbitWorkQueue<string> queue = Queue();
        WorkSetupException e = await Assert.ThrowsAsync<WorkSetupException>(async () => await queue.GetStatisticsAsync());
        Assert.Contains("call SetupAsync once", e.Message, StringComparison.Ordinal);
        await using RabbitWorkQueue<string> setup = Queue(broker: Server.Admin);
        await setup.SetupAsync();
        Assert.Equal(0, (await queue.GetStatisticsAsync()).WaitingMessages);
    }

    [Fact(Timeout = Limit)]
    public async Task GetStatistics_Often_KeepsOneConnectionAndEndsWithTheQueue()
    {
        RabbitWorkQueue<string> queue = await NewQueueAsync();
        for (int i = 0; i < 5; i++)
        {
            await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => queue.GetStatisticsAsync().AsTask())).WithinAsync("the readings");
        }

        Assert.Equal(1, queue.Counting.Opened);
        await queue.Counting.CutAsync();
        Assert.Equal(0, (await queue.GetStatisticsAsync()).WaitingMessages);
        Assert.Equal(2, queue.Counting.Opened);
        await queue.DisposeAsync();
        await Assert.ThrowsAsync<ObjectDisposedException>(async () => await queue.GetStatisticsAsync());
    }

    // A quorum queue tells its counts to others a moment later.
    private static async Task UntilAsync(RabbitWorkQueue<string> queue, Func<(long?, long?, long?), bool> isSo)
    {
        // A broker that is busy takes its time, so a clock ends this, and no number of readings.
        using CancellationTokenSource patience = new(TimeSpan.FromSeconds(60), TimeProvider.System);
        (long?, long?, long?) last = default;
        while (!patience.IsCancellationRequested)
        {
            WorkStatistics now = await queue.GetStatisticsAsync();
            last = (now.WaitingMessages, now.ScheduledMessages, now.DeadLetters);
            if (isSo(last))
            {
                return;
            }

            await Guard.PauseAsync();
        }

        Assert.Fail($"The counts are {last}.");
    }
}
