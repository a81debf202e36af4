using System.Buffers;
using System.Text.Encodings.Web;
using System.Text.Json;
using NpgsqlTypes;

namespace Weir.PostgreSql;

/// <summary>A change of a row or table, which has been committed. Immutable and thread-safe.</summary>
/// <remarks>
/// Changes are delivered in the order in which their transactions were committed, and inside a transaction in the order in which they were made. No change of
/// one transaction lies between those of another.
/// </remarks>
public sealed class PostgresChange
{
    private readonly ChangeTransaction _transaction;

    internal PostgresChange(
        ChangeTransaction transaction, long index, PostgresChangeKind kind, PostgresRelation relation, PostgresRow? oldRow, PostgresRow? newRow)
    {
        _transaction = transaction;
        Index = index;
        Kind = kind;
        Relation = relation;
        Old = oldRow;
        New = newRow;
    }

    /// <summary>What has happened.</summary>
    public PostgresChangeKind Kind { get; }

    /// <summary>The table, as it was then.</summary>
    public PostgresRelation Relation { get; }

    /// <summary>
    /// The row before the change, for deletes and some updates; otherwise, <see langword="null"/>. With the table's replica identity it has all columns
    /// (full), or those of the key (all others): the state of the rest is <see cref="PostgresValueState.NotSent"/>, and an update has it only if it has
    /// changed the key.
    /// </summary>
    public PostgresRow? Old { get; }

    /// <summary>The row after the change, for inserts, updates and rows of the snapshot; otherwise, <see langword="null"/>.</summary>
    public PostgresRow? New { get; }

    /// <summary>The number of the transaction, which is used again after four billion others; 0 for rows of the snapshot.</summary>
    public uint TransactionId => _transaction.Id;

    /// <summary>Where the transaction was committed in the write-ahead log; for rows of the snapshot, where the slot was created.</summary>
    public NpgsqlLogSequenceNumber CommitLsn => new(_transaction.CommitLsn);

    /// <summary>When the transaction was committed, by the clock of the server; for rows of the snapshot, when it was read.</summary>
    public DateTimeOffset CommitTime => _transaction.CommitTime;

    /// <summary>The place of the change in its transaction, from 0; for a row of the snapshot, its place in the table as it was read.</summary>
    public long Index { get; }

    /// <summary>Whether this is the last change of its transaction, or the last row of a table in the snapshot.</summary>
    public bool IsLast { get; internal set; }

    /// <summary>
    /// The identity of the change in its stream, the same at each delivery: the slot, <see cref="CommitLsn"/> and <see cref="Index"/>. For rows of a snapshot
    /// it is the same only as long as the snapshot is not taken again. Its place has 31 bits: after 2^31 changes it begins
    /// anew, with a plus and a number behind the position.
    /// </summary>
    public WorkId Id => _transaction.IdOf(Index);

    /// <summary>Writes the change as a JSON object, as a line of <c>weir-work cdc</c>: docs/reference/cdc.md describes its members.</summary>
    /// <param name="writer">Where to. It must be where a value can stand.</param>
    /// <exception cref="ArgumentNullException"><paramref name="writer"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException">A value is longer than a <c>Utf8JsonWriter</c> takes: some 160 million characters.</exception>
    public void WriteJson(Utf8JsonWriter writer)
    {
        ArgumentNullException.ThrowIfNull(writer);
        ChangeJson.Write(writer, this, withRows: true);
    }

    internal ulong CommitLsnValue => _transaction.CommitLsn;

    /// <summary>Reads the values of the key: of the new row, or of the old one after a delete.</summary>
    /// <returns>The values, in the order of <see cref="PostgresRelation.KeyOrdinals"/>. Empty for a truncate and for a table without a key.</returns>
    public IReadOnlyList<object?> GetKeyValues()
    {
        PostgresRow? row = New ?? Old;
        return row is null ? [] : [.. Relation.KeyOrdinals.Select(ordinal => row[ordinal])];
    }
}

/// <summary>What has happened to a row or a table.</summary>
public enum PostgresChangeKind
{
    /// <summary>A row of the initial snapshot: it was there when the slot was created.</summary>
    Snapshot,

    /// <summary>A row was inserted.</summary>
    Insert,

    /// <summary>A row was updated.</summary>
    Update,

    /// <summary>A row was deleted.</summary>
    Delete,

    /// <summary>All rows of the table were deleted by TRUNCATE. A statement that truncates several tables is one change for each.</summary>
    Truncate,
}

