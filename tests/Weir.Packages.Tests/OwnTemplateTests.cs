using Weir.Packages.Tests.Support;

namespace Weir.Packages.Tests;

/// <summary>The templates of <c>Weir.Templates</c>: each makes a project that builds without a warning and runs.</summary>
public class OwnTemplateTests(Feed feed)
{
    [Theory(Timeout = 900_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData("weir-console", "net10.0", "", "one: 3")]
    [InlineData("weir-console", "net8.0", null, null)]
    [InlineData("weir-worker", "net10.0", "bolt nut", "processed nut")]
    [InlineData("weir-benchmark", null, "--filter *Atomic* --job dry --inProcess --workers 1,2", "| Atomic | 2 ")]
    public async Task Template_Instantiated_BuildsAndRuns(string template, string? framework, string? arguments, string? output)
    {
        string folder = await BuildAsync(template, framework);
        if (arguments is not null)
        {
            string[] words = arguments.Split(' ', StringSplitOptions.RemoveEmptyEntries);
            Assert.Contains(output!, await feed.DotNetAsync(folder, [Path.Combine("out", "Prices.dll"), .. words]), StringComparison.Ordinal);
        }
    }

    [Fact(Timeout = 900_000, Explicit = true)]
    public async Task Workload_Instantiated_IsMeasuredByTheCommand()
    {
        string folder = await BuildAsync("weir-workload", null);
        string weir = await feed.InstallWeirAsync(folder);
        string assembly = Path.Combine("out", "Prices.dll");

        string swept = await MeasureAsync("run", "--class", "Summing", "--param", "size=10,100", "--rounds", "1");
        string compared = await MeasureAsync("compare", "--method", "Joining.Plus,Joining.Builder", "--param", "count=4", "--rounds", "4");

        Assert.Contains("Summing size=100", swept, StringComparison.Ordinal);
        Assert.Contains("Builder", compared, StringComparison.Ordinal);
        Assert.Contains("Plus", compared, StringComparison.Ordinal);

        // Whether a busy machine is fit to measure on is not asked here, nor which of the two is faster.
        Task<string> MeasureAsync(string verb, params string[] options) => Program.RunAsync(
            folder, feed.Settings, weir, [verb, "--assembly", assembly, .. options, "--workers", "1", "--duration", "20ms", "--quiet"], 0, 2, 3);
    }

    [Fact]
    public void Templates_UseThePackagesOfTheirVersion()
    {
        string content = Path.Combine(Repository.Root, "eng", "Weir.Templates", "content");
        string[] projects = Directory.GetFiles(content, "*.csproj", SearchOption.AllDirectories);
        Assert.Equal(4, projects.Length);
        Assert.All(projects, static project => Assert.Contains($"Version=\"{Feed.Version}\"", File.ReadAllText(project), StringComparison.Ordinal));
    }

    // The folder, with what was built in "out".
    private async Task<string> BuildAsync(string template, string? framework)
    {
        string folder = feed.NewFolder($"{template}-{framework}", alone: false);

        // Templates are kept in a home of their own.
        Dictionary<string, string> settings = new(feed.Settings) { ["DOTNET_CLI_HOME"] = Path.Combine(folder, "home") };
        await RunAsync("new", "install", Path.Combine(feed.Packages, $"Weir.Templates.{Feed.Version}.nupkg"));
        await RunAsync(["new", template, "-o", "Prices", .. framework is null ? [] : new[] { "--Framework", framework }]);
        Assert.True(File.Exists(Path.Combine(folder, "Prices", "Prices.csproj")));
        await RunAsync("build", "Prices", "-c", "Release", "-warnaserror", "-o", "out");
        return folder;

        Task<string> RunAsync(params string[] words) => Program.RunAsync(folder, settings, "dotnet", words);
    }
}
