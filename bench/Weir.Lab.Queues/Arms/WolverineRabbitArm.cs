using Wolverine;
using Wolverine.RabbitMQ;

namespace Weir.Lab.Queues.Arms;

/// <summary>
/// Wolverine on RabbitMQ without a database: inline, because its buffered endpoints acknowledge a message before it is handled; quorum queues, and confirms
/// that a sender waits for.
/// </summary>
internal sealed class WolverineRabbitArm : IQueueArm
{
    private readonly ArmPlace _place;
    private readonly WolverineHosts _hosts;

    public WolverineRabbitArm(ArmPlace place)
    {
        _place = place;
        void Connect(WolverineOptions options) => options.UseRabbitMq(new Uri(place.Server))
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
                options.PublishMessage<QueueItem>().ToRabbitQueue(place.Queue).SendInline();
            },
            options =>
            {
                Connect(options);
                options.ListenToRabbitQueue(place.Queue)
                    .PreFetchCount(BrokerQueues.Prefetch / IQueueArm.Consumers)
                    .ProcessInline()
                    .ListenerCount(IQueueArm.Consumers);
            });
    }

    private string Dead => $"{_place.Queue}-dead";

    public Task OpenAsync() => _hosts.OpenAsync();

    public Task PublishAsync(QueueItem item) => _hosts.PublishAsync(item);

    public Task StartAsync(Action<QueueItem> handle) => _hosts.StartAsync(handle);

    public Task DeleteAsync() => BrokerQueues.DeleteAsync(_place, [_place.Queue, Dead]);

    public ValueTask DisposeAsync() => _hosts.DisposeAsync();
}
