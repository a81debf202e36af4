using System.Buffers;
using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;
using Weir.PostgreSql;

namespace Weir.Delivery.Cli.Commands.Cdc.Lines;

/// <summary>Writes changes as JSON, one after another.</summary>
internal sealed class ChangeJson : IDisposable
{
    private readonly ArrayBufferWriter<byte> _bytes = new();
    private readonly Utf8JsonWriter _writer;

    public ChangeJson() => _writer = new Utf8JsonWriter(_bytes, new JsonWriterOptions { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping });

    /// <summary>Writes a change. Call it for one at a time.</summary>
    public ChangeLine Line(PostgresChange change)
    {
        _bytes.ResetWrittenCount();
        _writer.Reset();
        _writer.WriteStartObject();
        _writer.WriteString("id", change.Id.ToString());
        _writer.WriteString("kind", KindOf(change.Kind));
        _writer.WriteString("schema", change.Relation.Schema);
        _writer.WriteString("table", change.Relation.Name);
        WriteKey(change);
        WriteRow("new", change.New);
        WriteRow("old", change.Old);
        WriteUnchanged(change.New);
        _writer.WriteString("lsn", change.CommitLsn.ToString());
        _writer.WriteNumber("transaction", change.TransactionId);
        _writer.WriteString("time", change.CommitTime.UtcDateTime);
        _writer.WriteNumber("index", change.Index);
        _writer.WriteBoolean("last", change.IsLast);
        _writer.WriteEndObject();
        _writer.Flush();
        return new ChangeLine(Encoding.UTF8.GetString(_bytes.WrittenSpan), change.CommitTime);
    }

    public void Dispose() => _writer.Dispose();

    private static string KindOf(PostgresChangeKind kind) => kind switch
    {
        PostgresChangeKind.Insert => "insert",
        PostgresChangeKind.Update => "update",
        PostgresChangeKind.Delete => "delete",
        PostgresChangeKind.Truncate => "truncate",
        _ => "snapshot",
    };

    private void WriteKey(PostgresChange change)
    {
        if ((change.New ?? change.Old) is not { } row || change.Relation.KeyOrdinals.Count == 0)
        {
            return;
        }

        _writer.WriteStartObject("key");
        foreach (int place in change.Relation.KeyOrdinals)
        {
            WriteColumn(row, place);
        }

        _writer.WriteEndObject();
    }

    private void WriteRow(string name, PostgresRow? row)
    {
        if (row is null)
        {
            return;
        }

        _writer.WriteStartObject(name);
        for (int place = 0; place < row.Relation.Columns.Count; place++)
        {
            WriteColumn(row, place);
        }

        _writer.WriteEndObject();
    }

    // Large values that an update has not changed are not sent: whoever reads the line keeps those that he has.
    private void WriteUnchanged(PostgresRow? row)
    {
        bool isFirst = true;
        for (int place = 0; row is not null && place < row.Relation.Columns.Count; place++)
        {
            if (row.GetState(place) != PostgresValueState.Unchanged)
            {
                continue;
            }

            if (isFirst)
            {
                _writer.WriteStartArray("unchanged");
                isFirst = false;
            }

            _writer.WriteStringValue(row.Relation.Columns[place].Name);
        }

        if (!isFirst)
        {
            _writer.WriteEndArray();
        }
    }

    private void WriteColumn(PostgresRow row, int place)
    {
        PostgresValueState state = row.GetState(place);
        if (state is PostgresValueState.Unchanged or PostgresValueState.NotSent)
        {
            return;
        }

        _writer.WritePropertyName(row.Relation.Columns[place].Name);
        WriteValue(state == PostgresValueState.Null ? null : ValueOf(row, place));
    }

    private static object? ValueOf(PostgresRow row, int place)
    {
        try
        {
            return row[place];
        }
        catch (OverflowException)
        {
            // A number with more digits than a decimal has.
            return row.Get<string>(place);
        }
    }

    private void WriteValue(object? value)
    {
        switch (value)
        {
            case null:
                _writer.WriteNullValue();
                break;
            case bool truth:
                _writer.WriteBooleanValue(truth);
                break;
            case short or int or long or uint:
                _writer.WriteNumberValue(Convert.ToInt64(value, CultureInfo.InvariantCulture));
                break;
            case decimal number:
                _writer.WriteNumberValue(number);
                break;
            case float number when float.IsFinite(number):
                _writer.WriteNumberValue(number);
                break;
            case double number when double.IsFinite(number):
                _writer.WriteNumberValue(number);
                break;
            case string text:
                _writer.WriteStringValue(text);
                break;
            case byte[] bytes:
                _writer.WriteBase64StringValue(bytes);
                break;
            case DateTime time:
                _writer.WriteStringValue(time);
                break;
            case DateOnly or TimeOnly:
                _writer.WriteStringValue(((IFormattable)value).ToString("O", CultureInfo.InvariantCulture));
                break;
            case Array values:
                _writer.WriteStartArray();
                foreach (object? one in values)
                {
                    WriteValue(one);
                }

                _writer.WriteEndArray();
                break;
            default:
                _writer.WriteStringValue(Convert.ToString(value, CultureInfo.InvariantCulture));
                break;
        }
    }
}
