using Weir.RabbitMQ.Tests.Servers;

namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>Messages that are done wait for others that are done soon after, but not for long.</summary>
public sealed class AcknowledgementTests(RabbitServer server) : QueueTest(server)
{
    private const int Prefetch = 8;

    private readonly ManualTimeProvider _clock = new();

    [Fact(Timeout = Limit)]
    public async Task Acknowledge_OneWhileOthersAreOpen_IsToldAfterTheWait()
    {
        await using RabbitWorkQueue<string> queue = await FilledAsync();
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        List<WorkBatch<string>> open = await TakeAsync(source, Prefetch);
        await source.AcknowledgeAsync([open[3]], CancellationToken.None);
        Assert.Equal(1, LinkOf(source).Waiting);

        // The broker has a message more to give once it knows of the one that is done.
        _clock.Advance(TimeSpan.FromMilliseconds(10));
        Assert.Equal(["8"], ValuesOf(await NextAsync(source)));

        // The broker may answer before who told it has noted that.
        await Guard.UntilAsync(() => LinkOf(source).Waiting == 0, "The end of the telling");
    }

    [Fact(Timeout = Limit)]
    public async Task Acknowledge_AQuarterOfThePrefetch_IsToldAtOnce()
    {
        await using RabbitWorkQueue<string> queue = await FilledAsync();
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        List<WorkBatch<string>> open = await TakeAsync(source, Prefetch);
        await source.AcknowledgeAsync([open[0]], CancellationToken.None);
        await source.AcknowledgeAsync([open[5]], CancellationToken.None);
        Assert.Equal(0, LinkOf(source).Waiting);
        Assert.Equal(["8"], ValuesOf(await NextAsync(source)));
        Assert.Equal(["9"], ValuesOf(await NextAsync(source)));
    }

    [Fact(Timeout = Limit)]
    public async Task Acknowledge_TheLastThatIsOpen_IsToldAtOnceWithWhatWaits()
    {
        await using RabbitWorkQueue<string> queue = await FilledAsync();
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        List<WorkBatch<string>> open = await TakeAsync(source, 2);
        await source.AcknowledgeAsync([open[1]], CancellationToken.None);
        Assert.Equal(1, LinkOf(source).Waiting);
        await source.AcknowledgeAsync([open[0]], CancellationToken.None);
        Assert.Equal(0, LinkOf(source).Waiting);
    }

    [Theory(Timeout = Limit)]
    [InlineData(0)]
    [InlineData(1)]
    public async Task Dispose_WithADoneMessageThatWaits_TellsIt(int partitions)
    {
        await using RabbitWorkQueue<string> queue = await FilledAsync(partitions);
        await using (IWorkSource<string> source = await queue.OpenSourceAsync())
        {
            List<WorkBatch<string>> open = await TakeAsync(source, 3);
            await source.AcknowledgeAsync([open[1]], CancellationToken.None);
            Assert.Equal(1, LinkOf(source).Waiting);
        }

        await using IWorkSource<string> next = await queue.OpenSourceAsync();
        HashSet<string> left = [];
        while (left.Count < 9)
        {
            WorkBatch<string> batch = await NextAsync(next);
            left.UnionWith(ValuesOf(batch));
            await next.AcknowledgeAsync([batch], CancellationToken.None);
        }

        Assert.DoesNotContain("1", left);
    }

    private static ConsumerLink LinkOf(IWorkSource<string> source) => ((RabbitWorkSource<string>)source).Link()!;

    private static async Task<List<WorkBatch<string>>> TakeAsync(IWorkSource<string> source, int count)
    {
        List<WorkBatch<string>> open = [];
        while (open.Count < count)
        {
            open.Add(await NextAsync(source));
        }

        return open;
    }

    private async Task<RabbitWorkQueue<string>> FilledAsync(int partitions = 0)
    {
        RabbitWorkQueue<string> queue = await NewQueueAsync(
            o => o with { MaxItemsPerMessage = 1, Prefetch = Prefetch, Partitions = partitions, TimeProvider = _clock });
        await PublishAsync(queue, Values(10, static _ => "key"));
        return queue;
    }
}
