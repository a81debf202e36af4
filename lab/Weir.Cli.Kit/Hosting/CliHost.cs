using System.Buffers;
using System.Runtime.InteropServices;
using Weir.Cli.Kit.Formatting;
using Weir.Lab.Report.Tables;

namespace Weir.Cli.Kit.Hosting;

/// <summary>The environment of a command, so that a test can run a command in its own process.</summary>
internal record CliHost
{
    /// <summary>The name of the program, which is before its messages.</summary>
    public required string Name { get; init; }

    /// <summary>Where results go.</summary>
    public required TextWriter Out { get; init; }

    /// <summary>Where messages and progress go.</summary>
    public required TextWriter Error { get; init; }

    /// <summary>Whether results are read by a person at a terminal.</summary>
    public bool OutIsTerminal { get; init; }

    /// <summary>The maximum length of a line of the results; <see langword="null"/> if they do not go to a terminal.</summary>
    public int? Width { get; init; }

    /// <summary>How results are written as text.</summary>
    public TextStyle Style => new(Width, OutIsTerminal && Consoles.HasColors(Out));

    /// <summary>Whether progress is read by a person at a terminal.</summary>
    public bool ErrorIsTerminal { get; init; }

    /// <summary>The value of an environment variable, or <see langword="null"/>.</summary>
    public Func<string, string?> Variable { get; init; } = static _ => null;

    /// <summary>Asks the command to stop.</summary>
    public CancellationToken Stop { get; init; }

    /// <summary>What the commands called <c>load</c> depend on besides their options.</summary>
    public LoadHost Load { get; init; } = new();

    /// <summary>Writes a message of the program.</summary>
    public void Say(string line) => Error.WriteLine($"{Name}: {line}");

    /// <summary>The environment of this process.</summary>
    public static CliHost OfProcess(string name, CancellationToken stop) => new()
    {
        Name = name,
        Out = OutputOfProcess(),
        Error = Console.Error,
        OutIsTerminal = !Console.IsOutputRedirected,
        Width = Console.IsOutputRedirected ? null : WidthOfTerminal(),
        ErrorIsTerminal = !Console.IsErrorRedirected,
        Variable = Environment.GetEnvironmentVariable,
        Stop = stop,
    };

    // Libraries that print get it as the console.
    private static TextWriter OutputOfProcess()
    {
        if (Console.IsOutputRedirected && !OperatingSystem.IsWindows())
        {
            Console.SetOut(new DescriptorWriter(Descriptor.Output, Console.OutputEncoding));
        }

        return Console.Out;
    }

    // If the terminal does not report its width, the usual width is assumed.
    private static int WidthOfTerminal()
    {
        const int usual = 80;
        try
        {
            return Console.WindowWidth is > 0 and int width ? width : usual;
        }
        catch (IOException)
        {
            return usual;
        }
    }
}

/// <summary>
/// Writes to a descriptor that other programs, and other outputs of this one, may share: where it stands, which moves it, as a shell expects of the programs
/// whose output it puts into one file. A <see cref="FileStream"/> would keep a position of its own and write over what others wrote. The console's own stream
/// keeps none, but says nothing when nobody reads any more.
/// </summary>
internal static partial class Descriptor
{
    /// <summary>The standard output.</summary>
    public const int Output = 1;

    private const int Interrupted = 4;
    private const short CanWrite = 4;

    // EAGAIN has another number on macOS.
    private static readonly int s_tryAgain = OperatingSystem.IsLinux() ? 11 : 35;

    /// <summary>Writes bytes, in one call of the system unless that takes only a part.</summary>
    /// <exception cref="OutputException">It cannot be written. Some of the bytes may have been written.</exception>
    public static void Write(int descriptor, ReadOnlySpan<byte> bytes)
    {
        while (bytes.Length > 0)
        {
            nint written = Write(descriptor, bytes, (nuint)bytes.Length);
            if (written >= 0)
            {
                bytes = bytes[(int)written..];
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
                throw new OutputException(Marshal.GetPInvokeErrorMessage(error));
            }
        }
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

/// <summary>What the commands called <c>load</c> depend on besides their options. Tests use it to shorten runs.</summary>
internal sealed record LoadHost
{
    /// <summary>Windows, warm-up and clock. The number of trials comes from the options.</summary>
    public TrialOptions Trials { get; init; } = new();

    /// <summary>The time after which a long window is reported.</summary>
    public TimeSpan Heartbeat { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>The wall clock, for the time at which a run started.</summary>
    public TimeProvider Clock { get; init; } = TimeProvider.System;
}

/// <summary>The exit codes, which are the same for all commands.</summary>
internal static class ExitCode
{
    public const int Success = 0;

    /// <summary>Bad input, or an unexpected error.</summary>
    public const int Failure = 1;

    /// <summary>Slower than allowed.</summary>
    public const int Regression = 2;

    /// <summary>An audit found a broken promise.</summary>
    public const int Broken = 2;

    /// <summary>The measurement is invalid: a count or a checksum was wrong, or the requested conditions were not met.</summary>
    public const int Invalid = 3;

    /// <summary>The result is inconclusive, and <c>--strict</c> was given.</summary>
    public const int Inconclusive = 4;

    /// <summary>Stopped by a signal, as in shells.</summary>
    public const int Interrupted = 130;
}

/// <summary>The user's input cannot be used. The message is one sentence that names the option or variable and its allowed values.</summary>
/// <remarks>Whatever reads what the user gave throws it: options, values, names, files and addresses.</remarks>
internal sealed class BadInputException(string message) : Exception(message);

/// <summary>The output of the program cannot be written: its reader has closed it, or its disk is full.</summary>
internal sealed class OutputException(string reason) : IOException($"The output cannot be written: {reason}.")
{
    /// <summary>What the system says.</summary>
    public string Reason => reason;
}
