using RabbitMQ.Client;
using Weir.Lab.Network;
using Weir.RabbitMQ.Tests.Servers;

namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>A broker that does not answer, on a connection that nobody ends: nothing waits for ever.</summary>
public sealed class StallTests(RabbitServer server) : QueueTest(server)
{
    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(50);

    [Fact(Timeout = Limit)]
    public async Task Read_RabbitDoesNotAnswer_CanBeRepeated()
    {
        await using var proxy = new FaultProxy(Server.Worker.Host, Server.Worker.Port);
        await using RabbitWorkQueue<string> queue = await StalledQueueAsync(proxy, static o => o);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        ConsumerLink link = ((RabbitWorkSource<string>)source).Link()!;
        link.Amqp.ContinuationTimeout = Short;
        proxy.Stall();

        // A source begins with the question whether there are suspects.
        await Assert.ThrowsAsync<TimeoutException>(async () => await source.ReadAsync(CancellationToken.None).WithinAsync("the answer"));
        Assert.False(link.IsOpen);
        proxy.Resume();

        // What is published while the broker still has the old consumer goes to that one, and comes here as what a process died with.
        await Guard.UntilAsync(async () => await ConsumersAsync() == 0, "The end of the old consumer");
        await PublishAsync(queue, Values(3));
        WorkBatch<string> batch = await NextAsync(source);
        Assert.Equal(3, batch.Items.Count);
        await source.AcknowledgeAsync([batch], CancellationToken.None);
    }

    [Fact(Timeout = Limit)]
    public async Task Read_ASuspectComesAsALateAnswer_IsNotHeldByNobody()
    {
        await using var proxy = new FaultProxy(Server.Worker.Host, Server.Worker.Port);
        await using RabbitWorkQueue<string> queue = await StalledQueueAsync(proxy, static o => o);
        await PublishAsync(queue, Values(1));
        IWorkSource<string> dead = await queue.OpenSourceAsync();
        await NextAsync(dead);
        await CutAsync(dead);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        await MakeSuspectAsync(source);
        ConsumerLink link = ((RabbitWorkSource<string>)source).Link()!;
        link.Amqp.ContinuationTimeout = Short;
        proxy.Stall();
        await Assert.ThrowsAsync<TimeoutException>(async () => await link.GetAsync(queue.Names.Suspects, CancellationToken.None).AsTask().WithinAsync());
        proxy.Resume();
        WorkBatch<string> batch = await NextAsync(source);
        Assert.Equal((1, true), (batch.Items.Count, batch.IsSuspect));
        await source.AcknowledgeAsync([batch], CancellationToken.None);
        await source.DisposeAsync();
        Assert.Equal((0u, 0u), (await CountAsync(Name), await CountAsync(queue.Names.Suspects)));
    }

    [Fact(Timeout = Limit)]
    public async Task Dispose_NothingPassesTheConnection_Ends()
    {
        await using var proxy = new FaultProxy(Server.Worker.Host, Server.Worker.Port);
        RabbitWorkQueue<string> queue = await StalledQueueAsync(proxy, static o => o with { MaxItemsPerMessage = 1, ConfirmWindow = 2000 });
        IWorkSink<string> sink = await queue.OpenSinkAsync();
        proxy.Stall();

        // More than the buffers between here and there take.
        string large = new('x', 200_000);
        WorkItem<string>[] items = [.. Values(200).Select(i => i.With(large))];
        Task writing = sink.WriteAsync(items, null, CancellationToken.None).AsTask();
        await Guard.SettleAsync();
        await queue.DisposeAsync().AsTask().WithinAsync("the end of the queue");
        await writing.EndsAsync("publishing");
        Assert.True(writing.IsFaulted);
    }

    [Fact(Timeout = Limit)]
    public async Task Dispose_ASourceWithoutAnAnswer_EndsWithItsLimit()
    {
        var clock = new ManualTimeProvider();
        await using var proxy = new FaultProxy(Server.Worker.Host, Server.Worker.Port);
        await using RabbitWorkQueue<string> queue = await StalledQueueAsync(proxy, o => o with { TimeProvider = clock });
        await PublishAsync(queue, Values(3));
        IWorkSource<string> source = await queue.OpenSourceAsync();
        await NextAsync(source);

        // The client itself waits for an answer for as long as this.
        ((RabbitWorkSource<string>)source).Link()!.Amqp.ContinuationTimeout = TimeSpan.FromMinutes(10);
        proxy.Stall();
        Task disposing = source.DisposeAsync().AsTask();
        await Guard.UntilAsync(() => clock.NextDue == TimeSpan.FromSeconds(10), "The limit");
        clock.Advance(TimeSpan.FromSeconds(10));
        await disposing.WithinAsync("the end of the source");
        proxy.Resume();
    }

