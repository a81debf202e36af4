using Npgsql;

namespace Weir.PostgreSql;

/// <summary>An item as it was taken: a row, or a part of a pack.</summary>
internal sealed class TakenRow
{
    // Volatile: whoever sees that there is none must not see the number of the pack any more.
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

    /// <summary>The row, or the pack, whose numbers are below zero.</summary>
    public long Id { get; private set; }

    /// <summary>How often the row was taken, this time included. It tells this delivery from others.</summary>
    public int Delivery { get; }

    public WorkId Identity { get; }

    public string? Key { get; }

    public int Attempt { get; }

    public string? Headers { get; }

    /// <summary>The value; null if it is longer than the limit.</summary>
    public byte[]? Payload { get; private set; }

    /// <summary>0 if no lease has ended while it ran; otherwise one more than those that it ran alone under.</summary>
    public int Expired { get; }

    /// <summary>All items of the pack; null if it is a row by itself.</summary>
    public IReadOnlyList<TakenRow>? Pack => _pack;

    /// <summary>Whether it waits for another attempt or is acknowledged, and is not part of its batch any more.</summary>
    public bool IsSettled { get; set; }

    /// <summary>Drops the bytes, which have been read.</summary>
    public void DropPayload() => Payload = null;

    /// <summary>It is a row by itself from now on.</summary>
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

    private static TElement At<TElement>(TElement[] array, int place) => array[Math.Min(place, array.Length - 1)];
}
