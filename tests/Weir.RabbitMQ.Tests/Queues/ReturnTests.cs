using Weir.RabbitMQ.Tests.Servers;

namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>What a source is returned after its connection was lost, and what it does after that.</summary>
public sealed class ReturnTests(RabbitServer server) : QueueTest(server)
{
    private readonly ManualTimeProvider _clock = new();

    [Theory(Timeout = Limit)]
    [InlineData(0)]
    [InlineData(1)]
    public async Task Return_TheConnectionWasLost_TheSourceGetsItAgain(int partitions)
    {
        await using RabbitWorkQueue<string> queue = await NewQueueAsync(o => o with { Partitions = partitions });
        await PublishAsync(queue, Values(3, static _ => "key"));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        var batch = (RabbitBatch<string>)await NextAsync(source);
        await CutAsync(source);
        await source.ReturnAsync([batch], CancellationToken.None);

        // It is a suspect then, which starts only when the source has nothing else.
        HashSet<string> left = [.. ValuesOf(batch)];
        while (left.Count > 0)
        {
            WorkBatch<string> again = await NextAsync(source);
            left.ExceptWith(ValuesOf(again));
            await source.AcknowledgeAsync([again], CancellationToken.None);
        }

        await source.DisposeAsync();
        Assert.Equal(0u, await CountAsync(queue.Names.Work[0]));
    }

    [Fact(Timeout = Limit)]
    public async Task Return_OnlyACopyIsLeftAndTheConnectionWasLost_IsDeliveredAgain()
    {
        await using RabbitWorkQueue<string> queue = await NewQueueAsync(o => o with { TimeProvider = _clock });
        await PublishAsync(queue, Values(1));
        IWorkSource<string> dead = await queue.OpenSourceAsync();
        await NextAsync(dead);
        await CutAsync(dead);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        var batch = (RabbitBatch<string>)await NextAsync(source);
        Assert.True(batch.IsSuspect);

        // The copy waits with the suspects for as long as the source has something else, and that is the batch.
        _clock.Advance(TimeSpan.FromMinutes(28));
        await Assert.ThrowsAsync<TimeoutException>(() => NextAsync(source));
        Assert.Equal((true, 1u), (batch.IsAway, await CountAsync(queue.Names.Suspects)));
        await CutAsync(source);
        await source.ReturnAsync([batch], CancellationToken.None);
        WorkBatch<string> again = await NextAsync(source);
        Assert.Equal(["0"], ValuesOf(again));
        await source.AcknowledgeAsync([again], CancellationToken.None);

        // The copy itself goes when the source comes to it: what it stands for was published again.
        await PublishAsync(queue, [WorkItem.Create("last")]);
        Assert.Equal(["last"], ValuesOf(await NextAsync(source)));
    }
}
