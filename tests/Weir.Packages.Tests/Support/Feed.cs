using System.IO.Compression;
using System.Runtime.InteropServices;
using System.Xml.Linq;
using Weir.Packages.Tests.Support;

[assembly: AssemblyFixture(typeof(Feed))]

namespace Weir.Packages.Tests.Support;

/// <summary>
/// The packages of what was built in Release, in a folder outside of the repository, and beside it an empty package cache that all projects made from them
/// share. Everything is deleted at the end.
/// </summary>
public sealed class Feed : IAsyncLifetime
{
    private readonly string _root = Directory.CreateTempSubdirectory("weir-outside-").FullName;

    /// <summary>Whether the tests that download and measure are wanted too: <c>eng/outside</c> wants them.</summary>
    public static bool IsAll => Environment.GetEnvironmentVariable("WEIR_OUTSIDE") == "1";

    /// <summary>The systems that the packages have machine code for: all of them, or this one alone.</summary>
    public static string[] Ahead { get; } = IsAll
        ? XDocument.Load(Path.Combine(Repository.Root, "eng", "package", "ahead", "Ahead.props")).Descendants("AheadFor").Single().Value.Split(';')
        : [RuntimeInformation.RuntimeIdentifier];

    /// <summary>The version of all packages.</summary>
    public static string Version { get; } =
        XDocument.Load(Path.Combine(Repository.Root, "Directory.Build.props")).Descendants("Version").Single().Value;

    /// <summary>The folder of the packages.</summary>
    public string Packages => Path.Combine(_root, "packages");

    /// <summary>The environment of all that is started outside.</summary>
    public Dictionary<string, string> Settings => new()
    {
        ["NUGET_PACKAGES"] = Path.Combine(_root, "cache"),
        ["DOTNET_NOLOGO"] = "1",
        ["DOTNET_CLI_TELEMETRY_OPTOUT"] = "1",
        ["DOTNET_SKIP_FIRST_TIME_EXPERIENCE"] = "1",

        // The compiler that has built these tests is warm, and ends by itself. Nothing else stays behind that a later build would use again.
        ["MSBUILDDISABLENODEREUSE"] = "1",
        ["UseSharedCompilation"] = "true",
    };

    /// <inheritdoc/>
    public async ValueTask InitializeAsync()
    {
        Assert.True(
            Directory.Exists(Path.Combine(Repository.Root, "artifacts", "bin", "Weir", "release_net8.0")),
            "There is nothing to pack: the build of Weir.Packages.Tests builds it.");
        Dictionary<string, string> settings = Settings;
        settings.Remove("NUGET_PACKAGES");
        await Program.RunAsync(
            Repository.Root, settings, "bash", ["eng/pack", "--no-build", "--output", Packages, .. IsAll ? [] : new[] { "--ahead", Ahead.Single() }]);
    }

    /// <summary>A new folder, whose projects find these packages and, if they are to, those of the machine's own sources.</summary>
    public string NewFolder(string name, bool alone)
    {
        string folder = Directory.CreateDirectory(Path.Combine(_root, name)).FullName;
        string machine = Environment.GetEnvironmentVariable("NUGET_PACKAGES")
            ?? Path.Combine(Environment.GetFolderPath(Environment.SpecialFolder.UserProfile), ".nuget", "packages");
        XElement configuration = new(
            "configuration",
            new XElement("packageSources", alone ? new XElement("clear") : null, Add("weir", Packages)),

            // What others made need not be downloaded again, unless everything is tried.
            new XElement("fallbackPackageFolders", new XElement("clear"), alone || IsAll || !Directory.Exists(machine) ? null : Add("machine", machine)));
        new XDocument(configuration).Save(Path.Combine(folder, "nuget.config"));
        return folder;
    }

    /// <summary>Opens a package.</summary>
    /// <param name="package">Its name.</param>
    /// <param name="kind">Which of its files: <c>nupkg</c>, or <c>snupkg</c> with the symbols.</param>
    public ZipArchive Open(string package, string kind) => ZipFile.OpenRead(Path.Combine(Packages, $"{package}.{Version}.{kind}"));

    /// <summary>Installs the command <c>weir</c> in a folder that finds these packages.</summary>
    /// <returns>The path of its file.</returns>
    public async Task<string> InstallWeirAsync(string folder)
    {
        await DotNetAsync(folder, "tool", "install", "Weir.Cli", "--tool-path", "tools");
        return Path.Combine(folder, "tools", OperatingSystem.IsWindows() ? "weir.exe" : "weir");
    }

    /// <summary>Runs <c>dotnet</c> outside.</summary>
    public Task<string> DotNetAsync(string folder, params string[] arguments) => Program.RunAsync(folder, Settings, "dotnet", arguments);

    /// <inheritdoc/>
    public ValueTask DisposeAsync()
    {
        Directory.Delete(_root, recursive: true);
        return default;
    }

    private static XElement Add(string key, string value) => new("add", new XAttribute("key", key), new XAttribute("value", value));
}
