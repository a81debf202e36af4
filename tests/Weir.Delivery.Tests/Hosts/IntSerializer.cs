using System.Buffers;
using System.Buffers.Text;

namespace Weir.Delivery.Tests.Hosts;

/// <summary>Numbers as decimal text.</summary>
internal sealed class IntSerializer : IWorkSerializer<int>
{
    public static IntSerializer Instance { get; } = new();

    public void Write(int value, IBufferWriter<byte> output)
    {
        Utf8Formatter.TryFormat(value, output.GetSpan(16), out int written);
        output.Advance(written);
    }

    public int Read(ReadOnlySpan<byte> bytes) => Utf8Parser.TryParse(bytes, out int value, out _) ? value : throw new FormatException("No number.");
}
