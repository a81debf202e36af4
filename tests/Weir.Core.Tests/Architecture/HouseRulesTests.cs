using System.Text.RegularExpressions;
using System.Xml.Linq;

namespace Weir.Core.Tests.Architecture;

/// <summary>Who may reference whom, between projects and between their folders, and how long files and lines may be.</summary>
public partial class HouseRulesTests
{
    /// <summary>The references of each project: these and no others. An empty list means the BCL alone.</summary>
    private static readonly Dictionary<string, string[]> Allowed = new()
    {
        ["Weir.Core"] = [],
        ["Weir.Resilience"] = ["Weir.Core"],
        ["Weir.RateLimiting"] = ["Weir.Resilience"],
        ["Weir"] = ["Weir.Core", "Weir.Resilience"],
        ["Weir.Dataflow"] = ["Weir.Core"],
        ["Weir.Polly"] = ["Weir"],
        ["Weir.Console"] = ["Weir"],
        ["Weir.Logging"] = ["Weir", "Weir.Delivery"],
        ["Weir.Analyzers"] = [],
        ["Weir.Http"] = ["Weir.Resilience"],
        ["Weir.Delivery"] = ["Weir"],
        ["Weir.RabbitMQ"] = ["Weir.Delivery"],
        ["Weir.PostgreSql"] = ["Weir.Delivery"],
        ["Weir.Hosting"] = ["Weir.Delivery"],
        ["Weir.Dashboard"] = ["Weir.Delivery"],
        ["Weir.Explore"] = [],
        ["Weir.Lab"] = [],
        ["Weir.Lab.BenchmarkDotNet"] = ["Weir.Lab"],
        ["Weir.Lab.Catalog"] = ["Weir.Lab", "Weir", "Weir.Dataflow"],
        ["Weir.Lab.ColdStart"] = ["Weir", "Weir.Dataflow"],
        ["Weir.Lab.Queues"] = ["Weir.Lab", "Weir.PostgreSql", "Weir.RabbitMQ"],
        ["Weir.Lab.Runtimes"] = ["Weir"],
        ["Weir.Lab.Suites"] = ["Weir.Lab", "Weir.Lab.Catalog", "Weir.Lab.BenchmarkDotNet", "Weir", "Weir.Dataflow"],
        ["Weir.Bench"] = ["Weir.Lab", "Weir.Lab.BenchmarkDotNet", "Weir.Lab.Suites", "Weir.Cli.Kit"],
        ["Weir.Gate"] = ["Weir"],
        ["Weir.Limits"] = ["Weir.Core"],
        ["Weir.Overload"] = ["Weir.Http"],
        ["Weir.Cli.Kit"] = ["Weir.Lab"],
        ["Weir.Cli"] = ["Weir", "Weir.Lab", "Weir.Lab.Catalog", "Weir.Cli.Kit"],
        ["Weir.Audit"] = ["Weir.Delivery.Cli", "Weir.Lab", "Weir.Cli.Kit"],
        ["Weir.Delivery.Cli"] = ["Weir.PostgreSql", "Weir.RabbitMQ", "Weir.Lab", "Weir.Cli.Kit"],
        ["Weir.Tables"] =
        [
            "Weir.Cli", "Weir.Cli.Kit", "Weir.Delivery.Cli", "Weir.Lab", "Weir.Lab.Catalog", "Weir.Lab.ColdStart", "Weir.Lab.Runtimes", "Weir.Lab.Suites",
            "Weir.Limits", "Weir.Dashboard",
        ],
    };

    /// <summary>Packages and projects that only analyse or build, and are no part of what a project references.</summary>
    private static readonly string[] BuildOnly =
    [
        "Microsoft.CodeAnalysis.BannedApiAnalyzers", "../../eng/Weir.OverloadWriter/Weir.OverloadWriter.csproj", "../Weir.Analyzers/Weir.Analyzers.csproj",
    ];

