using Weir.Packages.Tests.Support;

namespace Weir.Packages.Tests;

/// <summary>The templates of <c>Weir.Templates</c>: each makes a project that builds without a warning and runs.</summary>
public class OwnTemplateTests(Feed feed)
{
    [Theory(Timeout = 900_000, Explicit = true)]
    [InlineData("weir-console", "net10.0", "", "one: 3")]
    [InlineData("weir-console", "net8.0", null, null)]
    [InlineData("weir-worker", "net10.0", "bolt nut", "processed nut")]
    [InlineData("weir-benchmark", null, "--filter *Atomic* --job dry --inProcess --workers 1,2", "| Atomic | 2 ")]
    public async Task Template_Instantiated_BuildsAndRuns(string template, string? framework, string? arguments, string? output)
    {
        string folder = feed.NewFolder($"{template}-{framework}", alone: false);

        // Templates are kept in a home of their own.
        Dictionary<string, string> settings = new(feed.Settings) { ["DOTNET_CLI_HOME"] = Path.Combine(folder, "home") };
        await RunAsync("new", "install", Path.Combine(feed.Packages, $"Weir.Templates.{Feed.Version}.nupkg"));
        await RunAsync(["new", template, "-o", "Prices", .. framework is null ? [] : new[] { "--Framework", framework }]);
        Assert.True(File.Exists(Path.Combine(folder, "Prices", "Prices.csproj")));
        await RunAsync("build", "Prices", "-c", "Release", "-warnaserror", "-o", "out");
        if (arguments is not null)
        {
            string[] words = arguments.Split(' ', StringSplitOptions.RemoveEmptyEntries);
            Assert.Contains(output!, await RunAsync([Path.Combine("out", "Prices.dll"), .. words]), StringComparison.Ordinal);
        }

        Task<string> RunAsync(params string[] words) => Program.RunAsync(folder, settings, "dotnet", words);
    }

    [Fact]
    public void Templates_UseThePackagesOfTheirVersion()
    {
        string content = Path.Combine(Repository.Root, "eng", "Weir.Templates", "content");
        string[] projects = Directory.GetFiles(content, "*.csproj", SearchOption.AllDirectories);
        Assert.Equal(3, projects.Length);
        Assert.All(projects, static project => Assert.Contains($"Version=\"{Feed.Version}\"", File.ReadAllText(project), StringComparison.Ordinal));
    }
}
