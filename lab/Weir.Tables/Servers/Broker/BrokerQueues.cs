using RabbitMQ.Client;
using Weir.Delivery;
using Weir.Delivery.Cli.Engines;
using Weir.RabbitMQ;

namespace Weir.Tables.Servers.Broker;

/// <summary>The queues that are measured, which go at the end: those of Weir, which the bare client uses as well, and a classic one.</summary>
internal sealed class BrokerQueues : IAsyncDisposable
{
    private readonly Uri _broker;
    private readonly string _name = $"weir-table-{Guid.NewGuid():N}";

    private BrokerQueues(Uri broker)
    {
        _broker = broker;
        RabbitWorkQueue<byte[]> New(int items) => new(
            broker,
            $"{_name}-{items}",
            WorkSerializer.Bytes,
            new RabbitWorkQueueOptions { MaxItemsPerMessage = items, ConfirmWindow = BareQueue.Window, Prefetch = BareQueue.Prefetch });
        Single = New(1);
        Batched = New(256);
    }

    public RabbitWorkQueue<byte[]> Single { get; }

    public RabbitWorkQueue<byte[]> Batched { get; }

    public string Classic => $"{_name}-classic";

    public static async Task<BrokerQueues> CreateAsync(Uri broker, CancellationToken cancellationToken)
    {
        BrokerQueues queues = new(broker);
        await queues.Single.SetupAsync(cancellationToken);
        await queues.Batched.SetupAsync(cancellationToken);
        await queues.UseAsync(channel => channel.QueueDeclareAsync(
            queues.Classic, durable: true, exclusive: false, autoDelete: false, cancellationToken: cancellationToken));
        return queues;
    }

    public async ValueTask DisposeAsync()
    {
        await Single.DisposeAsync();
        await Batched.DisposeAsync();
        await UseAsync(async channel =>
        {
            RabbitWorkQueueOptions usual = new();
            await RabbitEngine.DropAsync(channel, Single.Name, usual, CancellationToken.None);
            await RabbitEngine.DropAsync(channel, Batched.Name, usual, CancellationToken.None);
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
