namespace Weir.Delivery.TestKit;

/// <content>What a queue says of itself: its serializer, and how much waits.</content>
public abstract partial class WorkQueueContract
{
    [Fact(Timeout = Limit)]
    public async Task Serializer_OfTheQueue_IsThatOfItsSources()
    {
        await using IWorkQueue<string> queue = await NewQueueAsync();
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Assert.Same(WorkSerializer.Text, queue.Serializer);
        Assert.Same(queue.Serializer, source.Serializer);
    }

    [Fact(Timeout = Limit)]
    public async Task Statistics_PublishedAndDone_AreMoreAndThenNoneAgain()
    {
        await using IWorkQueue<string> queue = await NewQueueAsync();
        Assert.Equal(0, Waiting(await queue.GetStatisticsAsync()));
        await PublishAsync(queue, Items(10));
        await UntilAsync(static waiting => waiting > 0);
        await using (IWorkSource<string> source = await queue.OpenSourceAsync())
        {
            Assert.Equal(source.MessagingSystem, queue.MessagingSystem);
            await ReadAsync(source, 10, acknowledge: true);
        }

        await UntilAsync(static waiting => waiting == 0);
        WorkStatistics end = await queue.GetStatisticsAsync();
        Assert.Equal((0, 0), (end.InFlight ?? 0, end.DeadLetters));

        // A broker may know of a message a moment later.
        async Task UntilAsync(Func<long, bool> isSo)
        {
            while (!isSo(Waiting(await queue.GetStatisticsAsync())))
            {
                await Guard.PauseAsync();
            }
        }
    }

    private static long Waiting(WorkStatistics now) => now.Waiting ?? now.WaitingMessages ?? throw new InvalidOperationException("The queue counts nothing.");
}
