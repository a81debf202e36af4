using System.Buffers;
using System.Globalization;
using System.Text;
using RabbitMQ.Client;
using RabbitMQ.Client.Events;

namespace Weir.RabbitMQ;

/// <summary>A message as it was delivered, copied: the client's memory is reused when its callback returns.</summary>
internal sealed class Delivery
{
    private const string CountHeader = "x-delivery-count";

    /// <summary>How often a process died while it ran the message alone, before the message was published again.</summary>
    public const string CrashesHeader = "weir-crashes";

    /// <summary>The name of a copy of a message that is still running.</summary>
    public const string CopyHeader = "weir-copy";

    private byte[]? _buffer;

    private Delivery(ulong tag, bool isRedelivered, IReadOnlyBasicProperties properties, ReadOnlyMemory<byte> body, long receivedAt)
    {
        Tag = tag;
        ReceivedAt = receivedAt;
        MessageId = properties.IsMessageIdPresent() ? properties.MessageId : null;
        Type = properties.IsTypePresent() ? properties.Type : null;
        Headers = properties.Headers;
        long count = Number(CountHeader);
        Deliveries = count == 0 && isRedelivered ? 1 : count;
        Length = body.Length;
        _buffer = ArrayPool<byte>.Shared.Rent(Length);
        body.Span.CopyTo(_buffer);
    }

    public ulong Tag { get; }

    /// <summary>The timestamp of the queue's clock.</summary>
    public long ReceivedAt { get; }

    public string? MessageId { get; }

    public string? Type { get; }

    public IDictionary<string, object?>? Headers { get; }

    public int Length { get; }

    /// <summary>How often the queue delivered it before.</summary>
    public long Deliveries { get; private set; }

    /// <summary>The name of this copy; null if the message is none.</summary>
    public string? Copy =>
        Headers is not null && Headers.TryGetValue(CopyHeader, out object? value) && value is byte[] name ? Encoding.UTF8.GetString(name) : null;

    public int PastCrashes => (int)Math.Clamp(Number(CrashesHeader), 0, int.MaxValue / 2);

    public ReadOnlySpan<byte> Body => _buffer.AsSpan(0, Length);

    public static Delivery Of(BasicDeliverEventArgs e, long receivedAt) => new(e.DeliveryTag, e.Redelivered, e.BasicProperties, e.Body, receivedAt);

    public static Delivery Of(BasicGetResult e, long receivedAt) => new(e.DeliveryTag, e.Redelivered, e.BasicProperties, e.Body, receivedAt);

    /// <summary>Counts the last delivery as none.</summary>
    public void Forgive() => Deliveries--;

    /// <summary>The same bytes to publish again.</summary>
    public Outgoing Again(string routingKey, string messageId)
    {
        var message = new Outgoing(routingKey, messageId, Type ?? "", Body.ToArray(), Length);
        message.Properties.Headers = TraceHeaders();
        if (Copy is { } copy)
        {
            message.SetHeader(CopyHeader, copy);
        }

        return message;
    }

    /// <summary>What is kept of the headers when items are published again.</summary>
    public Dictionary<string, object?>? TraceHeaders()
    {
        Dictionary<string, object?>? kept = null;
        foreach (string name in (ReadOnlySpan<string>)[TraceContext.Parent, TraceContext.State])
        {
            if (Headers is not null && Headers.TryGetValue(name, out object? value))
            {
                (kept ??= new(StringComparer.Ordinal))[name] = value;
            }
        }

        return kept;
    }

    /// <summary>Gives back the memory. Called once, by the reader, when it does not need the bytes any more.</summary>
    public void Release()
    {
        if (_buffer is { } buffer)
        {
            _buffer = null;
            ArrayPool<byte>.Shared.Return(buffer);
        }
    }

    private long Number(string name)
    {
        if (Headers is null || !Headers.TryGetValue(name, out object? value))
        {
            return 0;
        }

        // Other programs may write anything to the queue.
        return value is long or int or short or byte or sbyte or ushort or uint ? Convert.ToInt64(value, CultureInfo.InvariantCulture) : 0;
    }
}
