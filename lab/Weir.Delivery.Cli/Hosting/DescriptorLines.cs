using Microsoft.Win32.SafeHandles;

namespace Weir.Delivery.Cli.Hosting;

/// <summary>Lines to a descriptor that others may share; see <see cref="Descriptor"/>.</summary>
internal sealed class DescriptorLines(int descriptor) : ILineOutput
{
    // Several lines are one call of the system, and no line is divided between two, so that lines of other writers come between lines.
    private const int Enough = 1 << 16;
    private const byte EndOfLine = (byte)'\n';

    private readonly ArrayBufferWriter<byte> _buffer = new(2 * Enough);
    private bool _hasBegun;

    public void Write(IEnumerable<string> lines)
    {
        _buffer.ResetWrittenCount();
        if (!_hasBegun && EndsWithinALine())
        {
            // A program that was killed, or a disk that was full, left a part of a line. It must not take the first line of this program with it.
            _buffer.Write([EndOfLine]);
        }

        _hasBegun = true;
        foreach (string line in lines)
        {
            Encoding.UTF8.GetBytes(line, _buffer);
            _buffer.Write([EndOfLine]);
            if (_buffer.WrittenCount >= Enough)
            {
                Send();
            }
        }

        Send();

        // Does nothing where there is no disk behind.
        using SafeFileHandle handle = new(descriptor, ownsHandle: false);
        RandomAccess.FlushToDisk(handle);
    }

    private bool EndsWithinALine()
    {
        try
        {
            using FileStream end = new(new SafeFileHandle(descriptor, ownsHandle: false), FileAccess.Write, bufferSize: 0);
            if (!end.CanSeek || end.Length == 0)
            {
                return false;
            }

            using SafeFileHandle file = File.OpenHandle($"/dev/fd/{descriptor}", FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete);
            Span<byte> last = [EndOfLine];
            RandomAccess.Read(file, last, end.Length - 1);
            return last[0] != EndOfLine;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or ArgumentException)
        {
            // Only an output that can be read as well tells how it ends.
            return false;
        }
    }

    private void Send()
    {
        Descriptor.Write(descriptor, _buffer.WrittenSpan);
        _buffer.ResetWrittenCount();
    }
}

/// <summary>An output for lines of which none may be lost.</summary>
internal interface ILineOutput
{
    /// <summary>Writes lines, each with its end. When this returns, they are where the output goes, and a file has them on its disk.</summary>
    /// <exception cref="OutputException">The output cannot be written. Some of the lines may have been written.</exception>
    void Write(IEnumerable<string> lines);
}

/// <summary>Lines to a writer of text.</summary>
internal sealed class TextLines(TextWriter output) : ILineOutput
{
    public void Write(IEnumerable<string> lines)
    {
        foreach (string line in lines)
        {
            output.WriteLine(line);
        }

        output.Flush();
    }
}
