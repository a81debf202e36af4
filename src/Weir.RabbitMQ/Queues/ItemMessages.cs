using System.Buffers;
using System.Globalization;

namespace Weir.RabbitMQ;

/// <summary>Makes messages of items: as many items in each as the options allow, in their order.</summary>
internal sealed class ItemMessages<T>(IWorkSerializer<T> serializer, RabbitWorkQueueOptions options, ArrayPool<byte> buffers)
{
    /// <summary>How many messages are made before the first is sent. The broker has nothing to do meanwhile.</summary>
    public const int MadeFirst = 32;

    private readonly ArrayBufferWriter<byte> _value = new();

    /// <param name="items">The items.</param>
    /// <param name="routeOf">The queue of an item.</param>
    /// <param name="headers">The headers of each message.</param>
    /// <param name="isNew">Whether items may be too long. Those that were delivered and are published again are not.</param>
    /// <returns>The messages: the first ones when some of them are full or all are made, and then each as soon as it is full.</returns>
    /// <exception cref="WorkRefusedException">
    /// Some items cannot be published. It names all of them, and comes before the first message unless there are more than <see cref="MadeFirst"/>.
    /// </exception>
    public IEnumerable<Outgoing> Split(
        IReadOnlyList<WorkItem<T>> items, Func<WorkItem<T>, string> routeOf, IDictionary<string, object?>? headers, bool isNew)
    {
        IEnumerable<Outgoing> messages = Make(items, routeOf, headers, isNew);
        return isNew ? SomeFirst(messages) : messages;
    }

    private static IEnumerable<Outgoing> SomeFirst(IEnumerable<Outgoing> messages)
    {
        List<Outgoing> first = [];
        using IEnumerator<Outgoing> all = messages.GetEnumerator();
        while (first.Count < MadeFirst && all.MoveNext())
        {
            first.Add(all.Current);
        }

        foreach (Outgoing message in first)
        {
            yield return message;
        }

        while (all.MoveNext())
        {
            yield return all.Current;
        }
    }

    private IEnumerable<Outgoing> Make(
        IReadOnlyList<WorkItem<T>> items, Func<WorkItem<T>, string> routeOf, IDictionary<string, object?>? headers, bool isNew)
    {
        List<WorkRefusal>? refused = null;
        Dictionary<string, EnvelopeWriter> writers = new(StringComparer.Ordinal);
        string lastRoute = "";
        EnvelopeWriter writer = null!;
        for (int i = 0; i < items.Count; i++)
        {
            WorkItem<T> item = items[i];
            string route = routeOf(item);
            if (!ReferenceEquals(route, lastRoute))
            {
                lastRoute = route;
                if (!writers.TryGetValue(route, out writer!))
                {
                    writers.Add(route, writer = new EnvelopeWriter(buffers));
                }
            }

            WorkId id = item.Id;
            if (TryWrite(item, i, isNew, out long length) is { } refusal)
            {
                (refused ??= []).Add(refusal);
            }

            if (refused is not null)
            {
                // Nothing more is published, but the exception names all items that cannot be published.
                continue;
            }

            if (writer.Count > 0 && writer.Length + length > options.MaxMessageBytes)
            {
                yield return Outgoing.Of(writer, route, Copy(headers));
            }

            writer.Add(id, item.Key, item.Attempt, item.Headers, _value.WrittenSpan);
            if (writer.Count == options.MaxItemsPerMessage)
            {
                yield return Outgoing.Of(writer, route, Copy(headers));
            }
        }

        if (refused is not null)
        {
            throw new WorkRefusedException(refused);
        }

        foreach ((string route, EnvelopeWriter rest) in writers)
        {
            if (rest.Count > 0)
            {
                yield return Outgoing.Of(rest, route, Copy(headers));
            }
        }
    }

    // The client adds to the headers of a message.
    private static Dictionary<string, object?>? Copy(IDictionary<string, object?>? headers) => headers is null ? null : new(headers, StringComparer.Ordinal);

    /// <summary>Writes the value of an item.</summary>
    /// <returns>Why the item cannot be published; null if it can.</returns>
    private WorkRefusal? TryWrite(WorkItem<T> item, int place, bool isNew, out long length)
    {
        _value.ResetWrittenCount();
        length = 0;
        if (item.Id.Index < 0)
        {
            return new WorkRefusal(place, DeadLetterReason.Rejected, $"Item {item.Id} has a negative index in its message; it must be 0 or more.");
        }

        try
        {
            serializer.Write(item.Value, _value);
            length = EnvelopeWriter.MaxLengthOf(item.Id, item.Key, item.Headers, _value.WrittenCount);
        }
        catch (Exception e) when (isNew && e is not OutOfMemoryException)
        {
            return new WorkRefusal(place, DeadLetterReason.Rejected, $"Item {item.Id} cannot be written: {e}");
        }

        long head = length - _value.WrittenCount;
        string? excess = !isNew ? null
            : _value.WrittenCount > options.MaxItemBytes ? string.Create(
                CultureInfo.InvariantCulture,
                $"The value of item {item.Id} has {_value.WrittenCount:N0} bytes, and the queue takes at most {options.MaxItemBytes:N0} (MaxItemBytes).")
            : head > EnvelopeFormat.MaxItemHead ? string.Create(
                CultureInfo.InvariantCulture,
                $"Identity, key and headers of item {item.Id} have {head:N0} bytes, and the queue takes at most {EnvelopeFormat.MaxItemHead:N0}.")
            : null;
        return excess is null ? null : new WorkRefusal(place, DeadLetterReason.TooLarge, excess);
    }
}

