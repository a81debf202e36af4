using System.ComponentModel;
using System.Reflection;

namespace Weir.Lab.Processes;

/// <summary>Runs another program to its end, and captures what it prints. It gets no input.</summary>
internal static class ChildProgram
{
    /// <summary>Runs a program.</summary>
    /// <param name="info">The program. Which of its outputs are captured is decided here.</param>
    /// <param name="stop">Ends it, with all that it has started.</param>
    /// <param name="capturesErrors">Whether its error output is captured too; otherwise it is that of this process.</param>
    /// <exception cref="InvalidOperationException">There is no such program.</exception>
    /// <exception cref="OperationCanceledException">It was stopped, and has ended.</exception>
    /// <remarks>It needs no thread of the pool: code that was measured may have left none.</remarks>
    public static Task<ChildEnd> RunAsync(ProcessStartInfo info, CancellationToken stop, bool capturesErrors = true) =>
        OwnThread.RunAsync(() => Run(info, capturesErrors, stop), ThreadPriority.Normal);

    private static ChildEnd Run(ProcessStartInfo info, bool capturesErrors, CancellationToken stop)
    {
        info.UseShellExecute = false;
        info.RedirectStandardInput = true;
        info.RedirectStandardOutput = true;
        info.RedirectStandardError = capturesErrors;
        stop.ThrowIfCancellationRequested();
        using Process child = Started(info);
        using CancellationTokenRegistration stopping = stop.UnsafeRegister(static child => Kill((Process)child!), child);
        child.StandardInput.Close();

        // Both at once: a program waits while one of them is full.
        Task<string> output = OwnThread.RunAsync(child.StandardOutput.ReadToEnd, ThreadPriority.Normal);
        Task<string> errors = capturesErrors ? OwnThread.RunAsync(child.StandardError.ReadToEnd, ThreadPriority.Normal) : Task.FromResult("");
        try
        {
            // What the program has started may live on and keep them open, so the end of a stopped one is not the end of its outputs.
            Task.WaitAll([output, errors], stop);
        }
        catch (OperationCanceledException)
        {
        }

        child.WaitForExit();
        stop.ThrowIfCancellationRequested();
        return new ChildEnd(child.ExitCode, output.Result, errors.Result);
    }

    private static void Kill(Process child)
    {
        try
        {
            child.Kill(entireProcessTree: true);
        }
        catch (Exception e) when (e is InvalidOperationException or AggregateException or Win32Exception)
        {
            // It has ended.
        }
    }

    private static Process Started(ProcessStartInfo info)
    {
        try
        {
            return Process.Start(info) ?? throw new InvalidOperationException($"The program '{info.FileName}' could not be started.");
        }
        catch (Win32Exception e)
        {
            throw new InvalidOperationException($"The program '{info.FileName}' could not be started: {e.Message}", e);
        }
    }
}

/// <summary>How a program ended.</summary>
/// <param name="Code">Its exit code.</param>
/// <param name="Output">What it printed.</param>
/// <param name="Errors">What it printed on the error output, when that was captured.</param>
internal sealed record ChildEnd(int Code, string Output, string Errors)
{
    /// <summary>All that it printed.</summary>
    public string Text => Output + Errors;
}

/// <summary>Starts a program once more from within, so that what is measured there inherits no thread pool, no heap and no compiled code.</summary>
internal static class OwnProgram
{
    /// <summary>How to start it. Inside another program, such as a test, it is still the file beside its assembly.</summary>
    /// <param name="program">The assembly with the program's entry point.</param>
    /// <param name="arguments">The arguments.</param>
    /// <returns>What to start, without a shell.</returns>
    public static ProcessStartInfo StartInfo(Assembly program, IEnumerable<string> arguments)
    {
        string file = BesideProgram.FileOf(program);
        string own = Path.ChangeExtension(file, OperatingSystem.IsWindows() ? ".exe" : null)!;
        return File.Exists(own) ? new(own, arguments) : new("dotnet", [file, .. arguments]);
    }

