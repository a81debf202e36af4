using System.Buffers;
using System.Text.Encodings.Web;
using System.Text.Json;

namespace Weir.PostgreSql;

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