/// <summary>Makes items of a message.</summary>
/// <param name="name">The name of the queue, which is the source of its dead letters.</param>
/// <param name="serializer">Reads the values.</param>
/// <param name="options">The options.</param>
internal sealed class MessageReader<T>(string name, IWorkSerializer<T> serializer, RabbitWorkQueueOptions options)
{
    /// <summary>Splits a message into two; a message of one item stays as it is.</summary>
    public static List<Outgoing> Halves(Delivery delivery, string route, ArrayPool<byte> buffers)
    {
        List<Outgoing> halves = new(2);
        var writer = new EnvelopeWriter(buffers);
        var reader = new EnvelopeReader(delivery.Body);
        int first = (reader.Count + 1) / 2;
        while (reader.Read())
        {
            writer.Add(reader.Id, reader.Key, reader.Attempt, reader.Headers, reader.Value);
            if (writer.Count == first && halves.Count == 0)
            {
                halves.Add(Outgoing.Of(writer, route, delivery.TraceHeaders()));
            }
        }

        if (writer.Count > 0)
        {
            halves.Add(Outgoing.Of(writer, route, delivery.TraceHeaders()));
        }

        return halves;
    }

    /// <returns>Null if nothing of the message can be read.</returns>
    public DecodedMessage<T>? Read(Delivery delivery)
    {
        if (delivery.Length > options.LargestMessage)
        {
            return null;
        }

        Dictionary<string, string>? trace = MessageTrace.Read(delivery.Headers);
        try
        {
            var reader = new EnvelopeReader(delivery.Body);
            var decoded = new DecodedMessage<T>(reader.Count);
            while (reader.Read())
            {
                Add(ref reader, trace, decoded);
            }

            return decoded;
        }
        catch (FormatException)
        {
            return null;
        }
    }

    private void Add(ref EnvelopeReader reader, Dictionary<string, string>? trace, DecodedMessage<T> decoded)
    {
        WorkId id = reader.Id;
        IReadOnlyDictionary<string, string>? headers = TraceContext.Merge(reader.Headers, trace);
        DeadLetterReason reason = DeadLetterReason.TooLarge;
        string error = "";
        if (reader.Value.Length > options.MaxItemBytes)
        {
            error = string.Create(
                CultureInfo.InvariantCulture,
                $"The value has {reader.Value.Length:N0} bytes, and the queue takes at most {options.MaxItemBytes:N0} (MaxItemBytes).");
        }
        else
        {
            try
            {
                decoded.Items.Add(new WorkItem<T>(id, serializer.Read(reader.Value), reader.Key, reader.Attempt, headers));
                return;
            }
            catch (Exception e) when (e is not OutOfMemoryException)
            {
                (reason, error) = (DeadLetterReason.Undecodable, e.ToString());
            }
        }

        (decoded.Letters ??= []).Add(DeadLetterMessage.Of(new DeadLetter
        {
            Id = id.ToString(),
            Source = name,
            Reason = reason,
            Error = error,
            Attempts = reader.Attempt,
            Time = options.TimeProvider.GetUtcNow(),
            Key = reader.Key,
            Payload = reader.Value.ToArray(),
            Headers = headers,
        }));
    }
}

/// <summary>The items that could be read of a message, and dead letters for the others.</summary>
internal sealed class DecodedMessage<T>(int count)
{
    public List<WorkItem<T>> Items { get; } = new(count);

    public List<DeadLetterMessage>? Letters { get; set; }
}

/// <summary>What is wrong with a message as a whole. Used before its values are read, and to say why it is a dead letter.</summary>
internal static class Unreadable
{
    /// <returns>Why the message cannot be delivered; null if it can.</returns>
    public static (DeadLetterReason Reason, string Error)? Find(ReadOnlySpan<byte> body, RabbitWorkQueueOptions options)
    {
        if (body.Length > options.LargestMessage)
        {
            return (DeadLetterReason.TooLarge, string.Create(
                CultureInfo.InvariantCulture,
                $"The message has {body.Length:N0} bytes, and the queue takes at most {options.LargestMessage:N0} (MaxMessageBytes, MaxItemBytes)."));
        }

        try
        {
            var reader = new EnvelopeReader(body);
            while (reader.Read())
            {
            }

            return null;
        }
        catch (FormatException e)
        {
            return (DeadLetterReason.Undecodable, e.Message);
        }
    }
}
