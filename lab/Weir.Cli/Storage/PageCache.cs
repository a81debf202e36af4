using System.Buffers;
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

/// <summary>Memory at an address that reads past the page cache accept; arrays are not aligned like that.</summary>
internal sealed unsafe class AlignedBuffer(int length) : MemoryManager<byte>
{
    /// <summary>What addresses, offsets and lengths must be multiples of.</summary>
    public const int Alignment = 4096;

    private void* _memory = NativeMemory.AlignedAlloc((nuint)length, Alignment);

    public override Span<byte> GetSpan() => new(_memory, length);

    public override MemoryHandle Pin(int elementIndex = 0) => new((byte*)_memory + elementIndex, default, this);

    public override void Unpin()
    {
    }

    protected override void Dispose(bool disposing)
    {
        NativeMemory.AlignedFree(_memory);
        _memory = null;
    }
}

/// <summary>
/// Counts the threads of this process that are waiting in a file read: the depth that the device sees. It is lower than the requested depth if reads queue for
/// pool threads.
/// </summary>
/// <remarks>Linux only. A read that the page cache answers does not wait and is not seen. The caller's own thread is left out.</remarks>
internal sealed class KernelReads : IDisposable
{
    private const string Tasks = "/proc/self/task";
    private const int ListEvery = 10;

    // The system call that the platform reads files with, at a position.
    private static readonly byte[] Call = RuntimeInformation.ProcessArchitecture is Architecture.Arm64 ? "67 "u8.ToArray() : "17 "u8.ToArray();

    private readonly Dictionary<int, SafeFileHandle> _threads = [];
    private readonly byte[] _text = new byte[16];
    private readonly int _own;
    private int _looks;

    private KernelReads(int own) => _own = own;

    /// <summary>Prepares to count; <see langword="null"/> if that is not possible. Call it on the thread that counts.</summary>
    public static KernelReads? TryOpen()
    {
        try
        {
            // PID/task/TID
            string? self = new FileInfo("/proc/thread-self").LinkTarget;
            return self is not null && File.Exists($"{Tasks}/{Path.GetFileName(self)}/syscall")
                ? new KernelReads(int.Parse(Path.GetFileName(self), CultureInfo.InvariantCulture))
                : null;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    /// <summary>How many threads wait inside a read.</summary>
    public int Count()
    {
        if (_looks++ % ListEvery == 0)
        {
            List();
        }

        int count = 0;
        foreach ((int thread, SafeFileHandle handle) in _threads)
        {
            try
            {
                int length = RandomAccess.Read(handle, _text, 0);
                if (_text.AsSpan(0, length).StartsWith(Call))
                {
                    count++;
                }
            }
            catch (IOException)
            {
                // The thread has ended; the next list is without it.
                handle.Dispose();
                _threads.Remove(thread);
            }
        }

        return count;
    }

    public void Dispose()
    {
        foreach (SafeFileHandle handle in _threads.Values)
        {
            handle.Dispose();
        }
    }

    private void List()
    {
        foreach (string folder in Directory.EnumerateDirectories(Tasks))
        {
            int thread = int.Parse(Path.GetFileName(folder), CultureInfo.InvariantCulture);
            if (thread != _own && !_threads.ContainsKey(thread))
            {
                try
                {
                    _threads.Add(thread, File.OpenHandle(folder + "/syscall"));
                }
                catch (Exception e) when (e is IOException or UnauthorizedAccessException)
                {
                    // It has ended in the meantime.
                }
            }
        }
    }
}
