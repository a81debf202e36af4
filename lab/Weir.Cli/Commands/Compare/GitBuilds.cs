using System.Text.RegularExpressions;
using Weir.Lab.Processes;

namespace Weir.Cli.Commands.Compare;

/// <summary>
/// Two commits of a repository, each checked out and built in its own directory. The user's directory is not changed, and both directories are always removed
/// at the end.
/// </summary>
internal sealed partial class GitBuilds : IAsyncDisposable
{
    private const int MostErrors = 10;

    private readonly string _root;
    private readonly string _directory = Directory.CreateTempSubdirectory("weir-git-").FullName;
    private readonly List<string> _trees = [];

    private GitBuilds(string root) => _root = root;

    /// <summary>The assembly of the earlier commit, and its name in reports.</summary>
    public (string Name, string Path) Before { get; private set; }

    /// <summary>The assembly of the later one.</summary>
    public (string Name, string Path) After { get; private set; }

    /// <summary>Checks out and builds both.</summary>
    /// <param name="range">Two commits, as <c>main..HEAD</c>.</param>
    /// <param name="project">The project, from the current directory. It says which repository it is.</param>
    /// <param name="progress">Is told of each step.</param>
    /// <param name="stop">Ends it.</param>
    /// <exception cref="BadInputException">There is no such commit or project, or one cannot be built.</exception>
    public static async Task<GitBuilds> MakeAsync(OptionValue range, OptionValue project, RunProgress progress, CancellationToken stop)
    {
        string[] ends = range.Text.Split("..");
        if (ends.Length != 2 || ends.Any(static e => e.Length == 0 || e[0] is '-' or '.'))
        {
            throw range.Bad("two commits as before..after, such as main..HEAD");
        }

        string own = Path.GetFullPath(project.NotEmpty("a project, or a directory with one"));

        // The path of the project identifies the repository. The project may exist only in the commits.
        string? near = own;
        while (near is not null && !Directory.Exists(near))
        {
            near = Path.GetDirectoryName(near);
        }

        string root = (await GitAsync(["-C", near ?? ".", "rev-parse", "--show-toplevel"], "--git needs a project in a git repository: ", stop).ConfigureAwait(
            false)).Trim();
        string prefix = (await GitAsync(["-C", near ?? ".", "rev-parse", "--show-prefix"], "--git needs a project in a git repository: ", stop).ConfigureAwait(
            false)).Trim();
        string relative = Path.Combine(prefix, Path.GetRelativePath(near ?? ".", own));

        GitBuilds builds = new(root);
        try
        {
            // Both before the first build, which takes long.
            string before = await builds.CommitAsync(ends[0], range, stop);
            string after = await builds.CommitAsync(ends[1], range, stop);
            builds.Before = await builds.BuildAsync(ends[0], before, "before", relative, 0, progress, stop);
            builds.After = await builds.BuildAsync(ends[1], after, "after", relative, 1, progress, stop);
            return builds;
        }
        catch
        {
            await builds.DisposeAsync();
            throw;
        }
    }

    public async ValueTask DisposeAsync()
    {
        foreach (string tree in _trees)
        {
            await RunAsync("git", ["-C", _root, "worktree", "remove", "--force", tree], CancellationToken.None);
        }

        _trees.Clear();
        try
        {
            Directory.Delete(_directory, recursive: true);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            // Not every system can delete a loaded assembly. The system cleans its temporary directory.
        }

        await RunAsync("git", ["-C", _root, "worktree", "prune"], CancellationToken.None);
    }

    private async Task<string> CommitAsync(string revision, OptionValue range, CancellationToken stop) =>
        (await GitAsync(["-C", _root, "rev-parse", "--verify", "--quiet", revision + "^{commit}"],
            $"{range.Source} '{range.Text}': there is no commit '{revision}'. ", stop)).Trim();

    private async Task<(string Name, string Path)> BuildAsync(
        string revision, string commit, string side, string project, int done, RunProgress progress, CancellationToken stop)
    {
        string name = commit.StartsWith(revision, StringComparison.Ordinal) ? commit[..7] : $"{revision} {commit[..7]}";
        string tree = Path.Combine(_directory, side);
        progress.Begin($"checking out {name}", done, 2);
        _trees.Add(tree);
        await GitAsync(["-C", _root, "worktree", "add", "--detach", tree, commit], $"{name} cannot be checked out: ", stop);
        string path = ProjectIn(Path.Combine(tree, project))
            ?? throw new BadInputException($"--project must be a project, or a directory with one, in both commits; {name} has none at '{project}'.");
        progress.Begin($"building {name}", done, 2);
        string[] framework = await FrameworkOfAsync(path, name, stop);
        string output = Path.Combine(_directory, "out", side);

        // By default, the build does not copy the packages of a library to its output.
        (int code, string text) = await RunAsync("dotnet", ["build", path, .. framework, "-c", "Release", "-o", output, "-v", "q", "-nologo", "-clp:NoSummary",
            "-p:CopyLocalLockFileAssemblies=true", "-p:UseSharedCompilation=false"], stop);
        if (code != 0)
        {
            string[] errors = [.. text.Split('\n', StringSplitOptions.TrimEntries)
                .Where(static l => Error().IsMatch(l))
                .Select(l => l.Replace(tree + Path.DirectorySeparatorChar, "", StringComparison.Ordinal))
                .Distinct()];
            foreach (string error in errors.Take(MostErrors))
            {
                progress.WriteLine(error);
            }

            throw new BadInputException($"{name} cannot be built: "
                + $"{(errors.Length == 0 ? text.Trim() : $"{errors.Length} {(errors.Length == 1 ? "error" : "errors")}, the first {errors[0]}")}");
        }

        (_, string named) = await RunAsync("dotnet", ["msbuild", path, "-getProperty:AssemblyName", "-p:Configuration=Release", .. Properties(framework)], stop);
        progress.End($"built {name}", done + 1, 2);
        return (name, Path.Combine(output, named.Trim() + ".dll"));
    }