    /// <summary>
    /// The folders of the projects that have an order, each of which may use those before it and itself. A folder inside one of them belongs to it unless it
    /// is listed. The empty one is the project's root.
    /// </summary>
    private static readonly Dictionary<string, string[]> Folders = new()
    {
        ["Weir.Core"] = ["Shared", "Live", "Metering", "Threads", "Sources", "Sinks", "Dispatch"],
        ["Weir.Resilience"] =
        [
            "Time", "Queue", "Keys", "Calls", "Metering", "Timeout", "RateLimit", "ConcurrencyLimit", "CircuitBreaker", "Retry", "Fallback", "Chain",
        ],
        ["Weir"] = ["Checkpoints", "Options", "Policies", "Observability", "Operators", "Runtimes", "Runtimes/Auto", "Runtimes/Extensions"],
        ["Weir.Analyzers"] = ["Calls", "Rules", "Fixes"],
        ["Weir.Dataflow"] = ["Sync", "Metering", "Debugging", "Links", "Waiters", "Cores", "Blocks"],
        ["Weir.Http"] = ["Responses", "Download", "Policies"],
        ["Weir.Delivery"] = ["Contracts", "Memory", "Hosts", "Gauges", "Jobs"],
        ["Weir.RabbitMQ"] = ["Messages", "Connections", "Setup", "Publishing", "Queues"],
        ["Weir.PostgreSql"] = ["Setup", "Waiting", "Checkpoints", "Inbox", "Changes", "Queues"],
        ["Weir.Hosting"] = ["Processors", "Options", "Workers", "Health", "Registration"],
        ["Weir.Dashboard"] = ["Options", "Letters", "Page", "Endpoint"],
        ["Weir.Explore"] = ["Options", "Scheduling", "Model", "Rewriting", "Searching", ""],
        ["Weir.Lab"] =
        [
            "Work", "Network", "Latency", "Processes", "Resources", "Statistics", "Formatting", "Scaling", "Workers", "Results", "Trials", "Workloads",
            "Report/Tables", "Report/Writing", "Report/Page/Plotting", "Report/Page/Figures", "Report/Page", "Report", "Measuring",
        ],
        ["Weir.Lab.Suites"] = ["Workloads", "Peers", "Checking", "Figures", "Lasting", "Benchmarks", "Catalog", ""],
        ["Weir.Lab.Queues"] = ["Arms", "Measuring", "Kills", "Jobs", ""],
        ["Weir.Lab.BenchmarkDotNet"] = ["Results", "Settings", "Building", "Expansion", "Engine", "Reporting", "Validation", "Running", ""],
        ["Weir.Cli.Kit"] = ["Formatting", "Hosting", "Options", "Progress", "Processes", "Output", "Pages", "App"],
        ["Weir.Cli"] =
        [
            "Runtimes", "Hosting", "Workloads/UserCode", "Workloads", "Storage", "History", "Profiling", "Processes", "Measuring", "Programs",
            "Commands/Load", "Commands/Hash", "Commands/Run", "Commands/Scale", "Commands/Compare", "Commands/Time", "Commands/Gate", "Commands/History",
            "Commands/Report", "Commands/Doctor", "Commands/Measure", "Commands/Top", "App", "",
        ],
        ["Weir.Delivery.Cli"] =
        [
            "Hosting", "Engines", "Commands/Work/Execution", "Commands/Work", "Commands/Cdc/Lines", "Commands/Cdc/Targets", "Commands/Cdc", "App", "",
        ],
        ["Weir.Audit"] = ["Load/Options", "Load/Passes", "Load", "Plan", "Engines", "Parts", "Servers", "Checks", "Report", ""],
        ["Weir.Tables"] =
        [
            "Page", "Ratios", "Auto", "Startup", "Compared", "Blocking", "FewItems", "Dashboard", "Overload", "Adaptive", "BlocksGrid", "Commands", "SelfChecks", "Verbs",
            "Servers/Turns", "Servers/Changes", "Servers/Queue", "Servers/Broker", "Servers", "Peers", "Jobs", "App", "",
        ],
    };

    /// <summary>The one project whose files may use each other in a circle: a run, its workers and their calls are understood together.</summary>
    private const string Engine = "Weir.Core";

