using System.Buffers;
using System.Globalization;
using Npgsql;

namespace Weir.PostgreSql;

/// <summary>Items on their way into the table, as columns. Only a part of them at a time, so that memory does not grow with the list.</summary>
/// <param name="serializer">Writes the values.</param>
/// <param name="maxItemBytes">How long a value may be.</param>
/// <param name="isUnique">Whether only the first item of an identity is taken.</param>
internal sealed class ItemRows<T>(IWorkSerializer<T> serializer, int maxItemBytes, bool isUnique)
{
    // The most that one statement carries. More rows or bytes do not make it faster.
    private const int MaxRows = 1000;
    private const int MaxBytes = 1 << 20;

    // A row of an index has to fit into a third of a page, and the identity of a dead letter is in one.
    private const int MaxKeyBytes = 1000;
    private const int MaxOriginBytes = 500;

    private readonly ArrayBufferWriter<byte> _value = new();
    private readonly HashSet<WorkId> _ids = [];
    private readonly List<string> _origins = [];
    private readonly List<int> _places = [];
    private readonly List<string?> _keys = [];
    private readonly List<int> _attempts = [];
    private readonly List<string?> _headers = [];
    private readonly List<byte[]> _payloads = [];

    // The headers for items without a trace context of their own, and their text for items without any headers.
    private Dictionary<string, string>? _trace;
    private string? _traceText;

    /// <summary>Takes the next items.</summary>
    /// <returns>How many of the items are in the columns or were before.</returns>
    /// <exception cref="ArgumentException">An item cannot be stored.</exception>
    public int Fill(IReadOnlyList<WorkItem<T>> items, int from)
    {
        _ids.Clear();
        _origins.Clear();
        _places.Clear();
        _keys.Clear();
        _attempts.Clear();
        _headers.Clear();
        _payloads.Clear();
        _trace = TraceContext.Current();
        _traceText = HeaderText.Write(_trace);
        long bytes = 0;
        int next = from;
        for (; next < items.Count && next - from < MaxRows && bytes < MaxBytes; next++)
        {
            WorkItem<T> item = items[next];
            WorkId id = item.Id;
            if (Refuse(item, next) is { } refusal)
            {
                throw new ArgumentException(refusal.Error, nameof(items));
            }

            if (isUnique && !_ids.Add(id))
            {
                continue;
            }

            _origins.Add(id.Origin);
            _places.Add(id.Index);
            _keys.Add(item.Key);
            _attempts.Add(item.Attempt);
            _headers.Add(item.Headers is null ? _traceText : HeaderText.Write(TraceContext.Merge(item.Headers, _trace)));
            _payloads.Add(_value.WrittenSpan.ToArray());
            bytes += _value.WrittenCount;
        }

        return next;
    }

    /// <summary>Writes the value of an item, and finds what keeps it from being stored; null if nothing does.</summary>
    public WorkRefusal? Refuse(WorkItem<T> item, int place)
    {
        string? error =
            Problem(item.Id.Origin, "The origin of an item's identity", MaxOriginBytes) ?? Problem(item.Key ?? "", "The key of an item", MaxKeyBytes);
        if (error is not null)
        {
            return new WorkRefusal(place, DeadLetterReason.Rejected, error);
        }

        _value.ResetWrittenCount();
        try
        {
            serializer.Write(item.Value, _value);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            return new WorkRefusal(place, DeadLetterReason.Rejected, $"The value of item {item.Id} could not be written: {e}");
        }

        return _value.WrittenCount <= maxItemBytes ? null : new WorkRefusal(
            place,
            DeadLetterReason.TooLarge,
            string.Create(
                CultureInfo.InvariantCulture,
                $"The value of item {item.Id} has {_value.WrittenCount:N0} bytes, and the queue takes at most {maxItemBytes:N0} (MaxItemBytes)."));
    }

    public NpgsqlParameter[] Parameters(TimeSpan delay) =>
    [
        Parameter.Of(_origins.ToArray()), Parameter.Of(_places.ToArray()), Parameter.Of(_keys.ToArray()), Parameter.Of(_attempts.ToArray()),
        Parameter.Of(_headers.ToArray()), Parameter.Of(_payloads.ToArray()), Parameter.Of(delay),
    ];

    private static string? Problem(string text, string what, int most)
    {
        int bytes = SqlName.Bytes(text);
        return bytes < 0 || bytes > most ? $"{what} must be a text of at most {most} bytes of UTF-8 without the character U+0000." : null;
    }
}