    // Of several, only one may be built: the second would be written over the first.
    private static async Task<string[]> FrameworkOfAsync(string path, string name, CancellationToken stop)
    {
        (int code, string text) = await RunAsync("dotnet", ["msbuild", path, "-getProperty:TargetFrameworks", "-p:Configuration=Release"], stop);
        string[] all = code == 0 ? text.Trim().Split(';', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries) : [];
        return all.Length == 0 ? []
            : TargetFrameworks.Highest(all, Environment.Version.Major) is { } highest ? ["-f", highest]
            : throw new BadInputException($"{name} is built for {string.Join(", ", all)}, and none of them runs on .NET {Environment.Version.Major}.");
    }

    private static string[] Properties(string[] framework) => framework is [_, var name] ? [$"-p:TargetFramework={name}"] : [];

    private static string? ProjectIn(string path) => File.Exists(path) ? path
        : Directory.Exists(path) && Directory.GetFiles(path, "*.*proj") is [var only] ? only
        : null;

    private static async Task<string> GitAsync(IReadOnlyList<string> arguments, string failure, CancellationToken stop)
    {
        (int code, string text) = await RunAsync("git", arguments, stop);
        string why = text.Trim() is { Length: > 0 } said ? said : failure.EndsWith(". ", StringComparison.Ordinal) ? "" : "git gave no reason.";
        return code == 0 ? text : throw new BadInputException((failure + why).TrimEnd());
    }

    // Its exit code, and what it printed on both outputs.
    private static async Task<(int Code, string Text)> RunAsync(string file, IReadOnlyList<string> arguments, CancellationToken stop)
    {
        ProcessStartInfo info = new(file, arguments);

        // No process may remain that uses a directory which is removed afterwards.
        info.Environment["MSBUILDDISABLENODEREUSE"] = "1";
        info.Environment["DOTNET_CLI_UI_LANGUAGE"] = "en";

        // Variables that a git hook or "dotnet run" has set would otherwise apply to the other directories too.
        foreach (string own in new[]
        {
            "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "MSBuildSDKsPath", "MSBuildExtensionsPath", "MSBUILD_EXE_PATH",
        })
        {
            info.Environment.Remove(own);
        }

        ChildEnd end = await ChildProgram.RunAsync(info, stop);
        return (end.Code, end.Text);
    }

    [GeneratedRegex(@"\berror\s+[A-Z]+\d+")]
    private static partial Regex Error();
}

/// <summary>The target frameworks of a project, by their short names.</summary>
internal static partial class TargetFrameworks
{
    private static readonly string[] Families = ["net", "netcoreapp", "netstandard"];

    /// <summary>The one that is nearest to a runtime of those that run on it; <see langword="null"/> when none does.</summary>
    /// <param name="names">The names, such as <c>net8.0</c>. Those with a system, such as <c>net10.0-android</c>, are for that one alone.</param>
    /// <param name="runtime">The major version of the runtime.</param>
    public static string? Highest(IEnumerable<string> names, int runtime) => names
        .Select(static n => (Name: n, Match: Form().Match(n)))
        .Where(n => n.Match.Success && IsForThisSystem(n.Match.Groups["system"].Value))
        .Select(static n => (
            n.Name,
            Family: Array.IndexOf(Families, n.Match.Groups["family"].Value),
            Version: Version.Parse(n.Match.Groups["version"].Value),
            HasSystem: n.Match.Groups["system"].Length > 0))
        .Where(n => n.Family > 0 || (n.Version.Major >= 5 && n.Version.Major <= runtime))
        .OrderBy(static n => n.Family)
        .ThenByDescending(static n => n.Version)
        .ThenBy(static n => n.HasSystem)
        .Select(static n => n.Name)
        .FirstOrDefault();

    private static bool IsForThisSystem(string system) => system.Length == 0 || OperatingSystem.IsOSPlatform(system);

    [GeneratedRegex(@"^(?<family>net|netcoreapp|netstandard)(?<version>\d+\.\d+)(-(?<system>[a-z]+)[\d.]*)?$", RegexOptions.IgnoreCase)]
    private static partial Regex Form();
}
