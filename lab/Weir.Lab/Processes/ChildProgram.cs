using System.ComponentModel;

namespace Weir.Lab.Processes;

/// <summary>Runs another program to its end, and keeps what it prints. It reads nothing.</summary>
internal static class ChildProgram
{
    /// <summary>Runs a program.</summary>
    /// <param name="info">The program. Which of its outputs are kept is decided here.</param>
    /// <param name="stop">Ends it, with all that it has started.</param>
    /// <param name="keepsErrors">Whether its error output is kept too; otherwise it is that of this process.</param>
    /// <exception cref="InvalidOperationException">There is no such program.</exception>
    /// <exception cref="OperationCanceledException">It was stopped, and has ended.</exception>
    /// <remarks>It needs no thread of the pool: code that was measured may have left none.</remarks>
    public static Task<ChildEnd> RunAsync(ProcessStartInfo info, CancellationToken stop, bool keepsErrors = true) =>
        OwnThread.RunAsync(() => Run(info, keepsErrors, stop), ThreadPriority.Normal);

    private static ChildEnd Run(ProcessStartInfo info, bool keepsErrors, CancellationToken stop)
    {
        info.UseShellExecute = false;
        info.RedirectStandardInput = true;
        info.RedirectStandardOutput = true;
        info.RedirectStandardError = keepsErrors;
        stop.ThrowIfCancellationRequested();
        using Process child = Started(info);
        using CancellationTokenRegistration stopping = stop.UnsafeRegister(static child => Kill((Process)child!), child);
        child.StandardInput.Close();

        // Both at once: a program waits while one of them is full.
        Task<string> output = OwnThread.RunAsync(child.StandardOutput.ReadToEnd, ThreadPriority.Normal);
        Task<string> errors = keepsErrors ? OwnThread.RunAsync(child.StandardError.ReadToEnd, ThreadPriority.Normal) : Task.FromResult("");
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
