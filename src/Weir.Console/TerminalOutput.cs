using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using System.Runtime.InteropServices;
using System.Text;
using Spectre.Console;

namespace Weir.Terminal;

/// <summary>The error output, written past the platform's writers and their locks where it is a terminal. The protocol stands at the head of BarDisplay.cs.</summary>
internal sealed class TerminalOutput : IAnsiConsoleOutput
{
    private readonly AnsiConsoleOutput _platform = new(Console.Error);
    private volatile int _width;
    private volatile int _height;

    public TerminalOutput()
    {
        IsTerminal = _platform.IsTerminal;
        Writer = IsTerminal && IsOfThePlatform(_platform.Writer) ? Past(_platform.Writer, TerminalStream.Error) : _platform.Writer;
        _width = _platform.Width;
        _height = _platform.Height;
    }

    public TextWriter Writer { get; }

    public bool IsTerminal { get; }

    public int Width => _width;

    public int Height => _height;

    /// <summary>A writer to the file descriptor behind one of the platform's. On Windows, the platform's locks nothing but itself.</summary>
    public static TextWriter Past(TextWriter writer, int descriptor) =>
        OperatingSystem.IsWindows() ? writer : new StreamWriter(new TerminalStream(descriptor), writer.Encoding);

    /// <summary>Whether the platform made this writer. No member tells it, and a writer that passes texts on looks the same in all that is public.</summary>
    [UnconditionalSuppressMessage("Trimming", "IL2075", Justification = "Without the field, the writer counts as the program's own, which is safe.")]
    public static bool IsOfThePlatform(TextWriter writer) =>
        writer.GetType().GetField("_out", BindingFlags.Instance | BindingFlags.NonPublic)?.GetValue(writer) is StreamWriter { BaseStream: { } stream }
        && stream.GetType().Assembly == typeof(Console).Assembly;

    public void SetEncoding(Encoding encoding) => _platform.SetEncoding(encoding);

    /// <summary>Reads the size of the window, unless somebody is writing to <see cref="Console.Out"/>, who may be stopped for long.</summary>
    public void ReadSize()
    {
        TextWriter output = Console.Out;
        if (!IsTerminal || !Monitor.TryEnter(output))
        {
            return;
        }

        try
        {
            _width = _platform.Width;
            _height = _platform.Height;
        }
        catch (Exception)
        {
            // The window is gone. The size that was known does no harm.
        }
        finally
        {
            Monitor.Exit(output);
        }
    }
}

/// <summary>A file descriptor of this process, which is a terminal.</summary>
internal sealed class TerminalStream(int descriptor) : Stream
{
    public const int Output = 1;
    public const int Error = 2;

    private const int Interrupted = 4;
    private const int ReaderGone = 32;
    private const short Writable = 4;

    // EAGAIN: whoever shares the terminal has set it not to block.
    private static readonly int NotNow = OperatingSystem.IsLinux() ? 11 : 35;

    public override bool CanRead => false;

    public override bool CanSeek => false;

    public override bool CanWrite => true;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    public override void Write(ReadOnlySpan<byte> buffer)
    {
        while (!buffer.IsEmpty)
        {
            nint written = WriteTo(descriptor, ref MemoryMarshal.GetReference(buffer), buffer.Length);
            if (written >= 0)
            {
                buffer = buffer[(int)written..];
                continue;
            }

            int error = Marshal.GetLastPInvokeError();
            if (error == ReaderGone)
            {
                // As the platform's writers do.
                return;
            }

            if (error == NotNow)
            {
                Descriptor wait = new() { Number = descriptor, Events = Writable };
                _ = Poll(ref wait, 1, Timeout.Infinite);
            }
            else if (error != Interrupted)
            {
                throw new IOException($"The terminal cannot be written: {Marshal.GetPInvokeErrorMessage(error)}.");
            }
        }
    }

    public override void Write(byte[] buffer, int offset, int count) => Write(buffer.AsSpan(offset, count));

    public override void Flush()
    {
    }

    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    [DllImport("libc", EntryPoint = "write", ExactSpelling = true, SetLastError = true)]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern nint WriteTo(int descriptor, ref byte buffer, nint count);

    [DllImport("libc", EntryPoint = "poll", ExactSpelling = true)]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int Poll(ref Descriptor descriptors, nint count, int milliseconds);

    [StructLayout(LayoutKind.Sequential)]
    private struct Descriptor
    {
        public int Number;
        public short Events;
        public short Returned;
    }
}
