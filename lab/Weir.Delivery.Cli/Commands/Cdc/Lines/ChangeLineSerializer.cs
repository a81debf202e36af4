namespace Weir.Delivery.Cli.Commands.Cdc.Lines;

/// <summary>A line as what a queue has of it: its text.</summary>
internal sealed class ChangeLineSerializer : IWorkSerializer<ChangeLine>
{
    public void Write(ChangeLine value, IBufferWriter<byte> output) => WorkSerializer.Text.Write(value.Json, output);

    public ChangeLine Read(ReadOnlySpan<byte> bytes) => new(WorkSerializer.Text.Read(bytes), default);
}
