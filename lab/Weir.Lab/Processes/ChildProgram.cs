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
    public static async Task<ChildEnd> RunAsync(ProcessStartInfo info, CancellationToken stop, bool keepsErrors = true)
    {
        info.UseShellExecute = false;
        info.RedirectStandardInput = true;
        info.RedirectStandardOutput = true;
        info.RedirectStandardError = keepsErrors;
        stop.ThrowIfCancellationRequested();
        using Process child = Started(info);
        child.StandardInput.Close();
        try
        {
            // Both at once: a program waits while one of them is full.
            Task<string> output = child.StandardOutput.ReadToEndAsync(stop);
            Task<string> errors = keepsErrors ? child.StandardError.ReadToEndAsync(stop) : Task.FromResult("");
            await Task.WhenAll(output, errors).ConfigureAwait(false);
            await child.WaitForExitAsync(stop).ConfigureAwait(false);
            return new ChildEnd(child.ExitCode, await output.ConfigureAwait(false), await errors.ConfigureAwait(false));
        }
        catch (OperationCanceledException)
        {
            child.Kill(entireProcessTree: true);
            await child.WaitForExitAsync(CancellationToken.None).ConfigureAwait(false);
            throw;
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