    [Fact(Timeout = Limit)]
    public async Task Dispose_ACountWithoutAnAnswer_DoesNotWaitForIt()
    {
        await using var proxy = new FaultProxy(Server.Worker.Host, Server.Worker.Port);

        // The client would wait for as long as this.
        RabbitWorkQueue<string> queue = await StalledQueueAsync(
            proxy, static o => o with { ConfigureConnection = static c => c.ContinuationTimeout = TimeSpan.FromMinutes(10) });
        await queue.GetStatisticsAsync();
        proxy.Stall();
        Task<WorkStatistics> counting = queue.GetStatisticsAsync().AsTask();
        await Guard.SettleAsync();
        Assert.False(counting.IsCompleted);
        await queue.DisposeAsync().AsTask().WithinAsync("the end of the queue");
        await Assert.ThrowsAsync<ObjectDisposedException>(() => counting.WithinAsync("the count"));
    }

    [Fact(Timeout = Limit)]
    public async Task GetStatistics_CancelledWithoutAnAnswer_EndsAndLaterWorks()
    {
        await using var proxy = new FaultProxy(Server.Worker.Host, Server.Worker.Port);
        await using RabbitWorkQueue<string> queue = await StalledQueueAsync(
            proxy, static o => o with { ConfigureConnection = static c => c.ContinuationTimeout = TimeSpan.FromMinutes(10) });
        await queue.GetStatisticsAsync();
        proxy.Stall();
        using CancellationTokenSource source = new();
        Task<WorkStatistics> counting = queue.GetStatisticsAsync(source.Token).AsTask();
        await Guard.SettleAsync();
        await source.CancelAsync();
        OperationCanceledException e = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => counting.WithinAsync("the count"));
        Assert.Equal(source.Token, e.CancellationToken);
        proxy.Resume();
        Assert.Equal(0, (await queue.GetStatisticsAsync().WithinAsync("the next count")).WaitingMessages);
    }

    // The connection that publishes lives as long as the queue, so a channel that is left open on it stays.
    [Fact(Timeout = Limit)]
    public async Task OpenSink_CancelledWhileItChecksTheNames_LeavesNoChannelOpen()
    {
        await using var proxy = new FaultProxy(Server.Worker.Host, Server.Worker.Port);
        await using RabbitWorkQueue<string> queue = await StalledQueueAsync(proxy, static o => o);
        await queue.OpenSinkAsync();
        ushort free = await FreeChannelAsync(queue);
        proxy.Stall();
        using CancellationTokenSource source = new();
        Task<IWorkSink<string>> opening = queue.OpenSinkAsync(source.Token).AsTask();

        // The broker has been asked for a channel, and says yes later than the caller gives up.
        await Guard.SettleAsync();
        Assert.False(opening.IsCompleted);
        await source.CancelAsync();
        proxy.Resume();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => opening.WithinAsync("opening the sink"));

        // However often it takes: only the test's own limit ends this.
        while (await FreeChannelAsync(queue) != free)
        {
            await Guard.PauseAsync();
        }
    }

    private Task<uint> ConsumersAsync() => AsAdminAsync(async channel => (await channel.QueueDeclarePassiveAsync(Name)).ConsumerCount);

    /// <summary>The least number of a channel that is free on the connection that publishes.</summary>
    private static async Task<ushort> FreeChannelAsync(RabbitWorkQueue<string> queue)
    {
        int number = 0;
        await queue.Publisher.UseAsync(
            async connection =>
            {
                await using IChannel channel = await connection.CreateChannelAsync();
                number = channel.ChannelNumber;
                await channel.CloseAsync();
            },
            CancellationToken.None);
        return (ushort)number;
    }

    private async Task<RabbitWorkQueue<string>> StalledQueueAsync(FaultProxy proxy, Func<RabbitWorkQueueOptions, RabbitWorkQueueOptions> change)
    {
        await (await NewQueueAsync(change)).DisposeAsync();
        return Queue(change, new UriBuilder(Server.Worker) { Host = "127.0.0.1", Port = proxy.Port }.Uri);
    }

    // A message that was delivered before goes there when the next source gets it, and it is there again when that source does not want it.
    private static async Task MakeSuspectAsync(IWorkSource<string> source)
    {
        WorkBatch<string> suspect = await NextAsync(source);
        Assert.True(suspect.IsSuspect);
        await source.ReturnAsync([suspect], CancellationToken.None);
    }
}
