using System.Reflection;
using System.Text.RegularExpressions;
using System.Xml.Linq;

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

    /// <summary>The folders of the engine, each of which may use those before it and itself.</summary>
    private static readonly string[] EngineFolders = ["Locking", "Metering", "Sources", "Sinks", "Dispatch"];

    private static readonly string Root = FindRoot();

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
    [InlineData("Weir")]
    [InlineData("Weir.Resilience")]
    [InlineData("Weir.Dataflow")]
    public void Project_Packages_OfTheLibraryAreNone(string name)
    {
        string project = Path.Combine("src", name, name + ".csproj");
        if (File.Exists(Path.Combine(Root, project)))
        {
            Assert.Empty(References(project, "PackageReference").Except(BuildOnly));
        }
    }

    [Fact]
    public void EngineFolders_References_GoOneWay()
    {
        Dictionary<string, HashSet<string>> declared = EngineFolders.ToDictionary(
            static folder => folder,
            static folder => EngineFiles(folder)
                .SelectMany(static f => TypeDeclaration().Matches(File.ReadAllText(f)).Select(static m => m.Groups[1].Value))
                .ToHashSet());
        List<string> wrong = [];
        for (int i = 0; i < EngineFolders.Length; i++)
        {
            string[] later = EngineFolders[(i + 1)..];
            foreach (string file in EngineFiles(EngineFolders[i]))
            {
                string code = Comment().Replace(File.ReadAllText(file), "");
                wrong.AddRange(later
                    .Where(folder => code.Contains($"Weir.Core.{folder}", StringComparison.Ordinal))
                    .Select(folder => $"{file} uses {folder}"));
            }
        }

        Assert.All(declared, static folder => Assert.NotEmpty(folder.Value));
        Assert.Empty(wrong);
    }

    [Fact]
    public void EngineFiles_Root_HasNoTypes() =>
        Assert.Empty(Directory.EnumerateFiles(Path.Combine(Root, "src", "Weir.Core"), "*.cs"));

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

    private static IEnumerable<string> EngineFiles(string folder) =>
        Directory.EnumerateFiles(Path.Combine(Root, "src", "Weir.Core", folder), "*.cs", SearchOption.AllDirectories);

    private static IEnumerable<string> References(string project, string kind) =>
        XDocument.Load(Path.Combine(Root, project)).Descendants(kind).Select(static e => e.Attribute("Include")!.Value.Replace('\\', '/'));

    private static bool InFolder(string path, string folder) =>
        Path.GetRelativePath(Root, path).StartsWith(folder + Path.DirectorySeparatorChar, StringComparison.Ordinal);

    private static string FindRoot()
    {
        string? folder = Path.GetDirectoryName(Assembly.GetExecutingAssembly().Location);
        while (folder is not null && !File.Exists(Path.Combine(folder, "Weir.slnx")))
        {
            folder = Path.GetDirectoryName(folder);
        }

        return folder ?? throw new InvalidOperationException("The tests run from inside the repository.");
    }

    [GeneratedRegex(@"\b(?:class|struct|interface|enum|record struct)\s+(\w+)")]
    private static partial Regex TypeDeclaration();

    [GeneratedRegex(@"//.*$", RegexOptions.Multiline)]
    private static partial Regex Comment();
}