/// <summary>What the changes of a transaction have in common, or the rows of a table in a snapshot.</summary>
/// <param name="id">Its number.</param>
/// <param name="commitLsn">Where it was committed.</param>
/// <param name="commitTime">When it was committed.</param>
/// <param name="slot">The slot.</param>
/// <param name="table">The table of a snapshot; null for a transaction.</param>
internal sealed class ChangeTransaction(uint id, ulong commitLsn, DateTimeOffset commitTime, string slot, string? table = null)
{
    private const int PartBits = 31;

    private readonly string _origin = Origin(slot, commitLsn, "", table);

    public uint Id => id;

    public ulong CommitLsn => commitLsn;

    public DateTimeOffset CommitTime => commitTime;

    /// <summary>The identity of a change. Those after the first 2^31 are counted in parts, because the place in an identity has 31 bits.</summary>
    public WorkId IdOf(long index) => index <= int.MaxValue
        ? new WorkId(_origin, (int)index)
        : new WorkId(Origin(slot, commitLsn, $"+{index >> PartBits}", table), (int)(index & int.MaxValue));

    // A table may have any name, so the part is not behind it.
    private static string Origin(string slot, ulong commitLsn, string part, string? table) =>
        $"{slot}:{new NpgsqlLogSequenceNumber(commitLsn)}{part}{(table is null ? "" : ":")}{table}";
}

/// <summary>Writes changes as JSON.</summary>
internal static class ChangeJson
{
    /// <param name="writer">Where to.</param>
    /// <param name="change">The change.</param>
    /// <param name="withRows">Whether with its values.</param>
    public static void Write(Utf8JsonWriter writer, PostgresChange change, bool withRows)
    {
        writer.WriteStartObject();
        writer.WriteString("id", change.Id.ToString());
        writer.WriteString("kind", KindOf(change.Kind));
        writer.WriteString("schema", change.Relation.Schema);
        writer.WriteString("table", change.Relation.Name);
        if (withRows)
        {
            WriteRows(writer, change);
        }

        writer.WriteString("lsn", change.CommitLsn.ToString());
        writer.WriteNumber("transaction", change.TransactionId);
        writer.WriteString("time", change.CommitTime.UtcDateTime);
        writer.WriteNumber("index", change.Index);
        writer.WriteBoolean("last", change.IsLast);
        writer.WriteEndObject();
    }

    /// <summary>The change as UTF-8; without its values if one of them is too long.</summary>
    public static byte[] Bytes(PostgresChange change)
    {
        try
        {
            return Bytes(change, withRows: true);
        }
        catch (ArgumentException)
        {
            return Bytes(change, withRows: false);
        }
    }

    private static byte[] Bytes(PostgresChange change, bool withRows)
    {
        var bytes = new ArrayBufferWriter<byte>();
        using (var writer = new Utf8JsonWriter(bytes, new JsonWriterOptions { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping }))
        {
            Write(writer, change, withRows);
        }

        return bytes.WrittenSpan.ToArray();
    }

    private static string KindOf(PostgresChangeKind kind) => kind switch
    {
        PostgresChangeKind.Insert => "insert",
        PostgresChangeKind.Update => "update",
        PostgresChangeKind.Delete => "delete",
        PostgresChangeKind.Truncate => "truncate",
        _ => "snapshot",
    };

    private static void WriteRows(Utf8JsonWriter writer, PostgresChange change)
    {
        if ((change.New ?? change.Old) is { } row && change.Relation.KeyOrdinals.Count > 0)
        {
            writer.WritePropertyName("key");
            row.WriteJson(writer, change.Relation.KeyOrdinals);
        }

        foreach ((string name, PostgresRow? values) in ((string, PostgresRow?)[])[("new", change.New), ("old", change.Old)])
        {
            if (values is not null)
            {
                writer.WritePropertyName(name);
                values.WriteJson(writer);
            }
        }

        // Large values that an update has not changed are not sent: whoever reads the change keeps those that he has.
        PostgresColumn[] unchanged = [.. change.Relation.Columns.Where((_, i) => change.New?.GetState(i) == PostgresValueState.Unchanged)];
        if (unchanged.Length > 0)
        {
            writer.WriteStartArray("unchanged");
            foreach (PostgresColumn column in unchanged)
            {
                writer.WriteStringValue(column.Name);
            }

            writer.WriteEndArray();
        }
    }
}
