using System.Collections;
using System.ComponentModel;

[assembly: DefaultDllImportSearchPaths(DllImportSearchPath.System32)]

namespace Weir.Cli.Programs;

/// <summary>One run of a program. Its input is empty, and its output is discarded or goes to the error output.</summary>
internal sealed class StartedProgram(IReadOnlyList<string> words, bool showsOutput)
{
    private const string Nothing = "/dev/null";
    private const int WriteOnly = 1;

    // Shells take numbers of one digit only.
    private const int StartPipe = 3;

    // The signals that this process may ignore, or that .NET handles: hang-up, interrupt, quit, a closed pipe, terminate.
    private static readonly int[] Ignorable = [1, 2, 3, 13, 15];

    private readonly Lock _lock = new();
    private Process? _process;
    private int _program;
    private int _group;
    private bool _isKilled;

    /// <summary>Runs it to its end on this thread: nothing may happen between its end and the reading of the clock.</summary>
    /// <exception cref="OperationCanceledException">It was killed before it had started.</exception>
    public ProgramEnd Run() => OperatingSystem.IsWindows() ? RunAsProcess() : RunOnUnix(words, isLast: true);

    /// <summary>
    /// Runs it once more for the memory that it needs, which <see cref="Run"/> cannot tell of a program that needs less than this one: on Linux a program's
    /// peak has in it that of the process that it was before, which is a part of this one. So a small shell makes a process for it and ends, and that becomes
    /// a child of this process. Only then it becomes the program, because a shell may take the account of one that has ended before it.
    /// </summary>
    /// <returns>The most memory that it or a program that it started had resident, in bytes; <see langword="null"/> where the system does not tell.</returns>
    public long? RunForMemory()
    {
        if (!OperatingSystem.IsLinux())
        {
            return null;
        }

        bool adopts = UnixCalls.SetSubreaper(true);
        string file = Path.GetTempFileName();
        try
        {
            // The process waits for the end of a pipe that only this process holds, so it never stays behind.
            using AnonymousPipeServerStream start = new(PipeDirection.Out);
            ProgramEnd shell = RunOnUnix(
                ["sh", "-c", $"{{ read -r _ <&{StartPipe}; exec \"$@\" {StartPipe}<&-; }} & echo $! > \"$0\"", file, .. words],
                isLast: false,
                (int)start.ClientSafePipeHandle.DangerousGetHandle());
            if (!adopts || shell.Code != 0 || !int.TryParse(File.ReadAllText(file), out int program))
            {
                return null;
            }

            start.Dispose();
            return EndOf(program, Stopwatch.GetTimestamp(), isLast: true)?.PeakBytes;
        }
        finally
        {
            UnixCalls.SetSubreaper(false);
            File.Delete(file);
        }
    }

    /// <summary>Kills it, with all that it has started.</summary>
    public void Kill()
    {
        lock (_lock)
        {
            _isKilled = true;
            if (_process is not null)
            {
                KillTree(_process);
            }
            else if (_group > 0)
            {
                // First the processes that it has started, including those in other groups; then the rest of its group, whose parents may have ended.
                try
                {
                    using Process process = Process.GetProcessById(_program);
                    KillTree(process);
                }
                catch (ArgumentException)
                {
                    // It has just ended.
                }

                _ = UnixCalls.Send(-_group, UnixCalls.Kill);
            }
        }
    }

    private static void KillTree(Process process)
    {
        try
        {
            process.Kill(entireProcessTree: true);
        }
        catch (Exception e) when (e is InvalidOperationException or Win32Exception or AggregateException)
        {
            // It, or a part of it, has just ended.
        }
    }

    private ProgramEnd RunOnUnix(IReadOnlyList<string> words, bool isLast, int? startPipe = null)
    {
        string?[] arguments = [.. words, null];
        string?[] variables = [.. Environment.GetEnvironmentVariables().Cast<DictionaryEntry>().Select(static v => $"{v.Key}={v.Value}"), null];
        Span<byte> actions = stackalloc byte[UnixCalls.Room];
        Span<byte> attributes = stackalloc byte[UnixCalls.Room];
        Prepare(actions, attributes);
        if (startPipe is { } pipe)
        {
            UnixCalls.AddCopy(actions, pipe, StartPipe);
        }

        long start;
        lock (_lock)
        {
            ThrowIfKilled();
            start = Stopwatch.GetTimestamp();
            int error = UnixCalls.Spawn(out int program, words[0], actions, attributes, arguments, variables);
            if (error != 0)
            {
                throw NotStarted(new Win32Exception(error).Message);
            }

            _program = _group = program;
        }

        ProgramEnd? end = EndOf(_program, start, isLast);
        UnixCalls.DestroyActions(actions);
        UnixCalls.DestroyAttributes(attributes);
        return end ?? throw new InvalidOperationException("The system does not say when a program ends.");
    }

