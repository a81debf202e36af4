using System.Reflection;
using System.Xml.Linq;
using Weir.Cli.Tests.Support;
using Weir.Lab.Results;
using Weir.Lab.Workers;

namespace Weir.Cli.Tests.UserCode;

/// <summary>The project that somebody begins with is compiled here as it is handed out, and measured.</summary>
public class NewWorkloadTests
{
    [Fact(Timeout = 300_000)]
    public async Task New_Workload_WritesAProjectThatRefersToTheLab()
    {
        using TemporaryDirectory directory = new();
        string project = directory.File("My.Workloads");

        LoadResult made = await new CliUnderTest().RunAsync($"new workload {project}");

        Assert.Equal(0, made.ExitCode);
        XElement reference = Assert.Single(XDocument.Load(Path.Combine(project, "My.Workloads.csproj")).Descendants("Reference"));
        string hint = reference.Attribute("HintPath")!.Value;
        Assert.False(Path.IsPathRooted(hint), hint);
        Assert.Equal(typeof(IWorkload).Assembly.FullName, AssemblyName.GetAssemblyName(Path.Combine(project, hint)).FullName);
        Assert.Contains("weir compare --assembly", made.Out, StringComparison.Ordinal);
        Assert.Equal(
            ["Joining.cs", "Summing.cs"], Directory.EnumerateFiles(project, "*.cs").Select(static f => Path.GetFileName(f)).Order(StringComparer.Ordinal));
        Assert.Contains("public class Joining(int count = 16)",
            await File.ReadAllTextAsync(Path.Combine(project, "Joining.cs"), TestContext.Current.CancellationToken), StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Samples_AreMeasuredAsThePageSays()
    {
        string assembly = typeof(MyWorkloads.Summing).Assembly.Location;

        ResultFile swept = Read(await new CliUnderTest().RunAsync(
            $"run --assembly {assembly} --class Summing --param size=10,100 --workers 2 --rounds 1 --duration 20ms --quiet --json"));
        ResultFile compared = Read(await new CliUnderTest().RunAsync(
            $"compare --assembly {assembly} --method Joining.Plus,Joining.Builder --param count=4 --workers 1 --rounds 4 --duration 20ms --quiet --json"));

        Assert.Equal(["Summing size=10", "Summing size=100"], swept.Arms.Select(static a => a.Name));
        Assert.All(swept.Arms.Concat(compared.Arms).SelectMany(static a => a.Rounds), static r => Assert.True(r.Problem is null || r.Disturbed, r.Problem));
        Assert.Equal(["Plus", "Builder"], compared.Arms.Select(static a => a.Name));
    }

    [Fact(Timeout = 300_000)]
    public async Task New_DirectoryWithFiles_IsRefused()
    {
        using TemporaryDirectory directory = new();
        await File.WriteAllTextAsync(directory.File("mine.cs"), "", TestContext.Current.CancellationToken);

        LoadResult full = await new CliUnderTest().RunAsync($"new workload {directory.Path}");
        LoadResult odd = await new CliUnderTest().RunAsync($"new workload {directory.File("a$b")}");

        Assert.Equal((1, $"weir: DIR must be a directory that does not exist or is empty; '{directory.Path}' has files.\n"), (full.ExitCode, full.Error));
        Assert.Equal((1, "weir: DIR must be called with letters, digits, '.', '_' and '-', because the project is called after it; it is 'a$b'.\n"),
            (odd.ExitCode, odd.Error));
        Assert.Equal(["mine.cs"], Directory.EnumerateFiles(directory.Path).Select(static f => Path.GetFileName(f)));
    }

    private static ResultFile Read(LoadResult result)
    {
        Assert.True(result.ExitCode is 0 or 2 or 3, result.Error);
        return ResultJson.Parse(result.Out, "output");
    }
}
