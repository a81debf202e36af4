using System.Diagnostics;
using System.Text;
using Weir.Cli.Hosting;

namespace Weir.Cli.Commands.Compare;

/// <summary>Runs another program to its end, and keeps what it prints.</summary>
internal static class ChildProgram
{
    /// <summary>Runs a program.</summary>
    /// <param name="file">The program.</param>
    /// <param name="arguments">Its arguments.</param>
    /// <param name="stop">Ends it, with all that it has started.</param>
    /// <returns>Its exit code, and what it printed on both outputs.</returns>
    /// <exception cref="BadInputException">There is no such program.</exception>
    /// <exception cref="OperationCanceledException">It was stopped.</exception>
    public static async Task<(int Code, string Text)> RunAsync(string file, IReadOnlyList<string> arguments, CancellationToken stop)
    {
        ProcessStartInfo info = new(file, arguments) { RedirectStandardInput = true, RedirectStandardOutput = true, RedirectStandardError = true, UseShellExecute = false };

        // Nothing may stay that holds a directory which is removed afterwards.
        info.Environment["MSBUILDDISABLENODEREUSE"] = "1";
        info.Environment["DOTNET_CLI_UI_LANGUAGE"] = "en";

        // What a hook of git or "dotnet run" has set for itself would be taken for the other directories too.
        foreach (string own in new[] { "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "MSBuildSDKsPath", "MSBuildExtensionsPath", "MSBUILD_EXE_PATH" })
        {
            info.Environment.Remove(own);
        }

        stop.ThrowIfCancellationRequested();
        using Process child = Started(info);
        child.StandardInput.Close();
        StringBuilder text = new();
        void Take(object sender, DataReceivedEventArgs line)
        {
            lock (text)
            {
                text.AppendLine(line.Data);
            }
        }

        child.OutputDataReceived += Take;
        child.ErrorDataReceived += Take;
        child.BeginOutputReadLine();
        child.BeginErrorReadLine();
        try
        {
            await child.WaitForExitAsync(stop).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            child.Kill(entireProcessTree: true);
            await child.WaitForExitAsync(CancellationToken.None).ConfigureAwait(false);
            throw;
        }

        lock (text)
        {
            return (child.ExitCode, text.ToString());
        }
    }

    private static Process Started(ProcessStartInfo info)
    {
        try
        {
            return Process.Start(info) ?? throw new BadInputException($"The program '{info.FileName}' could not be started.");
        }
        catch (System.ComponentModel.Win32Exception e)
        {
            throw new BadInputException($"The program '{info.FileName}' could not be started: {e.Message}");
        }
    }
}
