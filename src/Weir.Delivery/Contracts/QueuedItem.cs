namespace Weir.Delivery;

/// <summary>An item that lies in a queue, as it was when it was read.</summary>
public sealed record QueuedItem
{
    /// <summary>The identity, as <see cref="WorkId.ToString"/> writes it.</summary>
    public required string Id { get; init; }

    /// <summary>The key, if it has one.</summary>
    public string? Key { get; init; }

    /// <summary>Which attempt it runs or waits for: 1 for the first.</summary>
    public required int Attempt { get; init; }

    /// <summary>The time from which a worker may get it, by the clock of the server.</summary>
    public required DateTimeOffset Due { get; init; }

    /// <summary>Whether a worker has it.</summary>
    public required bool IsInFlight { get; init; }

    /// <summary>Its headers, if it has some that can be read.</summary>
    public IReadOnlyDictionary<string, string>? Headers { get; init; }

    /// <summary>The value, as the serializer of the queue wrote it.</summary>
    public required ReadOnlyMemory<byte> Payload { get; init; }
}
