using Weir.Delivery;
using Weir.RabbitMQ;

namespace Weir.Lab.Queues.Arms;

/// <summary>Weir on RabbitMQ: its options for messages of one small item.</summary>
internal sealed class WeirRabbitArm(QueueAddress address) : IQueueArm
{
    private readonly RabbitWorkQueue<QueueItem> _queue = new(
        new Uri(address.Server),
        address.Queue,
        WeirWorker.Serializer,
        new RabbitWorkQueueOptions { MaxItemsPerMessage = 1, Prefetch = address.Ahead });

    private IWorkSink<QueueItem>? _sink;
    private WeirWorker? _worker;

    public async Task OpenAsync()
    {
        await _queue.SetupAsync();
        _sink = await _queue.OpenSinkAsync();
    }

    public async Task PublishAsync(QueueItem item) => await _sink!.WriteAsync([WorkItem.Create(item)], null, CancellationToken.None);

    public async Task StartAsync(Func<QueueItem, Task> handle) => _worker = await WeirWorker.StartAsync(_queue, address.Consumers, handle);

    public Task DeleteAsync()
    {
        RabbitWorkQueueOptions usual = new();
        string[] delays = [.. usual.RetryDelays.Select(static delay => $"{(long)delay.TotalMilliseconds}")];
        string options = $"v1-p{usual.Partitions}-d{usual.DeliveryLimit}-m0-r{string.Join('-', delays)}";
        string[] others = ["suspects", "dead", options, .. delays.Select(static delay => $"retry.{delay}")];
        return BrokerQueues.DeleteAsync(address, [address.Queue, .. others.Select(other => $"{address.Queue}.{other}")]);
    }

    public async ValueTask DisposeAsync()
    {
        if (_worker is not null)
        {
            await _worker.DisposeAsync();
        }

        if (_sink is not null)
        {
            await _sink.DisposeAsync();
        }

        await _queue.DisposeAsync();
    }
}