    private const int MostInCircleOfEngine = 13;

    private static readonly string Root = Repository.Root;

    public static TheoryData<string> Projects() =>
        [.. Directory.EnumerateFiles(Root, "*.csproj", SearchOption.AllDirectories)
            .Where(static p => ProjectFolders.Houses.Any(house => InFolder(p, house)))
            .Select(static p => Path.GetRelativePath(Root, p))];

    public static TheoryData<string> NamesOfProjects() => [.. Projects().Select(static p => Path.GetFileNameWithoutExtension(p.Data))];

    [Theory]
    [MemberData(nameof(Projects))]
    public void Project_References_AreThoseOfTheHouse(string project)
    {
        string name = Path.GetFileNameWithoutExtension(project);
        Assert.True(Allowed.ContainsKey(name), $"{name} is not a project of the house: see ARCHITECTURE.md.");
        string[] references = References(project, "ProjectReference").Except(BuildOnly).Select(static r => Path.GetFileNameWithoutExtension(r)).ToArray();
        Assert.Equal(Allowed[name].Order(StringComparer.Ordinal), references.Order(StringComparer.Ordinal));
    }

    [Fact]
    public void Project_References_AreListedForThoseThatExist() =>
        Assert.Equal(Allowed.Keys.Order(StringComparer.Ordinal), NamesOfProjects().Select(static p => p.Data).Order(StringComparer.Ordinal));

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

    [Fact]
    public void Packages_Table_SaysWhatEachNeeds()
    {
        string[] rows = [.. File.ReadLines(Path.Combine(Root, "docs", "reference", "packages.md"))
            .Where(static line => line.StartsWith("| `Weir", StringComparison.Ordinal))];
        foreach (string project in Projects().Select(static p => p.Data).Where(static p => p.StartsWith("src", StringComparison.Ordinal)))
        {
            string name = Path.GetFileNameWithoutExtension(project);
            if (rows.FirstOrDefault(row => row.StartsWith($"| `{name}` |", StringComparison.Ordinal)) is { } row)
            {
                IEnumerable<string> needed = References(project, "ProjectReference").Concat(References(project, "PackageReference")).Except(BuildOnly)
                    .Select(static r => r.EndsWith(".csproj", StringComparison.Ordinal) ? Path.GetFileNameWithoutExtension(r) : r);
                string[] said = row.Trim('|').Split('|')[2].Split([',', ' ', '`'], StringSplitOptions.RemoveEmptyEntries);
                Assert.Equal([name, .. needed.Order(StringComparer.Ordinal)], [name, .. said.Order(StringComparer.Ordinal)]);
            }
        }
    }

    public static TheoryData<string> ProjectsWithFolders() => [.. Folders.Keys];

    public static TheoryData<string> LibrariesWithFolders() => [.. Folders.Keys.Where(static p => Directory.Exists(Path.Combine(Root, "src", p)))];

    [Theory]
    [MemberData(nameof(ProjectsWithFolders))]
    public void Folders_Uses_GoOneWay(string project)
    {
        string[] folders = Folders[project];
        Assert.DoesNotContain(new ProjectFolders(project, folders).Uses(), use => Array.IndexOf(folders, use.From) < Array.IndexOf(folders, use.To));
    }

    [Theory]
    [MemberData(nameof(ProjectsWithFolders))]
    public void Folders_Usings_GoOneWay(string project)
    {
        // What is compiled has no trace of constants and nameof.
        string[] folders = Folders[project];
        List<string> wrong = [];
        for (int i = 0; i < folders.Length; i++)
        {
            string[] files = [.. FolderFiles(project, folders[i])];
            Assert.True(folders[i].Length == 0 || files.Any(static f => TypeDeclaration().IsMatch(File.ReadAllText(f))), $"{folders[i]} has no types.");
            foreach (string file in files)
            {
                string code = Comment().Replace(File.ReadAllText(file), "");
                wrong.AddRange(folders[(i + 1)..].Where(later => Names(code, project, later)).Select(later => $"{file} uses {later}"));
            }
        }

        Assert.Empty(wrong);
    }

