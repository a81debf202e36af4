using System.Buffers;
using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Win32.SafeHandles;

namespace Weir.Delivery.Cli.Hosting;

/// <summary>
/// Lines to a descriptor that other programs, and other outputs of this one, may share. They are written where the descriptor stands and move it, as a shell
/// expects of the programs whose output it puts into one file. A <see cref="FileStream"/> would keep a position of its own and write over what others wrote.
/// The console's own stream keeps none, but says nothing when nobody reads any more.
/// </summary>
/// <param name="descriptor">An open descriptor of a Unix.</param>
internal sealed partial class DescriptorLines(int descriptor) : ILineOutput
{
    // Several lines are one call of the system, and no line is divided between two, so that lines of other writers come between lines.
    private const int Enough = 1 << 16;
    private const byte EndOfLine = (byte)'\n';
    private const int Interrupted = 4;
    private const short CanWrite = 4;

    // EAGAIN has another number on macOS.
    private static readonly int s_tryAgain = OperatingSystem.IsLinux() ? 11 : 35;

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
        ReadOnlySpan<byte> rest = _buffer.WrittenSpan;
        while (rest.Length > 0)
        {
            nint written = Write(descriptor, rest, (nuint)rest.Length);
            if (written >= 0)
            {
                rest = rest[(int)written..];
                continue;
            }

            int error = Marshal.GetLastPInvokeError();
            if (error == s_tryAgain)
            {
                // Somebody has made the descriptor one that does not wait.
                PollDescriptor waits = new() { Descriptor = descriptor, Events = CanWrite };
                _ = Poll(ref waits, 1, Timeout.Infinite);
            }
            else if (error != Interrupted)
            {
                throw new IOException(Marshal.GetPInvokeErrorMessage(error), error);
            }
        }

        _buffer.ResetWrittenCount();
    }

    [LibraryImport("libc", EntryPoint = "write", SetLastError = true)]
    [DefaultDllImportSearchPaths(DllImportSearchPath.System32)]
    private static partial nint Write(int descriptor, ReadOnlySpan<byte> bytes, nuint count);

    [LibraryImport("libc", EntryPoint = "poll", SetLastError = true)]
    [DefaultDllImportSearchPaths(DllImportSearchPath.System32)]
    private static partial int Poll(ref PollDescriptor descriptors, nuint count, int milliseconds);

    [StructLayout(LayoutKind.Sequential)]
    private struct PollDescriptor
    {
        public int Descriptor;
        public short Events;
        public short Happened;
    }
}
