using System.Text.Encodings.Web;

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
        change.WriteJson(_writer);
        _writer.Flush();
        return new ChangeLine(Encoding.UTF8.GetString(_bytes.WrittenSpan), change.CommitTime);
    }

    public void Dispose() => _writer.Dispose();
}
