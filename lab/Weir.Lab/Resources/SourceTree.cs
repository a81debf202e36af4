using Weir.Lab.Processes;

namespace Weir.Lab.Resources;

/// <summary>The state of the sources that were measured, from git.</summary>
/// <param name="Commit">The commit.</param>
/// <param name="IsClean">Whether no file that git tracks was changed since.</param>
internal sealed record SourceTree(string Commit, bool IsClean)
{
    private static readonly TimeSpan Longest = TimeSpan.FromSeconds(5);

    /// <summary>Reads the tree that a directory lies in.</summary>
    /// <param name="directory">The directory; <see langword="null"/> for the current one.</param>
    /// <param name="paths">Where changes count, as git writes paths; everywhere when there is none.</param>
    /// <returns>Its state; <see langword="null"/> where there is no git, no repository or no commit, or git does not answer within five seconds.</returns>
    public static SourceTree? Read(string? directory = null, params IReadOnlyList<string> paths) => Read(Longest, directory, paths);

    /// <summary>The same, from a git that has another time to answer.</summary>
    internal static SourceTree? Read(TimeSpan patience, string? directory, params IReadOnlyList<string> paths)
    {
        string? commit = Git(patience, directory, "rev-parse", "HEAD");
        string? changes = commit is null
            ? null
            : Git(patience, directory, ["status", "--porcelain", "--untracked-files=no", .. paths.Count > 0 ? ["--", .. paths] : Array.Empty<string>()]);
        return commit is { Length: > 0 } && changes is not null ? new SourceTree(commit, changes.Length == 0) : null;
    }

    /// <summary>The order of commits: each after those that it follows.</summary>
    /// <param name="commits">Some commits; those that the repository does not have are left out.</param>
    /// <param name="directory">A directory in the repository; <see langword="null"/> for the current one.</param>
    /// <returns>
    /// These and all that they follow, the oldest first; <see langword="null"/> where there is no git or no repository, or git does not answer within five
    /// seconds.
    /// </returns>
    public static IReadOnlyList<string>? Order(IReadOnlyCollection<string> commits, string? directory = null)
    {
        return commits.Count == 0 ? [] : Git(Longest, directory, ["rev-list", "--ignore-missing", "--topo-order", "--reverse", .. commits, "--"])?.Split(
            '\n', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);
    }

    private static string? Git(TimeSpan patience, string? directory, params string[] arguments)
    {
        ProcessStartInfo info = new("git", arguments) { WorkingDirectory = directory ?? "" };

        // To look must not write: another git may be at work.
        info.Environment["GIT_OPTIONAL_LOCKS"] = "0";
        using CancellationTokenSource over = new(patience);
        try
        {
            Task<ChildEnd> git = ChildProgram.RunAsync(info, over.Token);

            // Code that was measured may have left no thread of the pool that could see its end.
            return git.Wait(patience * 2) && git.Result is { Code: 0 } end ? end.Output.Trim() : null;
        }
        catch (AggregateException e) when (e.InnerException is InvalidOperationException or OperationCanceledException)
        {
            // Git is missing or does not answer: the figures are valid without it.
            return null;
        }
    }
}
