using RabbitMQ.Client;
using Weir.RabbitMQ;

namespace Weir.Tables.Servers.Broker;

/// <summary>The queues that are measured, which go at the end: those of Weir, which the bare client uses as well, and a classic one.</summary>
internal sealed class BrokerQueues : IAsyncDisposable
{
    private readonly Uri _broker;
    private readonly string _name = $"weir-table-{Guid.NewGuid():N}";
    private int _count;

    private BrokerQueues(Uri broker)
    {
        _broker = broker;
        RabbitWorkQueueOptions usual = new();
        Single = New(Alike(1));
        Batched = New(Alike(256));
        UsualSingle = New(usual with { MaxItemsPerMessage = 1 });
        Usual = New(usual);
        static RabbitWorkQueueOptions Alike(int items) =>
            new() { MaxItemsPerMessage = items, ConfirmWindow = BareQueue.Window, Prefetch = BareQueue.Prefetch };
    }

    public RabbitWorkQueue<byte[]> Single { get; }

    public RabbitWorkQueue<byte[]> Batched { get; }

    /// <summary>One item a message, and all other options as they are by default.</summary>
    public RabbitWorkQueue<byte[]> UsualSingle { get; }

    /// <summary>All options as they are by default.</summary>
    public RabbitWorkQueue<byte[]> Usual { get; }

    private RabbitWorkQueue<byte[]>[] All => [Single, Batched, UsualSingle, Usual];

    public string Classic => $"{_name}-classic";

    private RabbitWorkQueue<byte[]> New(RabbitWorkQueueOptions options) => new(_broker, $"{_name}-{++_count}", WorkSerializer.Bytes, options);

    public static async Task<BrokerQueues> CreateAsync(Uri broker, CancellationToken cancellationToken)
    {
        BrokerQueues queues = new(broker);
        foreach (RabbitWorkQueue<byte[]> queue in queues.All)
        {
            await queue.SetupAsync(cancellationToken);
        }

        await queues.UseAsync(channel => channel.QueueDeclareAsync(
            queues.Classic, durable: true, exclusive: false, autoDelete: false, cancellationToken: cancellationToken));
        return queues;
    }

    public async ValueTask DisposeAsync()
    {
        foreach (RabbitWorkQueue<byte[]> queue in All)
        {
            await queue.DisposeAsync();
        }

        await UseAsync(async channel =>
        {
            RabbitWorkQueueOptions usual = new();
            foreach (RabbitWorkQueue<byte[]> queue in All)
            {
                await RabbitEngine.DropAsync(channel, queue.Name, usual, CancellationToken.None);
            }

            await channel.QueueDeleteAsync(Classic, ifUnused: false, ifEmpty: false);
        });
    }

    private async Task UseAsync(Func<IChannel, Task> use)
    {
        await using IConnection connection = await new ConnectionFactory { Uri = _broker }.CreateConnectionAsync();
        await using IChannel channel = await connection.CreateChannelAsync();
        await use(channel);
    }
}
