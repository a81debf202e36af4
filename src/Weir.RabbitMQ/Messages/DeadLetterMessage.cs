using System.Text.Json;
using System.Text.Json.Serialization;

namespace Weir.RabbitMQ;

/// <summary>A dead letter as the body of a message: JSON, so that people can read it where they look at queues.</summary>
internal sealed partial record DeadLetterMessage
{
    /// <summary>What AMQP calls the type of the message.</summary>
    public const string MessageType = "weir.letter";

    private const int MaxErrorLength = 32_768;

    public required string Id { get; init; }

    public required string Source { get; init; }

    public required string Reason { get; init; }

    public string Error { get; init; } = "";

    public int Attempts { get; init; } = 1;

    public DateTimeOffset Time { get; init; }

    public string? Key { get; init; }

    public IReadOnlyDictionary<string, string>? Headers { get; init; }

    /// <summary>Whether the payload is a whole message that could not be read, and not the value of an item.</summary>
    public bool IsMessage { get; init; }

    public ReadOnlyMemory<byte> Payload { get; init; }

    public static DeadLetterMessage Of(DeadLetter letter, bool isMessage = false) => new()
    {
        Id = letter.Id,
        Source = letter.Source,
        Reason = letter.Reason.ToString(),
        Error = letter.Error.Length <= MaxErrorLength ? letter.Error : string.Concat(letter.Error.AsSpan(0, MaxErrorLength), "…"),
        Attempts = letter.Attempts,
        Time = letter.Time,
        Key = letter.Key,
        Headers = letter.Headers,
        IsMessage = isMessage,
        Payload = letter.Payload,
    };

    /// <exception cref="JsonException">The body is something else.</exception>
    public static DeadLetterMessage Read(ReadOnlySpan<byte> body) =>
        JsonSerializer.Deserialize(body, DeadLetterJson.Default.DeadLetterMessage) ?? throw new JsonException("The letter is null.");

    public byte[] Write() => JsonSerializer.SerializeToUtf8Bytes(this, DeadLetterJson.Default.DeadLetterMessage);

    public DeadLetter ToLetter() => new()
    {
        Id = Id,
        Source = Source,
        Reason = Enum.TryParse(Reason, out DeadLetterReason reason) ? reason : DeadLetterReason.Failed,
        Error = Error,
        Attempts = Attempts,
        Time = Time,
        Key = Key,
        Headers = Headers,
        Payload = Payload,
    };

    [JsonSerializable(typeof(DeadLetterMessage))]
    private sealed partial class DeadLetterJson : JsonSerializerContext;
}