    [Theory]
    [MemberData(nameof(NamesOfProjects))]
    public void Folders_OfEveryProject_HaveNoCycle(string project) =>
        Assert.Empty(ProjectFolders.Cycles(new ProjectFolders(project, Folders.GetValueOrDefault(project, [])).Uses()));

    public static TheoryData<string> ProjectsWithoutCircles() => [.. Projects().Select(static p => p.Data)
        .Where(static p => !p.StartsWith("bench", StringComparison.Ordinal)).Select(static p => Path.GetFileNameWithoutExtension(p))];

    [Theory]
    [MemberData(nameof(ProjectsWithoutCircles))]
    public void Files_OfEveryProject_HaveNoCircleButTheEngines(string project)
    {
        List<string[]> circles = Circles.Of(new ProjectFolders(project, Folders.GetValueOrDefault(project, [])).FileUses());
        if (project == Engine)
        {
            Assert.InRange(Assert.Single(circles).Length, 2, MostInCircleOfEngine);
        }
        else
        {
            Assert.Empty(circles.Select(static circle => string.Join(", ", circle)));
        }
    }

    [Theory]
    [MemberData(nameof(LibrariesWithFolders))]
    public void Folders_Root_HasNoTypes(string project) => Assert.Empty(Directory.EnumerateFiles(FolderOf(project), "*.cs"));

    [Theory]
    [MemberData(nameof(ProjectsWithFolders))]
    public void Folders_OfTheProject_AreThoseOfTheList(string project) => Assert.DoesNotContain(
        Directory.EnumerateFiles(FolderOf(project), "*.cs", SearchOption.AllDirectories)
            .Select(file => Path.GetRelativePath(FolderOf(project), Path.GetDirectoryName(file)!).Replace(Path.DirectorySeparatorChar, '/'))
            .Where(static folder => folder != ".")
            .Distinct(),
        folder => !Folders[project].Append("bin").Append("obj").Any(listed => listed.Length > 0 && IsIn(folder, listed)));

    [Fact]
    public void EngineSolution_OfWhatRunsInDebug_HasAllThatAssertsOrIsFailedOnPurpose()
    {
        string[] listed = [.. XDocument.Load(Path.Combine(Root, "tests", "Engine.slnx")).Descendants("Project")
            .Select(static p => Path.GetFileNameWithoutExtension(p.Attribute("Path")!.Value).Replace(".Tests", "", StringComparison.Ordinal))
            .Order(StringComparer.Ordinal)];
        Assert.Equal(
            Directory.EnumerateDirectories(Path.Combine(Root, "src")).Select(static p => Path.GetFileName(p))
                .Where(static p => Has(FolderOf(p), "Debug.Assert(", "Conditional(\"DEBUG\")")
                    || Has(Path.Combine(Root, "tests", p + ".Tests"), "FaultPlaces."))
                .Order(StringComparer.Ordinal),
            listed);

        // What is analysed in Debug, and not once more in Release.
        string? analysed = XDocument.Load(Path.Combine(Root, "Directory.Build.props")).Descendants("EngineProjects").Single().Value;
        Assert.Equal($";{string.Join(';', listed)};", analysed);
    }

    private static bool Has(string folder, params string[] texts) =>
        Directory.Exists(folder) && Directory.EnumerateFiles(folder, "*.cs", SearchOption.AllDirectories)
            .Any(file => File.ReadAllText(file) is var text && texts.Any(t => text.Contains(t, StringComparison.Ordinal)));

    // Where it is the command of that name.
    private static readonly string[] SaysGate =
    [
        Path.Combine("lab", "Weir.Cli", "Commands", "Gate"), Path.Combine("bench", "Weir.Gate"), Path.Combine("bench", "Weir.Tables", "SelfChecks"),
        Path.Combine("bench", "Weir.Tables", "Verbs"), Path.Combine("lab", "Weir.Lab", "Report", "Writing"),
    ];

