using System.Buffers;
using RabbitMQ.Client;

namespace Weir.RabbitMQ;

/// <summary>A message on its way, which is kept until it is confirmed: it may have to be published again.</summary>
internal sealed class Outgoing(string routingKey, string messageId, string type, byte[] buffer, int length, ArrayPool<byte>? pool = null)
{
    public string RoutingKey => routingKey;

    public string MessageId => messageId;

    public ReadOnlyMemory<byte> Body => buffer.AsMemory(0, length);

    public BasicProperties Properties { get; } = new() { DeliveryMode = DeliveryModes.Persistent, MessageId = messageId, Type = type };

    /// <summary>The call that waits for the confirm.</summary>
    public PublishCall? Call { get; set; }

    /// <summary>Why no queue takes it; null unless RabbitMQ has returned it.</summary>
    public string? Returned { get; set; }

    /// <summary>How often a connection was lost before its confirm.</summary>
    public int Losses { get; set; }

    public static Outgoing Of(EnvelopeWriter writer, string routingKey, IDictionary<string, object?>? headers)
    {
        (byte[] buffer, int length, _, string id) = writer.Take();
        var message = new Outgoing(routingKey, id, EnvelopeFormat.MessageType, buffer, length, writer.Pool);
        message.Properties.Headers = headers;
        return message;
    }

    public static Outgoing Of(DeadLetterMessage letter, string routingKey)
    {
        byte[] body = letter.Write();
        string id = letter.Id.Length <= 60 ? letter.Id : letter.Id[..60];
        var message = new Outgoing(routingKey, id, DeadLetterMessage.MessageType, body, body.Length);
        message.Properties.ContentType = "application/json";
        return message;
    }

    public void SetHeader(string name, object value) =>
        (Properties.Headers ??= new Dictionary<string, object?>(StringComparer.Ordinal))[name] = value;

    public void Release() => pool?.Return(buffer);
}
