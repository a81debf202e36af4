using Npgsql;

namespace Weir.PostgreSql;

/// <summary>A row as it was taken.</summary>
internal sealed class TakenRow(NpgsqlDataReader row)
{
    public long Id { get; } = row.GetInt64(0);

    /// <summary>How often the row was taken, this time included. It tells this delivery from others.</summary>
    public int Delivery { get; } = row.GetInt32(1);

    public WorkId Identity { get; } = new(row.GetString(2), row.GetInt32(3));

    public string? Key { get; } = row.IsDBNull(4) ? null : row.GetString(4);

    public int Attempt { get; } = row.GetInt32(5);

    public string? Headers { get; } = row.IsDBNull(6) ? null : row.GetString(6);

    /// <summary>The value; null if it is longer than the limit.</summary>
    public byte[]? Payload { get; private set; } = row.IsDBNull(7) ? null : (byte[])row[7];

    /// <summary>0 if no lease has ended while it ran; otherwise one more than those that it ran alone under.</summary>
    public int Expired { get; } = row.GetInt32(8);

    /// <summary>Whether it waits for another attempt, and is not part of its batch any more.</summary>
    public bool IsSettled { get; set; }

    /// <summary>Drops the bytes, which have been read.</summary>
    public void DropPayload() => Payload = null;
}