    private ProgramEnd? EndOf(int program, long start, bool isLast)
    {
        lock (_lock)
        {
            _program = program;
            if (_isKilled)
            {
                _ = UnixCalls.Send(-_group, UnixCalls.Kill);
            }
        }

        bool hasEnded = UnixCalls.WaitForEnd(program);
        double seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
        lock (_lock)
        {
            // From here on, its process ID may be reused. The group has the ID of the first program, and exists as long as one of its processes.
            _program = 0;
            _group = isLast ? 0 : _group;
            return hasEnded ? UnixCalls.TakeUsage(program, seconds) : null;
        }
    }

    private void Prepare(Span<byte> actions, Span<byte> attributes)
    {
        UnixCalls.InitActions(actions);
        UnixCalls.AddOpen(actions, 0, Nothing, 0, 0);
        if (showsOutput)
        {
            UnixCalls.AddCopy(actions, 2, 1);
        }
        else
        {
            UnixCalls.AddOpen(actions, 1, Nothing, WriteOnly, 0);
            UnixCalls.AddOpen(actions, 2, Nothing, WriteOnly, 0);
        }

        Span<byte> signals = stackalloc byte[UnixCalls.Room];
        UnixCalls.InitAttributes(attributes);
        UnixCalls.SetFlags(attributes, UnixCalls.OwnGroup | UnixCalls.UsualSignals | UnixCalls.NoMask);
        UnixCalls.SetGroup(attributes, 0);
        UnixCalls.Empty(signals);
        UnixCalls.SetMask(attributes, signals);
        foreach (int signal in Ignorable)
        {
            UnixCalls.Add(signals, signal);
        }

        UnixCalls.SetUsual(attributes, signals);
    }

    // There, the platform's Process class provides all of this after the end too.
    private ProgramEnd RunAsProcess()
    {
        ProcessStartInfo info =
            new(words[0], words.Skip(1)) { UseShellExecute = false, RedirectStandardInput = true, RedirectStandardOutput = true, RedirectStandardError = true };
        using Process process = new() { StartInfo = info };
        DataReceivedEventHandler take = (_, line) =>
        {
            if (showsOutput && line.Data is { } text)
            {
                Console.Error.WriteLine(text);
            }
        };
        process.OutputDataReceived += take;
        process.ErrorDataReceived += take;
        long start;
        lock (_lock)
        {
            ThrowIfKilled();
            start = Stopwatch.GetTimestamp();
            try
            {
                process.Start();
            }
            catch (Win32Exception e)
            {
                throw NotStarted(e.Message);
            }

            _process = process;
        }

        process.StandardInput.Close();
        process.BeginOutputReadLine();
        process.BeginErrorReadLine();
        process.WaitForExit();
        double seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
        lock (_lock)
        {
            _process = null;
        }

        return new ProgramEnd(
            seconds, process.UserProcessorTime.TotalSeconds, process.PrivilegedProcessorTime.TotalSeconds, process.PeakWorkingSet64, null, process.ExitCode);
    }

    private void ThrowIfKilled()
    {
        if (_isKilled)
        {
            throw new OperationCanceledException();
        }
    }

    private BadInputException NotStarted(string why) => new($"The program '{words[0]}' could not be started: {why}.");
}

/// <summary>How one run of a program ended, and the resources that it used, including all programs that it started and waited for.</summary>
/// <param name="Seconds">From before its start to its end.</param>
/// <param name="UserSeconds">Processor time outside the kernel.</param>
/// <param name="SystemSeconds">Processor time in the kernel.</param>
/// <param name="PeakBytes">The most memory that one of these programs had resident.</param>
/// <param name="Switches">How often they gave up a processor, voluntarily or not; <see langword="null"/> if the system does not count it.</param>
/// <param name="Code">The exit code; the negative signal number if a signal ended the program.</param>
internal sealed record ProgramEnd(double Seconds, double UserSeconds, double SystemSeconds, long PeakBytes, long? Switches, int Code)
{
    /// <summary>The end in words.</summary>
    public string Text => Code >= 0 ? $"ended with exit code {Code}" : $"was ended by signal {-Code}";
}

/// <summary>The calls into the C library: the platform's Process class does not provide the resources of a program that has ended.</summary>
internal static partial class UnixCalls
{
    /// <summary>More than any of the C libraries has in its attributes, actions, sets of signals and accounts of a signal.</summary>
    public const int Room = 1024;

    /// <summary>The program gets its own process group, so that it can be killed with all that it has started.</summary>
    public const short OwnGroup = 0x02;

