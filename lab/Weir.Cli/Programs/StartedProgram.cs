using System.Collections;
using System.ComponentModel;

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
