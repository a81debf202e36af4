[assembly: DefaultDllImportSearchPaths(DllImportSearchPath.System32)]

namespace Weir.Cli.Programs;

/// <summary>The calls into the C library: the platform's Process class does not provide the resources of a program that has ended.</summary>
internal static partial class UnixCalls
{
    /// <summary>More than any of the C libraries has in its attributes, actions, sets of signals and accounts of a signal.</summary>
    public const int Room = 1024;

    /// <summary>The program gets its own process group, so that it can be killed with all that it has started.</summary>
    public const short OwnGroup = 0x02;

    /// <summary>Signals that this process ignores are not ignored by the program: without this a writer into a closed pipe would go on.</summary>
    public const short UsualSignals = 0x04;

    /// <summary>Signals that this thread has blocked are not blocked there.</summary>
    public const short NoMask = 0x08;

    public const int Kill = 9;

    private const string Library = "libc";
    private const int OneProcess = 1;
    private const int HasEnded = 4;
    private const int Fields = 18;
    private const int Interrupted = 4;
    private const int ChildSubreaper = 36;

    private static readonly Lock SubreaperLock = new();
    private static int _subreaperUsers;

    /// <summary>Waits until a program has ended, without reaping it, so that its process ID stays reserved.</summary>
    public static bool WaitForEnd(int program)
    {
        Span<byte> account = stackalloc byte[Room];
        int stays = OperatingSystem.IsMacOS() ? 0x20 : 0x01000000;
        int result;
        do
        {
            result = WaitId(OneProcess, program, account, HasEnded | stays);
        }
        while (result != 0 && Marshal.GetLastPInvokeError() == Interrupted);

        return result == 0;
    }

    /// <summary>Reaps a program that has ended: its exit status, and the resources that it used.</summary>
    public static ProgramEnd TakeUsage(int program, double seconds)
    {
        Span<long> use = stackalloc long[Fields];
        if (Wait4(program, out int status, 0, use) != program)
        {
            throw new InvalidOperationException(
                $"The system does not say how much processor time and memory the program used (error {Marshal.GetLastPInvokeError()}).");
        }

        // Memory in bytes on one system and in thousands of them on the others; microseconds are an int in a long there.
        int signal = status & 0x7f;
        return new ProgramEnd(
            seconds,
            use[0] + ((int)use[1] / 1e6),
            use[2] + ((int)use[3] / 1e6),
            use[4] * (OperatingSystem.IsMacOS() ? 1 : 1024),
            use[16] + use[17],
            signal == 0 ? (status >> 8) & 0xff : -signal);
    }

    /// <summary>Makes programs whose parent has ended children of this process, while any caller wants it; on Linux.</summary>
    /// <param name="does">Whether the caller wants it, or no longer does.</param>
    /// <returns>Whether the system does it.</returns>
    public static bool SetSubreaper(bool does)
    {
        // It applies to the whole process, in which other callers may want it too.
        lock (SubreaperLock)
        {
            _subreaperUsers += does ? 1 : -1;
            return Control(ChildSubreaper, _subreaperUsers > 0 ? 1 : 0, 0, 0, 0) == 0;
        }
    }

    [LibraryImport(Library, EntryPoint = "posix_spawnp", StringMarshalling = StringMarshalling.Utf8)]
    public static partial int Spawn(out int program, string file, Span<byte> actions, Span<byte> attributes, string?[] words, string?[] variables);

    [LibraryImport(Library, EntryPoint = "posix_spawn_file_actions_init")]
    public static partial int InitActions(Span<byte> actions);

    [LibraryImport(Library, EntryPoint = "posix_spawn_file_actions_destroy")]
    public static partial int DestroyActions(Span<byte> actions);

    [LibraryImport(Library, EntryPoint = "posix_spawn_file_actions_addopen", StringMarshalling = StringMarshalling.Utf8)]
    public static partial int AddOpen(Span<byte> actions, int descriptor, string file, int flags, uint mode);

    [LibraryImport(Library, EntryPoint = "posix_spawn_file_actions_adddup2")]
    public static partial int AddCopy(Span<byte> actions, int descriptor, int copy);

    [LibraryImport(Library, EntryPoint = "posix_spawnattr_init")]
    public static partial int InitAttributes(Span<byte> attributes);

    [LibraryImport(Library, EntryPoint = "posix_spawnattr_destroy")]
    public static partial int DestroyAttributes(Span<byte> attributes);

    [LibraryImport(Library, EntryPoint = "posix_spawnattr_setflags")]
    public static partial int SetFlags(Span<byte> attributes, short flags);

    [LibraryImport(Library, EntryPoint = "posix_spawnattr_setpgroup")]
    public static partial int SetGroup(Span<byte> attributes, int group);

    [LibraryImport(Library, EntryPoint = "posix_spawnattr_setsigdefault")]
    public static partial int SetUsual(Span<byte> attributes, Span<byte> signals);

    [LibraryImport(Library, EntryPoint = "posix_spawnattr_setsigmask")]
    public static partial int SetMask(Span<byte> attributes, Span<byte> signals);

    [LibraryImport(Library, EntryPoint = "sigemptyset")]
    public static partial int Empty(Span<byte> signals);

    [LibraryImport(Library, EntryPoint = "sigaddset")]
    public static partial int Add(Span<byte> signals, int signal);

    [LibraryImport(Library, EntryPoint = "kill")]
    public static partial int Send(int program, int signal);

    [LibraryImport(Library, EntryPoint = "waitid", SetLastError = true)]
    private static partial int WaitId(int kind, int program, Span<byte> account, int options);

    [LibraryImport(Library, EntryPoint = "wait4", SetLastError = true)]
    private static partial int Wait4(int program, out int status, int options, Span<long> use);

    [LibraryImport(Library, EntryPoint = "prctl")]
    private static partial int Control(int what, nint first, nint second, nint third, nint fourth);
}
