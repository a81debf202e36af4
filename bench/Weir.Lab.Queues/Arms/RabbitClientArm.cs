using System.Text.Json;
using RabbitMQ.Client;
using RabbitMQ.Client.Events;

namespace Weir.Lab.Queues.Arms;

/// <summary>
/// RabbitMQ.Client alone, as its own examples are: each publishing waits for its confirm, and each message is acknowledged when it is handled. It has no
/// retries, no dead letters and no new connection.
/// </summary>
internal sealed class RabbitClientArm(QueueAddress address) : IQueueArm
{
    private static readonly BasicProperties Persistent = new() { DeliveryMode = DeliveryModes.Persistent };

    private readonly List<IAsyncDisposable> _opened = [];
    private readonly SemaphoreSlim _slots = new(address.Consumers);
    private IChannel? _publishing;

    public async Task OpenAsync()
    {
        await BrokerQueues.DeclareAsync(address);
        _publishing = await OpenChannelAsync(new CreateChannelOptions(publisherConfirmationsEnabled: true, publisherConfirmationTrackingEnabled: true));
    }

    public async Task PublishAsync(QueueItem item) =>
        await _publishing!.BasicPublishAsync("", address.Queue, mandatory: true, Persistent, JsonSerializer.SerializeToUtf8Bytes(item));

    public async Task StartAsync(Func<QueueItem, Task> handle)
    {
        IChannel channel = await OpenChannelAsync(new CreateChannelOptions(false, false, consumerDispatchConcurrency: (ushort)address.Consumers));
        await channel.BasicQosAsync(0, address.Ahead, global: false);
        AsyncEventingBasicConsumer consumer = new(channel);
        consumer.ReceivedAsync += async (_, message) =>
        {
            await _slots.WaitAsync();
            await handle(JsonSerializer.Deserialize<QueueItem>(message.Body.Span)!);
            await channel.BasicAckAsync(message.DeliveryTag, multiple: false);
            _slots.Release();
        };
        await channel.BasicConsumeAsync(address.Queue, autoAck: false, consumer);
    }

    public Task DeleteAsync() => BrokerQueues.DeleteAsync(address, [address.Queue]);

    public async ValueTask DisposeAsync()
    {
        // Those that are being handled are acknowledged first, and no other begins.
        for (int taken = 0; taken < address.Consumers; taken++)
        {
            await _slots.WaitAsync();
        }

        foreach (IAsyncDisposable opened in Enumerable.Reverse(_opened))
        {
            await opened.DisposeAsync();
        }
    }

    private async Task<IChannel> OpenChannelAsync(CreateChannelOptions options)
    {
        IConnection connection = await new ConnectionFactory { Uri = new Uri(address.Server) }.CreateConnectionAsync();
        _opened.Add(connection);
        IChannel channel = await connection.CreateChannelAsync(options);
        _opened.Add(channel);
        return channel;
    }
}
