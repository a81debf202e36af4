using System.Runtime.InteropServices;

namespace Weir.Cli.Kit.Hosting;

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
    /// <exception cref="OutputException">It takes no more. Some of the bytes may have been written.</exception>
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
