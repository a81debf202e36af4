using System.Buffers;
using System.Globalization;

namespace Weir.RabbitMQ;

/// <summary>Makes messages of items: as many items in each as the options allow, in their order.</summary>
internal sealed class ItemMessages<T>(IWorkSerializer<T> serializer, RabbitWorkQueueOptions options)
{
    private readonly ArrayBufferWriter<byte> _value = new();

    /// <param name="items">The items.</param>
    /// <param name="routeOf">The queue of an item.</param>
    /// <param name="headers">The headers of each message.</param>
    /// <returns>Each message as soon as it is full.</returns>
    /// <exception cref="ArgumentException">An item cannot be published. Those before it may have been.</exception>
    public IEnumerable<Outgoing> Split(IReadOnlyList<WorkItem<T>> items, Func<WorkItem<T>, string> routeOf, IDictionary<string, object?>? headers)
    {
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
                    writers.Add(route, writer = new EnvelopeWriter());
                }
            }

            WorkId id = item.Id;
            _value.ResetWrittenCount();
            serializer.Write(item.Value, _value);
            long length = EnvelopeWriter.MaxLengthOf(id, item.Key, item.Headers, _value.WrittenCount);
            if (length > options.MaxItemBytes && Excess(item) > 0)
            {
                throw new ArgumentException(
                    string.Create(
                        CultureInfo.InvariantCulture,
                        $"Item {id} has {options.MaxItemBytes + Excess(item):N0} bytes, and the queue takes at most {options.MaxItemBytes:N0} (MaxItemBytes)."),
                    nameof(items));
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

    /// <summary>How many bytes an item is too long, exactly.</summary>
    private int Excess(WorkItem<T> item)
    {
        var alone = new EnvelopeWriter();
        alone.Add(item.Id, item.Key, item.Attempt, item.Headers, _value.WrittenSpan);
        (byte[] buffer, int length, _, _) = alone.Take();
        ArrayPool<byte>.Shared.Return(buffer);
        return length - EnvelopeFormat.HeaderLength - options.MaxItemBytes;
    }
}
