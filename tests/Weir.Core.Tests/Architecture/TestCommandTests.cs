using System.Text.Json;
using System.Text.RegularExpressions;
using System.Xml.Linq;

namespace Weir.Core.Tests.Architecture;

/// <summary>The command that README.md gives for the tests: it is what the checks of every change run, and runs all test projects.</summary>
public partial class TestCommandTests
{
    [Fact]
    public void Readme_TestCommand_IsWhatTheChecksRun()
    {
        Assert.Contains("\n    dotnet test\n", Read("README.md"), StringComparison.Ordinal);
        Assert.Contains("\n    dotnet test\n", Read("CONTRIBUTING.md"), StringComparison.Ordinal);

        // Without --no-build: the command builds what its tests need, also where nothing was built before.
        string command = Assert.Single(CommandOfTheChecks().Matches(Read(".ci", "run"))).Value;
        Assert.DoesNotContain("--no-build", command, StringComparison.Ordinal);
    }

    [Fact]
    public void Solution_OfTheTestCommand_HasEveryProjectInReleaseAlone()
    {
        XDocument solution = XDocument.Load(Path.Combine(Repository.Root, "Weir.slnx"));

        // A second configuration named Debug would be the one that `dotnet test` takes, and what the tests pack and start would be missing.
        Assert.Equal(["Release"], solution.Descendants("BuildType").Select(static type => type.Attribute("Name")!.Value));
        Assert.Equal(
            ProjectFolders.Houses.Concat(["samples", "tests", "eng"])
                .SelectMany(static folder => Directory.EnumerateFiles(Path.Combine(Repository.Root, folder), "*.csproj", SearchOption.AllDirectories))
                .Select(static project => Path.GetRelativePath(Repository.Root, project).Replace(Path.DirectorySeparatorChar, '/'))

                // What `dotnet new` makes projects of is built outside.
                .Where(static project => !project.StartsWith("eng/Weir.Templates/content/", StringComparison.Ordinal))
                .Order(StringComparer.Ordinal),
            solution.Descendants("Project").Select(static project => project.Attribute("Path")!.Value).Order(StringComparer.Ordinal));
    }

    [Fact]
    public void TestProjects_All_RunBesideEachOther()
    {
        using JsonDocument settings = JsonDocument.Parse(Read("global.json"));
        Assert.Equal("Microsoft.Testing.Platform", settings.RootElement.GetProperty("test").GetProperty("runner").GetString());

        // One project that is for another runner, and the command refuses to run any.
        Assert.DoesNotContain(
            Directory.EnumerateFiles(Path.Combine(Repository.Root, "tests"), "*.*proj", SearchOption.AllDirectories)
                .Append(Path.Combine(Repository.Root, "tests", "Directory.Build.targets")),
            static file => File.ReadAllText(file) is var text
                && (text.Contains("Microsoft.NET.Test.Sdk", StringComparison.Ordinal) || text.Contains("xunit.runner.visualstudio", StringComparison.Ordinal)));
    }

    [Fact]
    public void TestProjects_ThatStartServers_StartThemForAsLongAsTheyLive()
    {
        // By ServersScript.UpAsync or SharedServers, which say so to the script. The tests of the script itself end what they start.
        string[] allowed = ["ServersScript.cs", "ServersScriptTests.cs", "TestCommandTests.cs"];
        Assert.DoesNotContain(
            Directory.EnumerateFiles(Path.Combine(Repository.Root, "tests"), "*.cs", SearchOption.AllDirectories)
                .Where(file => !allowed.Contains(Path.GetFileName(file))),
            static file => File.ReadAllText(file).Contains("\"up\"", StringComparison.Ordinal));
    }

    private static string Read(params string[] path) => File.ReadAllText(Path.Combine([Repository.Root, .. path]));

    [GeneratedRegex(@"^tests \w+ Weir\.slnx dotnet test\b.*$", RegexOptions.Multiline)]
    private static partial Regex CommandOfTheChecks();
}
