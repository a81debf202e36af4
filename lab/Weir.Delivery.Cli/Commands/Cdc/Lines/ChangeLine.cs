using System.Text.Encodings.Web;

namespace Weir.Delivery.Cli.Commands.Cdc.Lines;

/// <summary>A change as a line.</summary>
/// <param name="Json">The change as JSON, without a line break.</param>
/// <param name="Time">When its transaction was committed, by the clock of the server.</param>
internal readonly record struct ChangeLine(string Json, DateTimeOffset Time);

/// <summary>A line as what a queue has of it: its text.</summary>
internal sealed class ChangeLineSerializer : IWorkSerializer<ChangeLine>
{
    public void Write(ChangeLine value, IBufferWriter<byte> output) => WorkSerializer.Text.Write(value.Json, output);

    public ChangeLine Read(ReadOnlySpan<byte> bytes) => new(WorkSerializer.Text.Read(bytes), default);
}

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
