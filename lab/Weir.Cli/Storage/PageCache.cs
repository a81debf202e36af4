using System.ComponentModel;

namespace Weir.Cli.Storage;

/// <summary>Control over what the system's page cache holds of a file, without privileges. Linux only.</summary>
internal static partial class PageCache
{
    private const int DontNeed = 4;
    private const int ReadOnly = 0;
    private const int CloseOnExec = 0x80000;
    private const int InvalidArgument = 22;

    /// <summary>Whether it can be controlled here.</summary>
    public static bool IsControllable => OperatingSystem.IsLinux();

    // The bit differs between architectures.
    private static int Direct => RuntimeInformation.ProcessArchitecture is Architecture.Arm64 or Architecture.Arm ? 0x10000 : 0x4000;

    /// <summary>Drops a file from the cache. Mapped pages stay.</summary>
    public static void Drop(string path)
    {
        using SafeFileHandle handle = File.OpenHandle(path);

        // Pages that are not on the device yet would stay.
        if (Sync(handle) != 0)
        {
            throw new Win32Exception(Marshal.GetLastPInvokeError());
        }

        // It returns the error instead of setting errno.
        int error = Advise(handle, 0, 0, DontNeed);
        if (error != 0)
        {
            throw new Win32Exception(error);
        }
    }

    /// <summary>Opens a file for reads past the cache. Address, offset and length of each read must be multiples of 4,096.</summary>
    /// <exception cref="NotSupportedException">The file system cannot do that.</exception>
    public static SafeFileHandle OpenDirect(string path)
    {
        int descriptor = Open(path, ReadOnly | CloseOnExec | Direct);
        if (descriptor >= 0)
        {
            return new SafeFileHandle(descriptor, ownsHandle: true);
        }

        int error = Marshal.GetLastPInvokeError();
        throw error == InvalidArgument
            ? new NotSupportedException($"The file system of '{path}' cannot read past the page cache (O_DIRECT); use --cache drop or warm.")
            : new IOException($"'{path}' cannot be opened: {new Win32Exception(error).Message}");
    }

    [LibraryImport("libc", EntryPoint = "posix_fadvise", SetLastError = true)]
    private static partial int Advise(SafeFileHandle handle, long offset, long length, int advice);

    [LibraryImport("libc", EntryPoint = "fsync", SetLastError = true)]
    private static partial int Sync(SafeFileHandle handle);

    [LibraryImport("libc", EntryPoint = "open", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    private static partial int Open(string path, int flags);
}
