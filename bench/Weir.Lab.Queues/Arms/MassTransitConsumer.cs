using MassTransit;

namespace Weir.Lab.Queues.Arms;

/// <summary>The consumer that MassTransit makes for each message.</summary>
/// <param name="work">What it does.</param>
internal sealed class MassTransitConsumer(ItemWork work) : IConsumer<QueueItem>
{
    public Task Consume(ConsumeContext<QueueItem> context) => work.HandleAsync(context.Message);
}
