using System.Collections.Concurrent;
using System.Diagnostics;
using RabbitMQ.Client;
using Weir.RabbitMQ.Tests.Servers;

namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>Publishing: what a message is, what is refused, and what becomes of it when the connection is lost.</summary>
public sealed class PublishTests(RabbitServer server) : QueueTest(server)
{
    [Fact(Timeout = Limit)]
    public async Task Write_AlarmOfTheBroker_IsSaidAndWaits()
    {
        ConcurrentQueue<string> notices = [];
        await using RabbitWorkQueue<string> queue = await NewQueueAsync(o => o with { OnNotice = notices.Enqueue });
        await using IWorkSink<string> sink = await queue.OpenSinkAsync();
        Task write;
        await Server.CommandAsync("eval", "rabbit_alarm:set_alarm({{resource_limit, disk, node()}, []}).");
        try
        {
            write = sink.WriteAsync(Values(1), null, CancellationToken.None).AsTask();
            await Guard.UntilAsync(() => !notices.IsEmpty, "The sentence");
            Assert.False(write.IsCompleted);
        }
        finally
        {
            await Server.CommandAsync("eval", "rabbit_alarm:clear_alarm({resource_limit, disk, node()}).");
        }

        await write.WithinAsync("the call");
        await Guard.UntilAsync(() => notices.Count == 2, "The other sentence");
        Assert.Contains("takes no messages for the queue", notices.First(), StringComparison.Ordinal);
        Assert.Contains("disk", notices.First(), StringComparison.Ordinal);
        Assert.Contains("again", notices.Last(), StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit)]
    public async Task Write_Message_IsPersistentAndNamedAndHasTheTraceContext()
    {
        await using RabbitWorkQueue<string> queue = await NewQueueAsync();
        using var activity = new Activity("publish");
        activity.SetIdFormat(ActivityIdFormat.W3C);
        activity.Start();
        await PublishAsync(queue, Values(300));
        activity.Stop();
        BasicGetResult message = await AsAdminAsync(async channel => (await channel.BasicGetAsync(Name, autoAck: false))!);
        Assert.Equal((DeliveryModes.Persistent, "values/0-255"), (message.BasicProperties.DeliveryMode, message.BasicProperties.MessageId));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        List<WorkItem<string>> items = [];
        while (items.Count < 300)
        {
            WorkBatch<string> batch = await NextAsync(source);
            items.AddRange(batch.Items);
            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }

        Assert.All(items, i => Assert.Equal(activity.Id, i.Headers!["traceparent"]));
    }

    [Fact(Timeout = Limit)]
    public async Task Write_TheQueueIsFull_SaysWhichMessagesWereRefused()
    {
        await using RabbitWorkQueue<string> queue = await NewQueueAsync(static o => o with { MaxMessages = 3, MaxItemsPerMessage = 1 });
        await using IWorkSink<string> sink = await queue.OpenSinkAsync();
        RabbitRefusedException? refused = null;
        while (refused is null)
        {
            // RabbitMQ takes some more than that, because it says that it is full only after it is.
            try
            {
                await sink.WriteAsync(Values(200), null, CancellationToken.None).WithinAsync("publishing");
            }
            catch (RabbitRefusedException e)
            {
                refused = e;
            }
        }

        Assert.NotEmpty(refused.MessageIds);
        Assert.All(refused.MessageIds, static id => Assert.StartsWith("values/", id, StringComparison.Ordinal));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        HashSet<string> missing = [.. Values(200).Select(static i => $"{i.Id}").Except(refused.MessageIds)];
        while (missing.Count > 0)
        {
            WorkBatch<string> batch = await NextAsync(source);
            missing.Remove($"{batch.Items[0].Id}");
            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Write_ConnectionsAreLost_EverythingIsThereUnderItsName()
    {
        const int Count = 4000;
        await using RabbitWorkQueue<string> queue = await NewQueueAsync(static o => o with { MaxItemsPerMessage = 1, ConfirmWindow = 64 });
        await using IWorkSink<string> sink = await queue.OpenSinkAsync();
        using var done = new CancellationTokenSource();
        Task cutting = Task.Run(async () =>
        {
            for (int cuts = 0; cuts < 10 && !done.IsCancellationRequested; cuts++)
            {
                await queue.Publisher.UseAsync(static connection => new ValueTask(connection.AbortAsync()), CancellationToken.None);
                await Guard.PauseAsync();
            }
        });
        Task[] writes = [.. Values(Count).Chunk(Count / 4).Select(part => sink.WriteAsync(part, null, CancellationToken.None).AsTask())];
        await Task.WhenAll(writes).WithinAsync("publishing");
        await done.CancelAsync();
        await cutting.WithinAsync("cutting");
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        HashSet<string> missing = [.. Values(Count).Select(static i => i.Value)];
        while (missing.Count > 0)
        {
            WorkBatch<string> batch = await NextAsync(source);
            missing.ExceptWith(ValuesOf(batch));
            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Write_Cancelled_LeavesTheSinkUsable()
    {
        await using RabbitWorkQueue<string> queue = await NewQueueAsync(static o => o with { MaxItemsPerMessage = 1, ConfirmWindow = 4 });
        await using IWorkSink<string> sink = await queue.OpenSinkAsync();
        for (int round = 0; round < 5; round++)
        {
            using var cancellation = new CancellationTokenSource();
            Task writing = sink.WriteAsync(Values(500), null, cancellation.Token).AsTask();
            await Guard.SettleAsync();
            await cancellation.CancelAsync();
            await writing.EndsAsync("the cancelled call");
        }

        await sink.WriteAsync([WorkItem.Create("last")], null, CancellationToken.None).WithinAsync();
        WorkItem<string> tooLong = WorkItem.Create(new string('x', 2_000_000));
        WorkRefusedException refused = await Assert.ThrowsAsync<WorkRefusedException>(
            async () => await sink.WriteAsync([WorkItem.Create("fits"), tooLong, WorkItem.Create("\uD800", "\uD800")], null, CancellationToken.None));
        Assert.Equal([(1, DeadLetterReason.TooLarge), (2, DeadLetterReason.Rejected)], refused.Items.Select(static i => (i.Place, i.Reason)));
        await sink.WriteAsync([WorkItem.Create("very last")], null, CancellationToken.None).WithinAsync();
    }
}
