using System.Security.Cryptography;

namespace Weir.Core.Tests.Architecture;

/// <summary>The folders of a project, and which of them use which, as compiled.</summary>
internal sealed class ProjectFolders
{
    /// <summary>What has projects that are no tests and no samples: the library, what users measure with, the search for races, and what measures Weir.</summary>
    public static readonly string[] Houses = ["src", "lab", "explore", "bench"];

    private readonly string[] _listed;

    /// <param name="project">The project.</param>
    /// <param name="listed">Its folders. A folder inside one of them belongs to it unless it is listed; without a list, each folder is one.</param>
    public ProjectFolders(string project, string[] listed)
    {
        Name = project;
        Path = PathOf(project);
        _listed = listed;
    }

#if DEBUG
    private static bool IsRelease => false;
#else
    private static bool IsRelease => true;
#endif

    public string Name { get; }

    public string Path { get; }

    public static string PathOf(string project) =>
        Houses.Select(house => System.IO.Path.Combine(Repository.Root, house, project)).First(Directory.Exists);

    /// <summary>Each use of one folder by another, with an example.</summary>
    public IReadOnlyCollection<FolderUse> Uses() => [.. All()
        .Select(use => (From: FolderOf(use.User), To: FolderOf(use.Used), Example: $"{System.IO.Path.GetFileName(use.User)} uses {use.Type}"))
        .Where(static use => use.From is not null && use.To is not null && use.From != use.To)
        .GroupBy(static use => (use.From, use.To))
        .Select(static group => new FolderUse(group.Key.From!, group.Key.To!, group.Order().First().Example))];

    /// <summary>Each use of one file by another. What is generated is no file of the project.</summary>
    public IReadOnlyCollection<(string From, string To)> FileUses() => [.. All()
        .Select(use => (From: NameOf(use.User), To: NameOf(use.Used)))
        .Where(static use => use.From is not null && use.To is not null && use.From != use.To)
        .Select(static use => (use.From!, use.To!))
        .Distinct()];

    private (string User, string Used, string Type)[] All()
    {
        string assembly = System.IO.Path.Combine(Repository.Built(Name), Name + ".dll");
        Assert.SkipUnless(IsRelease || File.Exists(assembly), $"{Name} is not built in Debug: its folders are looked at in Release.");
        Assert.True(File.Exists(assembly), $"{Name} is not built: build the solution in this configuration first.");
        using AssemblyUses compiled = new(assembly);
        foreach ((string path, byte[] hash) in compiled.Documents)
        {
            string? file = FileOf(path);
            Assert.True(
                file is null || (File.Exists(file) && SHA256.HashData(File.ReadAllBytes(file)).AsSpan().SequenceEqual(hash)),
                $"{file} has changed since {Name} was built: build the solution first.");
        }

        return [.. compiled.All()];
    }

    /// <summary>The folders that use each other, in a circle of whatever length: each such group once.</summary>
    public static IEnumerable<string> Cycles(IReadOnlyCollection<FolderUse> uses) =>
        Circles.Of(uses.Select(static use => (use.From, use.To))).Select(static circle => string.Join(", ", circle));

    // What is generated lies elsewhere, and counts as part of the type that it completes.
    private string? FileOf(string document)
    {
        string marker = $"/{System.IO.Path.GetFileName(System.IO.Path.GetDirectoryName(Path))}/{Name}/";
        int at = document.Replace('\\', '/').LastIndexOf(marker, StringComparison.Ordinal);
        return at < 0 ? null : System.IO.Path.Combine(Path, document[(at + marker.Length)..]);
    }

    private string? NameOf(string document) =>
        FileOf(document) is { } file && System.IO.Path.GetRelativePath(Path, file).Replace('\\', '/') is var name
            && !name.StartsWith("obj/", StringComparison.Ordinal) && !document.Replace('\\', '/').Contains("/obj/", StringComparison.Ordinal) ? name : null;

    private string? FolderOf(string document)
    {
        if (FileOf(document) is not { } file)
        {
            return null;
        }

        string folder = System.IO.Path.GetDirectoryName(System.IO.Path.GetRelativePath(Path, file))!.Replace('\\', '/');
        return _listed.Where(listed => listed.Length == 0 || folder == listed || folder.StartsWith(listed + "/", StringComparison.Ordinal))
            .MaxBy(static listed => listed.Length) ?? folder;
    }
}
