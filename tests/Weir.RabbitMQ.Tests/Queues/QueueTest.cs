using RabbitMQ.Client;
using Weir.RabbitMQ.Tests.Servers;

namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>What tests of queues on the real broker share: each has a name of its own. A worker with few rights does all but the setup.</summary>
public abstract class QueueTest(RabbitServer server)
{
    protected const int Limit = 120_000;

    protected RabbitServer Server { get; } = server!;

    protected string Name { get; } = server!.NewName();

    protected static RabbitWorkQueueOptions Options { get; } = new() { RetryDelays = [TimeSpan.FromMilliseconds(1)] };

    protected RabbitWorkQueue<string> Queue(Func<RabbitWorkQueueOptions, RabbitWorkQueueOptions>? change = null, Uri? broker = null) =>
        new(broker ?? Server.Worker, Name, WorkSerializer.Text, change is null ? Options : change(Options));

    protected async Task<RabbitWorkQueue<string>> NewQueueAsync(Func<RabbitWorkQueueOptions, RabbitWorkQueueOptions>? change = null)
    {
        await using RabbitWorkQueue<string> setup = Queue(change, Server.Admin);
        await setup.SetupAsync();
        return Queue(change);
    }

    protected static IReadOnlyList<WorkItem<string>> Values(int count, Func<int, string?>? keyOf = null) =>
        [.. Enumerable.Range(0, count).Select(i => new WorkItem<string>(new WorkId("values", i), $"{i}", keyOf?.Invoke(i)))];

    protected static async Task PublishAsync(RabbitWorkQueue<string> queue, IReadOnlyList<WorkItem<string>> items)
    {
        await using IWorkSink<string> sink = await queue.OpenSinkAsync();
        await sink.WriteAsync(items, null, CancellationToken.None).WithinAsync("publishing");
    }

    protected static async Task<WorkBatch<string>> NextAsync(IWorkSource<string> source) =>
        (await source.ReadAsync(CancellationToken.None).WithinAsync("the next batch"))!;

    protected static string[] ValuesOf(WorkBatch<string> batch) => [.. batch.Items.Select(static i => i.Value)];

    /// <summary>What happens to its messages when a process dies: the connection is gone, and nothing of it was acknowledged.</summary>
    protected static async Task CutAsync(IWorkSource<string> source)
    {
        ((RabbitWorkSource<string>)source).Link()!.Close();
        await Guard.SettleAsync();
    }

    protected async Task<T> AsAdminAsync<T>(Func<IChannel, Task<T>> use)
    {
        await using IConnection connection = await RabbitServer.ConnectAsync(Server.Admin);
        await using IChannel channel = await connection.CreateChannelAsync();
        return await use(channel);
    }

    protected Task PublishRawAsync(string queue, byte[] body, string id) => AsAdminAsync(async channel =>
    {
        await channel.BasicPublishAsync("", queue, mandatory: true, new BasicProperties { MessageId = id, DeliveryMode = DeliveryModes.Persistent }, body);
        return true;
    });

    protected Task<uint> CountAsync(string queue) => AsAdminAsync(async channel => (await channel.QueueDeclarePassiveAsync(queue)).MessageCount);

    protected static async Task<List<DeadLetter>> LettersAsync(RabbitWorkQueue<string> queue)
    {
        List<DeadLetter> letters = [];
        await foreach (DeadLetter letter in queue.DeadLetters.ListAsync())
        {
            letters.Add(letter);
        }

        return letters;
    }
}
