using System.Buffers;

namespace Weir.Cli.Kit.Hosting;

/// <summary>
/// Text to a descriptor. What ends a line is written with all that came before it, in one call of the system, so that lines of other writers come between
/// lines. The rest is written by <see cref="Flush"/>.
/// </summary>
internal sealed class DescriptorWriter(int descriptor, Encoding encoding) : TextWriter
{
    private readonly Encoder _encoder = encoding.GetEncoder();
    private readonly ArrayBufferWriter<byte> _bytes = new();

    public override Encoding Encoding => encoding;

    public override void Write(char value) => Write([value]);

    public override void Write(char[] buffer, int index, int count) => Write(buffer.AsSpan(index, count));

    public override void Write(string? value) => Write(value.AsSpan());

    public override void Write(ReadOnlySpan<char> buffer)
    {
        _encoder.Convert(buffer, _bytes, flush: false, out _, out _);
        if (buffer is [.., '\n'])
        {
            Flush();
        }
    }

    public override void Flush()
    {
        // What an output has not taken is not tried again.
        byte[] bytes = _bytes.WrittenSpan.ToArray();
        _bytes.ResetWrittenCount();
        Descriptor.Write(descriptor, bytes);
    }
}
