namespace Weir.Delivery;

/// <summary>An item that could not be processed, with the information that you need to diagnose the failure and to publish the item again.</summary>
public sealed record DeadLetter
{
    /// <summary>The identity of the item; for a message that could not be read, the name that the source gives it.</summary>
    public required string Id { get; init; }

    /// <summary>The name of the queue or stream that it came from.</summary>
    public required string Source { get; init; }

    /// <summary>Why it could not be processed.</summary>
    public required DeadLetterReason Reason { get; init; }

    /// <summary>The last exception, with its stack; empty where there is none.</summary>
    public string Error { get; init; } = "";

    /// <summary>
    /// The number of attempts, not counting crashes: how often the item was delivered and failed. The calls that <see cref="WorkHostOptions{T}.Retry"/> or the
    /// runtime's policies make at once after a failure belong to one attempt.
    /// </summary>
    public int Attempts { get; init; } = 1;

    /// <summary>
    /// How often the processor was called in the last attempt. Known when the letter is stored (<see cref="WorkHostOptions{T}.OnDeadLetter"/>); 0 for a
    /// letter that was read from a queue, and for an item that was not called.
    /// </summary>
    public int Calls { get; init; }

    /// <summary>When the item became a dead letter.</summary>
    public required DateTimeOffset Time { get; init; }

    /// <summary>The key of the item; <see langword="null"/> for none.</summary>
    public string? Key { get; init; }

    /// <summary>The item's value as its serializer writes it, or the bytes of a message that could not be read.</summary>
    public required ReadOnlyMemory<byte> Payload { get; init; }

    /// <summary>The headers of the item; <see langword="null"/> for none.</summary>
    public IReadOnlyDictionary<string, string>? Headers { get; init; }
}