    /// <summary>Signals that this process ignores are not ignored by the program: without this a writer into a closed pipe would continue.</summary>
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

/// <summary>Runs programs one at a time, reports when one takes long, and kills one that does not end in time.</summary>
/// <param name="timeout">How long the end of one is waited for.</param>
/// <param name="showsOutput">Whether their output is shown.</param>
/// <param name="say">Called when a program takes long.</param>
/// <param name="stop">Kills the running program, with all that it has started.</param>
internal sealed class ProgramRunner(TimeSpan timeout, bool showsOutput, Action<string> say, CancellationToken stop)
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(5);

    private readonly HashSet<string> _reported = [];

    /// <summary>Runs a program to its end.</summary>
    /// <param name="name">What it is called when something is said of it.</param>
    /// <param name="words">The program, and its arguments.</param>
    /// <returns>Its end; <see langword="null"/> if it did not end in time and was killed.</returns>
    /// <exception cref="OperationCanceledException">It was stopped, and killed.</exception>
    public Task<ProgramEnd?> RunAsync(string name, IReadOnlyList<string> words) => RunAsync<ProgramEnd?>(name, words, static p => p.Run());

    /// <summary>Runs a program for the memory that it needs.</summary>
    /// <param name="name">What it is called when something is said of it.</param>
    /// <param name="words">The program, and its arguments.</param>
    /// <returns>Its peak in bytes; <see langword="null"/> when it had not ended in time, or the system does not tell.</returns>
    /// <exception cref="OperationCanceledException">It was stopped, and killed.</exception>
    public Task<long?> MemoryAsync(string name, IReadOnlyList<string> words) => RunAsync(name, words, static p => p.RunForMemory());

    private async Task<T?> RunAsync<T>(string name, IReadOnlyList<string> words, Func<StartedProgram, T> how)
    {
        stop.ThrowIfCancellationRequested();
        StartedProgram program = new(words, showsOutput);
        Task<T> run = Task.Factory.StartNew(() => how(program), CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
        if (await EndsAsync(run, Patience < timeout ? Patience : timeout))
        {
            return await run;
        }

        if (!stop.IsCancellationRequested && Patience < timeout)
        {
            if (_reported.Add(name))
            {
                say($"weir: {name} runs for more than {Numbers.Time(Patience)}; it is abandoned after --timeout ({Numbers.Time(timeout)}).");
            }

            if (await EndsAsync(run, timeout - Patience))
            {
                return await run;
            }
        }

        program.Kill();
        await Task.WhenAny(run);
        stop.ThrowIfCancellationRequested();

        // A program that cannot be started is reported, however late.
        return run.IsFaulted ? await run : default;
    }

    private async Task<bool> EndsAsync(Task run, TimeSpan within)
    {
        try
        {
            await Task.WhenAny(run).WaitAsync(within, stop);
            return true;
        }
        catch (Exception e) when (e is TimeoutException or OperationCanceledException)
        {
            return run.IsCompleted && !stop.IsCancellationRequested;
        }
    }
}

/// <summary>
/// The time that a shell takes to start and end without doing anything. It is measured between the runs of the programs and subtracted from them.
/// </summary>
internal sealed class ShellStart
{
    private readonly List<ProgramEnd> _ends = [];

    /// <summary>Whether it was measured at all.</summary>
    public bool IsKnown => _ends.Count > 0;

    /// <summary>Runs the shell once.</summary>
    public async Task RunAsync(ProgramRunner runner, IReadOnlyList<string> shell)
    {
        ProgramEnd? end = await runner.RunAsync(shell[0], [.. shell, ""]);
        Add(end is { Code: 0 }
            ? end
            : throw new BadInputException($"The shell '{shell[0]}' of --shell {end?.Text ?? "did not end in time"} when it had nothing to do."));
    }

    /// <summary>Adds a run of it.</summary>
    internal void Add(ProgramEnd end) => _ends.Add(end);

    /// <summary>The lower quartile of a figure: disturbances make a run longer, and subtracting too little is better than subtracting too much.</summary>
    public double Of(Func<ProgramEnd, double> figure) => Quartile(figure, 0.25);

    /// <summary>Whether the remaining time of a run is distinguishable from zero.</summary>
    public bool CanBeTaken(double seconds) =>
        seconds - Of(static e => e.Seconds) >= Math.Max(
            Of(static e => e.Seconds) / 4, Quartile(static e => e.Seconds, 0.75) - Quartile(static e => e.Seconds, 0.25));

    private double Quartile(Func<ProgramEnd, double> figure, double share)
    {
        double[] sorted = [.. _ends.Select(figure).Order()];
        return sorted[(int)((sorted.Length - 1) * share)];
    }
}
