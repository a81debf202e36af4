namespace Weir.RabbitMQ;

/// <summary>A message that was delivered, or what could be read of it.</summary>
/// <param name="items">The items.</param>
/// <param name="position">The number of the delivery.</param>
/// <param name="link">Where its tag means something.</param>
/// <param name="tag">What RabbitMQ calls the delivery.</param>
internal sealed class RabbitBatch<T>(IReadOnlyList<WorkItem<T>> items, string position, ConsumerLink link, ulong tag) : WorkBatch<T>(items, position)
{
    public ConsumerLink Link => link;

    public ulong Tag => tag;
}
