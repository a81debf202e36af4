using System.Text.RegularExpressions;
using System.Xml.Linq;
using Weir.TestKit;

namespace Weir.Core.Tests.Architecture;

/// <summary>Who may reference whom: between projects, and between the folders of the engine.</summary>
public partial class HouseRulesTests
{
    /// <summary>The project references allowed; anything not listed is refused. An empty list means the BCL alone.</summary>
    private static readonly Dictionary<string, string[]> Allowed = new()
    {
        ["Weir.Core"] = [],
        ["Weir.Resilience"] = [],
        ["Weir.RateLimiting"] = ["Weir.Resilience"],
        ["Weir"] = ["Weir.Core", "Weir.Resilience"],
        ["Weir.Dataflow"] = ["Weir.Core"],
        ["Weir.Polly"] = ["Weir"],
        ["Weir.Hosting"] = ["Weir"],
        ["Weir.PostgreSql"] = ["Weir"],
        ["Weir.RabbitMQ"] = ["Weir"],
        ["Weir.Lab"] = [],
        ["Weir.Lab.BenchmarkDotNet"] = ["Weir.Lab"],
        ["Weir.Lab.Suites"] = ["Weir.Lab", "Weir.Lab.BenchmarkDotNet", "Weir", "Weir.Dataflow"],
        ["Weir.Cli"] =
        [
            "Weir.Core", "Weir.Resilience", "Weir", "Weir.Dataflow", "Weir.Polly", "Weir.Hosting", "Weir.PostgreSql", "Weir.RabbitMQ",
            "Weir.Lab", "Weir.Lab.BenchmarkDotNet", "Weir.Lab.Suites",
        ],
    };

    /// <summary>Packages that only analyse or build, and are no part of what a project references.</summary>
    private static readonly string[] BuildOnly = ["Microsoft.CodeAnalysis.BannedApiAnalyzers"];

    /// <summary>The folders of the projects that have an order, each of which may use those before it and itself.</summary>
    private static readonly Dictionary<string, string[]> Folders = new()
    {
        ["Weir.Core"] = ["Locking", "Metering", "Threads", "Sources", "Sinks", "Dispatch"],
        ["Weir.Dataflow"] = ["Sync", "Links", "Waiters", "Cores", "Blocks"],
        ["Weir.Lab"] = ["Work", "Latency", "Resources", "Statistics", "Scaling", "Trials", "Workers"],
        ["Weir.Lab.Suites"] =
            ["Workloads", "Peers", "Checking", "Figures", "Lasting", "Benchmarks", "Catalog", "Page", "Ratios", "Auto", "Young", "SelfChecks", "Verbs"],
    };

    private static readonly string Root = Repository.Root;

    public static TheoryData<string> Projects() =>
        [.. Directory.EnumerateFiles(Root, "*.csproj", SearchOption.AllDirectories)
            .Where(static p => InFolder(p, "src") || InFolder(p, "lab"))
            .Select(static p => Path.GetRelativePath(Root, p))];

    [Theory]
    [MemberData(nameof(Projects))]
    public void Project_References_AreThoseOfTheHouse(string project)
    {
        string name = Path.GetFileNameWithoutExtension(project);
        Assert.True(Allowed.ContainsKey(name), $"{name} is not a project of the house: see ARCHITECTURE.md.");
        string[] references = References(project, "ProjectReference").Select(static r => Path.GetFileNameWithoutExtension(r)).ToArray();
        Assert.Empty(references.Except(Allowed[name]));
    }

    [Theory]
    [InlineData("Weir.Core")]
    [InlineData("Weir.Resilience")]
    [InlineData("Weir")]
    [InlineData("Weir.Dataflow")]
    public void Project_Packages_OfTheLibraryAreNone(string name)
    {
        string project = Path.Combine("src", name, name + ".csproj");
        if (File.Exists(Path.Combine(Root, project)))
        {
            Assert.Empty(References(project, "PackageReference").Except(BuildOnly));
        }
    }

    public static TheoryData<string> ProjectsWithFolders() => [.. Folders.Keys];

    public static TheoryData<string> LibrariesWithFolders() => [.. Folders.Keys.Where(static p => !p.StartsWith("Weir.Lab", StringComparison.Ordinal))];

    [Theory]
    [MemberData(nameof(ProjectsWithFolders))]
    public void Folders_References_GoOneWay(string project)
    {
        string[] folders = Folders[project];
        List<string> wrong = [];
        for (int i = 0; i < folders.Length; i++)
        {
            string[] files = [.. FolderFiles(project, folders[i])];
            Assert.True(files.Any(static f => TypeDeclaration().IsMatch(File.ReadAllText(f))), $"{folders[i]} has no types.");
            foreach (string file in files)
            {
                string code = Comment().Replace(File.ReadAllText(file), "");
                wrong.AddRange(folders[(i + 1)..]
                    .Where(folder => code.Contains($"{project}.{folder}", StringComparison.Ordinal) || Regex.IsMatch(code, $@"(?<![\w.]){folder}\.\w"))
                    .Select(folder => $"{file} uses {folder}"));
            }
        }

        Assert.Empty(wrong);
    }

    [Theory]
    [MemberData(nameof(LibrariesWithFolders))]
    public void Folders_Root_HasNoTypes(string project) => Assert.Empty(Directory.EnumerateFiles(FolderOf(project), "*.cs"));

    [Theory]
    [MemberData(nameof(ProjectsWithFolders))]
    public void Folders_OfTheProject_AreThoseOfTheList(string project) =>
        Assert.Empty(Directory.EnumerateDirectories(FolderOf(project)).Select(Path.GetFileName).Except([.. Folders[project], "bin", "obj"]));

    [Fact]
    public void SourceFiles_Length_IsAtMostFourHundredLines() =>
        Assert.Empty(new[] { "src", "lab", "tests" }
            .Where(static folder => Directory.Exists(Path.Combine(Root, folder)))
            .SelectMany(static folder => Directory.EnumerateFiles(Path.Combine(Root, folder), "*.cs", SearchOption.AllDirectories))
            .Where(static file => File.ReadLines(file).Count() > 400)
            .Select(static file => Path.GetRelativePath(Root, file)));

    [Fact]
    public void PublicTypes_OfTheEngine_AreInTheUsersNamespace() =>
        Assert.All(typeof(ErrorMode).Assembly.GetExportedTypes(), static type => Assert.Equal("Weir", type.Namespace));

    private static string FolderOf(string project) => Path.Combine(Root, project.StartsWith("Weir.Lab", StringComparison.Ordinal) ? "lab" : "src", project);

    private static IEnumerable<string> FolderFiles(string project, string folder) =>
        Directory.EnumerateFiles(Path.Combine(FolderOf(project), folder), "*.cs", SearchOption.AllDirectories);

    private static IEnumerable<string> References(string project, string kind) =>
        XDocument.Load(Path.Combine(Root, project)).Descendants(kind).Select(static e => e.Attribute("Include")!.Value.Replace('\\', '/'));

    private static bool InFolder(string path, string folder) =>
        Path.GetRelativePath(Root, path).StartsWith(folder + Path.DirectorySeparatorChar, StringComparison.Ordinal);

    [GeneratedRegex(@"\b(?:class|struct|interface|enum|record struct)\s+(\w+)")]
    private static partial Regex TypeDeclaration();

    [GeneratedRegex(@"//.*$", RegexOptions.Multiline)]
    private static partial Regex Comment();
}