    [Fact]
    public void Locks_Names_SayLock() =>
        Assert.Empty(ProjectFolders.Houses
            .SelectMany(static folder => Directory.EnumerateFiles(Path.Combine(Root, folder), "*.cs", SearchOption.AllDirectories))
            .Where(static file => !SaysGate.Any(folder => InFolder(file, folder)) && Gate().IsMatch(File.ReadAllText(file)))
            .Select(static file => Path.GetRelativePath(Root, file)));

    // What is live has the namespace of all that observes, as the meters' names have.
    [Fact]
    public void PublicTypes_OfTheEngine_AreInTheUsersNamespace()
    {
        string live = string.Concat(Directory.EnumerateFiles(Path.Combine(Root, "src", "Weir.Core", "Live"), "*.cs").Select(File.ReadAllText));
        Assert.All(typeof(ErrorMode).Assembly.GetExportedTypes(), type => Assert.Equal(
            Regex.IsMatch(live, $@"public [a-z ]+ {type.Name}\b") ? "Weir.Observability" : "Weir", type.Namespace));
    }

    private static string FolderOf(string project) => ProjectFolders.PathOf(project);

    private static bool IsIn(string folder, string listed) =>
        listed.Length == 0 || folder == listed || folder.StartsWith(listed + "/", StringComparison.Ordinal);

    // Those of a listed folder inside it are not its own.
    private static IEnumerable<string> FolderFiles(string project, string folder)
    {
        string[] inner = [.. Folders[project].Where(other => other != folder && IsIn(other, folder))
            .Select(other => Path.Combine(FolderOf(project), other) + Path.DirectorySeparatorChar)];
        return Directory.EnumerateFiles(
            Path.Combine(FolderOf(project), folder), "*.cs", folder.Length == 0 ? SearchOption.TopDirectoryOnly : SearchOption.AllDirectories)
            .Where(file => !inner.Any(i => file.StartsWith(i, StringComparison.Ordinal)));
    }

    // By its namespace, whole or the last part of it.
    private static bool Names(string code, string project, string later)
    {
        string name = later.Replace('/', '.');
        string inner = string.Join(
            '|', Folders[project].Where(other => other != later && IsIn(other, later)).Select(other => Regex.Escape(other[later.Length..].Replace('/', '.'))));
        return later.Length > 0
            && (Regex.IsMatch(code, $@"{Regex.Escape($"{NamespaceOf(project)}.{name}")}(?!\w){(inner.Length > 0 ? $"(?!{inner})" : "")}")
                || (IsNamespace(project, later) && Regex.IsMatch(code, $@"(?<![\w.]){Regex.Escape(name)}\.\w")));
    }

    // The types of a library may all be in one, whatever their folders are called.
    private static bool IsNamespace(string project, string folder) => FolderFiles(project, folder)
        .Any(file => File.ReadAllText(file).Contains($"namespace {NamespaceOf(project)}.{folder.Replace('/', '.')}", StringComparison.Ordinal));

    private static string NamespaceOf(string project) =>
        XDocument.Load(Path.Combine(FolderOf(project), project + ".csproj")).Descendants("RootNamespace").FirstOrDefault()?.Value ?? project;

    private static IEnumerable<string> References(string project, string kind) =>
        XDocument.Load(Path.Combine(Root, project)).Descendants(kind).Select(static e => e.Attribute("Include")!.Value.Replace('\\', '/'));

    private static bool InFolder(string path, string folder) =>
        Path.GetRelativePath(Root, path).StartsWith(folder + Path.DirectorySeparatorChar, StringComparison.Ordinal);

    [GeneratedRegex(@"\b(?:class|struct|interface|enum|record(?: struct)?)\s+(\w+)")]
    private static partial Regex TypeDeclaration();

    // A word of the tests' kit, in which a test holds work until it opens one; and a verb of the command.
    [GeneratedRegex(@"\b_?gates?\b|\bGate(?!Command\b|;)|[a-z]Gate|_NeedsLock")]
    private static partial Regex Gate();

    [GeneratedRegex(@"//.*$", RegexOptions.Multiline)]
    private static partial Regex Comment();
}
