using System.Buffers;
using System.Globalization;
using System.Text;
using System.Text.Json;
using System.Text.Json.Serialization;
using Npgsql;

namespace Weir.PostgreSql;

/// <summary>The columns of the items that the next statement enqueues. They have a part of the list at a time, so that memory does not grow with it.</summary>
/// <param name="serializer">Writes the values.</param>
/// <param name="maxItemBytes">How long a value may be.</param>
/// <param name="isUnique">Whether only the first item of an identity is taken.</param>
/// <param name="maxPack">The most items of a pack; 0 without packs.</param>
internal sealed class ItemRows<T>(IWorkSerializer<T> serializer, int maxItemBytes, bool isUnique, int maxPack = 0)
{
    // More rows or bytes do not make a statement faster.
    private const int MaxRows = 1000;

    /// <summary>The most bytes of values that one statement carries, but for the last value.</summary>
    public const int MaxBytes = 1 << 20;

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

    /// <summary>The most rows that one statement carries.</summary>
    public int Most { get; } = maxPack == 0 ? MaxRows : Math.Min(MaxRows, maxPack);

    /// <summary>How many rows are in the columns.</summary>
    public int Count => _payloads.Count;

    /// <summary>Whether they are stored as a pack.</summary>
    public bool IsPack => maxPack > 0 && Count >= QueueStatements.MinPack;

    /// <summary>Whether all are of one message, as most are. Then one comparison finds whether one of their identities was enqueued before.</summary>
    public bool HasOneOrigin => Count > 0 && AreAlike(_origins);

    /// <summary>How many bytes the values in the columns have.</summary>
    public long Bytes { get; private set; }

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
        Bytes = 0;
        int next = from;
        for (; next < items.Count && next - from < Most && Bytes < MaxBytes; next++)
        {
            WorkItem<T> item = items[next];
            WorkId id = item.Id;
            if (Refuse(item, next) is { } refusal)
            {
                throw new ArgumentException(refusal.Error, nameof(items));
            }

            if (isUnique && !IsNew(id))
            {
                continue;
            }

            string? headers = item.Headers is null ? _traceText : HeaderText.Write(TraceContext.Merge(item.Headers, _trace));
            AddRow(id, item.Key, item.Attempt, headers, _value.WrittenSpan.ToArray());
        }

        return next;
    }

    /// <summary>Adds rows of other columns.</summary>
    /// <returns>How many of them: an identity is taken once.</returns>
    public int Add(ItemRows<T> others)
    {
        int before = Count;
        for (int i = 0; i < others.Count; i++)
        {
            WorkId id = new(others._origins[i], others._places[i]);
            if (!isUnique || IsNew(id))
            {
                AddRow(id, others._keys[i], others._attempts[i], others._headers[i], others._payloads[i]);
            }
        }

        return Count - before;
    }

    /// <summary>Writes the value of an item, and finds why it cannot be stored; null if it can.</summary>
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

    /// <summary>The columns for the statement that enqueues them as rows, or as a pack.</summary>
    public NpgsqlParameter[] Parameters(TimeSpan delay)
    {
        NpgsqlParameter[] columns = Columns(delay);
        return IsPack && isUnique ? [.. columns, .. Origins()] : columns;
    }

    /// <summary>The columns for the statement that takes all of them or none. They have one origin.</summary>
    public NpgsqlParameter[] FreshParameters(TimeSpan delay) => [.. Columns(delay), Parameter.Of(Ranges()[_origins[0]].Append('}').ToString())];

    private NpgsqlParameter[] Columns(TimeSpan delay) =>
    [
        Column(_origins), Parameter.Of(_places.ToArray()), Column(_keys), Column(_attempts), Column(_headers), Parameter.Of(_payloads.ToArray()),
        Parameter.Of(delay),
    ];

    // In a pack, one element stands for all if they are alike.
    private NpgsqlParameter Column<TElement>(List<TElement> column) => Parameter.Of(IsPack && AreAlike(column) ? [column[0]] : column.ToArray());

    private static bool AreAlike<TElement>(List<TElement> column) => !column.Exists(e => !EqualityComparer<TElement>.Default.Equals(e, column[0]));

    // Identities that follow each other differ, so they are looked up only after a gap.
    private bool IsNew(WorkId id)
    {
        if (_ids.Count == 0)
        {
            if (Count == 0 || (id.Index == _places[^1] + 1L && id.Origin == _origins[^1]))
            {
                return true;
            }

            for (int i = 0; i < Count; i++)
            {
                _ids.Add(new WorkId(_origins[i], _places[i]));
            }
        }

        return _ids.Add(id);
    }

    private NpgsqlParameter[] Origins()
    {
        Dictionary<string, StringBuilder> origins = Ranges();
        return [Parameter.Of(origins.Keys.ToArray()), Parameter.Of(origins.Values.Select(static p => p.Append('}').ToString()).ToArray())];
    }

    // Each origin, and the ranges of its places as a text of PostgreSQL's, which has no end yet.
    private Dictionary<string, StringBuilder> Ranges()
    {
        Dictionary<string, StringBuilder> origins = new(StringComparer.Ordinal);
        for (int from = 0, next; from < Count; from = next)
        {
            for (next = from + 1; next < Count && _places[next] == _places[next - 1] + 1L && _origins[next] == _origins[from];)
            {
                next++;
            }

            if (!origins.TryGetValue(_origins[from], out StringBuilder? places))
            {
                origins.Add(_origins[from], places = new StringBuilder());
            }

            places.Append(places.Length == 0 ? '{' : ',').Append(CultureInfo.InvariantCulture, $"[{_places[from]},{_places[next - 1]}]");
        }

        return origins;
    }

    private void AddRow(WorkId id, string? key, int attempt, string? headers, byte[] payload)
    {
        _origins.Add(id.Origin);
        _places.Add(id.Index);
        _keys.Add(key);
        _attempts.Add(attempt);
        _headers.Add(headers);
        _payloads.Add(payload);
        Bytes += payload.Length;
    }

    private static string? Problem(string text, string what, int most)
    {
        int bytes = SqlName.Bytes(text);
        return bytes < 0 || bytes > most ? $"{what} must be a text of at most {most} bytes of UTF-8 without the character U+0000." : null;
    }
}

