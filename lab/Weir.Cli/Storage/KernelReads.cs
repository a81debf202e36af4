namespace Weir.Cli.Storage;

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