    /// <summary>What runs it to its end. Its error output is that of this process.</summary>
    /// <param name="program">The assembly with the program's entry point.</param>
    /// <param name="arguments">The arguments.</param>
    /// <param name="cancellationToken">Kills it.</param>
    /// <returns>What starts it, and gives how it ended. It throws when it could not be started, and when it was killed.</returns>
    public static Func<Task<ChildEnd>> Start(Assembly program, IReadOnlyList<string> arguments, CancellationToken cancellationToken) =>
        () => ChildProgram.RunAsync(StartInfo(program, arguments), cancellationToken, capturesErrors: false);
}

/// <summary>
/// The files beside a program. An installed command has machine code of its assemblies for each system, in folders below its own: .NET loads that, but what
/// starts a program or is copied to another machine is the file beside the program.
/// </summary>
internal static class BesideProgram
{
    /// <summary>The path of an assembly's file. An assembly that was loaded from elsewhere stays where it is.</summary>
    /// <param name="assembly">The assembly, which has a file.</param>
    /// <returns>The whole path.</returns>
    public static string FileOf(Assembly assembly) => FileOf(assembly.Location, AppContext.BaseDirectory);

    /// <summary>The path of an assembly's file, from where it was loaded.</summary>
    /// <param name="location">From where it was loaded.</param>
    /// <param name="program">The folder of the program, with a separator at its end.</param>
    /// <returns>The whole path.</returns>
    public static string FileOf(string location, string program) =>
        location.StartsWith(Path.Combine(program, "runtimes") + Path.DirectorySeparatorChar, StringComparison.Ordinal)
            ? Path.Combine(program, Path.GetFileName(location))
            : location;
}

/// <summary>Waits for as long as something takes, and says so once when that is longer than one would expect: slowness is no answer.</summary>
internal static class LongWait
{
    /// <summary>The time after which a user wonders what is happening.</summary>
    public static readonly TimeSpan Patience = TimeSpan.FromSeconds(5);

    /// <summary>Waits for the end of something, whatever that is, on this thread; a thread of the pool is not needed.</summary>
    /// <param name="work">What is waited for.</param>
    /// <param name="what">What it is called.</param>
    /// <param name="say">Is told that it is waited for.</param>
    /// <param name="patience">After what time; null for <see cref="Patience"/>.</param>
    public static void For(Task work, string what, Action<string> say, TimeSpan? patience = null)
    {
        if (!HasEnded(work, patience ?? Patience))
        {
            say(Line(what));
            HasEnded(work, Timeout.InfiniteTimeSpan);
        }
    }

    /// <summary>Waits for the result of something.</summary>
    /// <param name="work">What is waited for. Whatever ends it early is its own affair.</param>
    /// <param name="what">What it is called.</param>
    /// <param name="say">Is told that it is waited for.</param>
    /// <param name="clock">The clock; null for that of the system.</param>
    public static async Task ForAsync(Task work, string what, Action<string> say, TimeProvider? clock = null)
    {
        using CancellationTokenSource over = new();
        if (await Task.WhenAny(work, Task.Delay(Patience, clock ?? TimeProvider.System, over.Token)).ConfigureAwait(false) != work)
        {
            say(Line(what));
        }

        await over.CancelAsync().ConfigureAwait(false);
        await work.ConfigureAwait(false);
    }

    private static string Line(string what) => $"waiting for {what}.";

    private static bool HasEnded(Task work, TimeSpan limit)
    {
        try
        {
            return work.Wait(limit);
        }
        catch (AggregateException)
        {
            // What it threw is thrown where its result is taken.
            return true;
        }
    }
}

/// <summary>Runs something on a thread of its own.</summary>
internal static class OwnThread
{
    /// <summary>Runs it.</summary>
    /// <typeparam name="T">The type of the result.</typeparam>
    /// <param name="run">What to run.</param>
    /// <param name="priority">The lab's own threads come before those that they measure; the workload's do not.</param>
    public static Task<T> RunAsync<T>(Func<T> run, ThreadPriority priority = ThreadPriority.AboveNormal)
    {
        TaskCompletionSource<T> end = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Thread thread = new(() =>
        {
            try
            {
                end.SetResult(run());
            }
            catch (Exception error)
            {
                end.SetException(error);
            }
        })
        { IsBackground = true, Name = "Weir lab", Priority = priority };
        thread.Start();
        return end.Task;
    }
}