/// <summary>An item as it was taken: a row, or a part of a pack.</summary>
internal sealed class TakenRow
{
    // Volatile: whoever sees that there is no pack must see the number of the row.
    private volatile IReadOnlyList<TakenRow>? _pack;

    public TakenRow(NpgsqlDataReader row)
    {
        Id = row.GetInt64(0);
        Delivery = row.GetInt32(1);
        Identity = new WorkId(row.GetString(2), row.GetInt32(3));
        Key = row.IsDBNull(4) ? null : row.GetString(4);
        Attempt = row.GetInt32(5);
        Headers = row.IsDBNull(6) ? null : row.GetString(6);
        Payload = row.IsDBNull(7) ? null : (byte[])row[7];
        Expired = row.GetInt32(8);
    }

    private TakenRow(long id, int delivery, WorkId identity, string? key, int attempt, string? headers, byte[]? payload, List<TakenRow> pack)
    {
        Id = id;
        Delivery = delivery;
        Identity = identity;
        Key = key;
        Attempt = attempt;
        Headers = headers;
        Payload = payload;
        _pack = pack;
    }

    /// <summary>The number of the row; that of a pack is below zero.</summary>
    public long Id { get; private set; }

    /// <summary>How often the row was taken, this time included. It tells this delivery from others.</summary>
    public int Delivery { get; }

    public WorkId Identity { get; }

    public string? Key { get; }

    public int Attempt { get; }

    public string? Headers { get; }

    /// <summary>The value; null if it is longer than the limit.</summary>
    public byte[]? Payload { get; private set; }

    /// <summary>0 if no lease has run out while it was held; otherwise 1, and 1 more for each under which it was alone.</summary>
    public int Expired { get; }

    /// <summary>All items of the pack; null if it is a row by itself.</summary>
    public IReadOnlyList<TakenRow>? Pack => _pack;

    /// <summary>Whether it is stored for another attempt or acknowledged, and so has left its batch.</summary>
    public bool IsSettled { get; set; }

    /// <summary>Drops the bytes, which have been read.</summary>
    public void DropPayload() => Payload = null;

    /// <summary>Makes it a row by itself.</summary>
    public void Leave(long id)
    {
        Id = id;
        _pack = null;
    }

    /// <summary>The items of a pack. An array whose elements are all alike has one.</summary>
    public static List<TakenRow> OfPack(NpgsqlDataReader row, int maxItemBytes)
    {
        (long id, int delivery) = (row.GetInt64(0), row.GetInt32(1));
        string[] origins = row.GetFieldValue<string[]>(2);
        int[] places = row.GetFieldValue<int[]>(3);
        string?[] keys = row.GetFieldValue<string?[]>(4);
        int[] attempts = row.GetFieldValue<int[]>(5);
        string?[] headers = row.GetFieldValue<string?[]>(6);
        byte[][] payloads = row.GetFieldValue<byte[][]>(7);
        List<TakenRow> pack = new(places.Length);
        for (int i = 0; i < places.Length; i++)
        {
            pack.Add(new TakenRow(
                id,
                delivery,
                new WorkId(At(origins, i), places[i]),
                At(keys, i),
                At(attempts, i),
                At(headers, i),
                payloads[i].Length <= maxItemBytes ? payloads[i] : null,
                pack));
        }

        return pack;
    }

    private static TElement At<TElement>(TElement[] array, int index) => array[Math.Min(index, array.Length - 1)];
}

/// <summary>Headers of an item as a text of JSON.</summary>
internal static partial class HeaderText
{
    public static string? Write(IReadOnlyDictionary<string, string>? headers) =>
        headers is null || headers.Count == 0 ? null : JsonSerializer.Serialize(headers, HeaderJson.Default.IReadOnlyDictionaryStringString);

    /// <exception cref="JsonException">The text was written by another program and is not such JSON.</exception>
    public static IReadOnlyDictionary<string, string>? Read(string? text) =>
        text is null ? null : JsonSerializer.Deserialize(text, HeaderJson.Default.IReadOnlyDictionaryStringString);

    /// <summary>Reads headers that somebody looks at. A text that is not such JSON is shown as it is.</summary>
    public static IReadOnlyDictionary<string, string>? ReadAny(string? text)
    {
        try
        {
            return Read(text);
        }
        catch (JsonException)
        {
            return new Dictionary<string, string> { ["unreadable"] = text! };
        }
    }

    [JsonSerializable(typeof(IReadOnlyDictionary<string, string>))]
    private sealed partial class HeaderJson : JsonSerializerContext;
}
