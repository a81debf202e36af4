using System.ComponentModel;
using System.Diagnostics;

namespace Weir.Lab.Resources;

/// <summary>Which state of which sources something was measured in, by git.</summary>
/// <param name="Commit">The commit.</param>
/// <param name="IsClean">Whether no file that git tracks was changed since.</param>
public sealed record SourceTree(string Commit, bool IsClean)
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(5);

    /// <summary>Reads the tree that a directory lies in.</summary>
    /// <param name="directory">The directory; <see langword="null"/> for the current one.</param>
    /// <param name="paths">Where changes count, as git writes paths; everywhere when there is none.</param>
    /// <returns>Its state; <see langword="null"/> where there is no git, no repository or no commit, or git does not answer within five seconds.</returns>
    public static SourceTree? Read(string? directory = null, params IReadOnlyList<string> paths)
    {
        ArgumentNullException.ThrowIfNull(paths);
        string? commit = Git(directory, "rev-parse", "HEAD");
        string? changes = commit is null ? null : Git(directory, ["status", "--porcelain", "--untracked-files=no", .. paths.Count > 0 ? ["--", .. paths] : Array.Empty<string>()]);
        return commit is { Length: > 0 } && changes is not null ? new SourceTree(commit, changes.Length == 0) : null;
    }

    private static string? Git(string? directory, params string[] arguments)
    {
        ProcessStartInfo info = new("git", arguments) { RedirectStandardOutput = true, RedirectStandardError = true, RedirectStandardInput = true, WorkingDirectory = directory ?? "" };

        // To look must not write: another git may be at work.
        info.Environment["GIT_OPTIONAL_LOCKS"] = "0";
        try
        {
            using Process git = Process.Start(info)!;
            git.StandardInput.Close();
            Task<string> output = git.StandardOutput.ReadToEndAsync();
            Task<string> errors = git.StandardError.ReadToEndAsync();
            if (!git.WaitForExit(Patience))
            {
                git.Kill(entireProcessTree: true);
                return null;
            }

            Task.WaitAll(output, errors);
            return git.ExitCode == 0 ? output.Result.Trim() : null;
        }
        catch (Win32Exception)
        {
            // There is no git on this machine: the figures are still figures.
            return null;
        }
    }
}
