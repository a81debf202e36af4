using Weir.Lab.Processes;

namespace Weir.Lab.Resources;

/// <summary>The state of the sources that were measured, from git, for which it waits as long as git takes.</summary>
/// <param name="Commit">The commit.</param>
/// <param name="IsClean">Whether no file that git tracks was changed since.</param>
internal sealed record SourceTree(string Commit, bool IsClean)
{
    /// <summary>Reads the tree that a directory lies in.</summary>
    /// <param name="directory">The directory; <see langword="null"/> for the current one.</param>
    /// <param name="paths">Where changes count, as git writes paths; everywhere when there is none.</param>
    /// <returns>Its state; <see langword="null"/> where there is no git, no repository or no commit.</returns>
    public static SourceTree? Read(string? directory = null, params IReadOnlyList<string> paths) =>
        ReadBy(new GitCalls { Directory = directory }, paths);

    /// <summary>The same, by calls of git that say where they wait, and can be stopped.</summary>
    internal static SourceTree? ReadBy(GitCalls git, params IReadOnlyList<string> paths)
    {
        string? commit = git.Run("rev-parse", "HEAD");
        string? changes = commit is null
            ? null
            : git.Run(["status", "--porcelain", "--untracked-files=no", .. paths.Count > 0 ? ["--", .. paths] : Array.Empty<string>()]);
        return commit is { Length: > 0 } && changes is not null ? new SourceTree(commit, changes.Length == 0) : null;
    }

    /// <summary>The order of commits: each after those that it follows.</summary>
    /// <param name="commits">Some commits; those that the repository does not have are left out.</param>
    /// <param name="directory">A directory in the repository; <see langword="null"/> for the current one.</param>
    /// <returns>These and all that they follow, the oldest first; <see langword="null"/> where there is no git or no repository.</returns>
    public static IReadOnlyList<string>? Order(IReadOnlyCollection<string> commits, string? directory = null) => commits.Count == 0
        ? []
        : new GitCalls { Directory = directory }.Run(["rev-list", "--ignore-missing", "--topo-order", "--reverse", .. commits, "--"])?.Split(
            '\n', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);
}

/// <summary>Calls of git that only look.</summary>
internal sealed class GitCalls
{
    /// <summary>Where; <see langword="null"/> for the current directory.</summary>
    public string? Directory { get; init; }

    /// <summary>Is told that git is waited for.</summary>
    public Action<string> Say { get; init; } = static line => Console.Error.WriteLine($"weir: {line}");

    /// <summary>After what time it is told.</summary>
    public TimeSpan Patience { get; init; } = LongWait.Patience;

    /// <summary>The program.</summary>
    public string Program { get; init; } = "git";

    /// <summary>Ends the call that is under way.</summary>
    public CancellationToken Stop { get; init; }

    /// <summary>Makes a call, and waits for its answer.</summary>
    /// <param name="arguments">What to ask.</param>
    /// <returns>The answer; <see langword="null"/> when there is no git, or none that can tell.</returns>
    /// <exception cref="OperationCanceledException">It was stopped.</exception>
    public string? Run(params string[] arguments)
    {
        ProcessStartInfo info = new(Program, arguments) { WorkingDirectory = Directory ?? "" };

        // To look must not write: another git may be at work.
        info.Environment["GIT_OPTIONAL_LOCKS"] = "0";
        Task<ChildEnd> call = ChildProgram.RunAsync(info, Stop);
        LongWait.For(call, $"git {arguments[0]}", Say, Patience);

        // At a terminal, Ctrl-C ends git too, maybe before this process has heard of it.
        Stop.ThrowIfCancellationRequested();
        return call is { IsCompletedSuccessfully: true, Result: { Code: 0 } end } ? end.Output.Trim() : null;
    }
}
