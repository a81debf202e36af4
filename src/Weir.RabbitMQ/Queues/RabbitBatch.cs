namespace Weir.RabbitMQ;

/// <summary>A message that was delivered, or what could be read of it.</summary>
/// <param name="items">The items.</param>
/// <param name="position">The number of the delivery.</param>
internal sealed class RabbitBatch<T>(IReadOnlyList<WorkItem<T>> items, string position) : WorkBatch<T>(items, position)
{
    /// <summary>Where its tag means something. It, the tag and the rest change under the lock of the source.</summary>
    public required ConsumerLink Link { get; set; }

    /// <summary>What RabbitMQ calls the delivery.</summary>
    public required ulong Tag { get; set; }

    public required string? MessageId { get; init; }

    public required long ReceivedAt { get; set; }

    /// <summary>Under which name the message is delivered again although the batch is here; null if the tag is valid for as long as the link.</summary>
    public string? Away { get; set; }

    public bool IsAway => Away is not null;

    /// <summary>Whether it is a copy that is delivered again. RabbitMQ has not taken the message away then.</summary>
    public bool HasCopy => Away is not null && Away != MessageId;

    /// <summary>Whether its items could not be written for a copy, so that no other copy is tried.</summary>
    public bool IsUnwritable { get; set; }

    /// <summary>Whether a failed item was left to the next delivery, so that this must be a new one.</summary>
    public bool IsStale { get; set; }
}
