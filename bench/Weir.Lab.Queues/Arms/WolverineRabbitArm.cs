using Wolverine;
using Wolverine.RabbitMQ;

namespace Weir.Lab.Queues.Arms;

/// <summary>
/// Wolverine on RabbitMQ without a database: inline, because its buffered endpoints acknowledge a message before it is handled; quorum queues, and confirms
/// that a sender waits for.
/// </summary>
internal sealed class WolverineRabbitArm : IQueueArm
{
    private readonly QueueAddress _address;
    private readonly WolverineHosts _hosts;

    public WolverineRabbitArm(QueueAddress address)
    {
        _address = address;
        void Connect(WolverineOptions options) => options.UseRabbitMq(new Uri(address.Server))
            .UseQuorumQueues()
            .CustomizeDeadLetterQueueing(new DeadLetterQueue(Dead))
            .DisableSystemRequestReplyQueueDeclaration()
            .ConfigureChannelCreation(static channel =>
            {
                channel.PublisherConfirmationsEnabled = true;
                channel.PublisherConfirmationTrackingEnabled = true;
            })
            .AutoProvision();

        _hosts = new WolverineHosts(
            options =>
            {
                Connect(options);
                options.PublishMessage<QueueItem>().ToRabbitQueue(address.Queue).SendInline();
            },
            options =>
            {
                Connect(options);
                options.ListenToRabbitQueue(address.Queue)
                    .PreFetchCount((ushort)(address.Ahead / address.Consumers))
                    .ProcessInline()
                    .ListenerCount(address.Consumers);
            });
    }

    private string Dead => $"{_address.Queue}-dead";

    public Task OpenAsync() => _hosts.OpenAsync();

    public Task PublishAsync(QueueItem item) => _hosts.PublishAsync(item);

    public Task StartAsync(Func<QueueItem, Task> handle) => _hosts.StartAsync(handle);

    public Task DeleteAsync() => BrokerQueues.DeleteAsync(_address, [_address.Queue, Dead]);

    public ValueTask DisposeAsync() => _hosts.DisposeAsync();
}
