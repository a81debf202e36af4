using System.Text.Json;
using Weir.Packages.Tests.Support;

namespace Weir.Packages.Tests;

/// <summary>What the README says a new user does, with an empty package cache and no other source than the packages.</summary>
public class ConsoleTests(Feed feed)
{
    // A method of the user's, to be measured.
    private const string Work = """
        namespace App;

        public static class Work
        {
            public static int Sum() => Enumerable.Range(0, 100).Sum();
        }
        """;

    [Fact(Timeout = 900_000)]
    public async Task Console_ReadmesFirstExample_BuildsAndPrints_AndIsMeasuredByTheTool()
    {
        string folder = feed.NewFolder("console", alone: true);
        await feed.DotNetAsync(folder, "new", "console", "-o", "App", "--no-restore");
        await feed.DotNetAsync(Path.Combine(folder, "App"), "add", "package", "Weir");
        File.WriteAllText(Path.Combine(folder, "App", "Program.cs"), Readme.First);
        File.WriteAllText(Path.Combine(folder, "App", "Work.cs"), Work);
        await feed.DotNetAsync(Path.Combine(folder, "App"), "build", "--no-restore", "-warnaserror", "-o", "../out");
        string built = Path.Combine(folder, "out", "App.dll");
        Assert.Equal(Readme.Output, (await feed.DotNetAsync(folder, built)).Trim());

        await feed.DotNetAsync(folder, "tool", "install", "Weir.Cli", "--tool-path", "tools");
        string weir = Path.Combine(folder, "tools", OperatingSystem.IsWindows() ? "weir.exe" : "weir");
        string load = await Program.RunAsync(folder, feed.Settings, weir, ["load", "--count", "2000", "--trials", "1", "--json"]);
        Assert.True(JsonDocument.Parse(load).RootElement.TryGetProperty("results", out _), load);

        // Whether a busy machine is fit to measure on is not asked here: 0 and 3 both are answers.
        string[] run = ["run", "--assembly", built, "--method", "App.Work.Sum", "--workers", "2", "--rounds", "1", "--duration", "20ms", "--quiet", "--json"];
        string measured = await Program.RunAsync(folder, feed.Settings, weir, run, 0, 3);
        Assert.Contains("App.Work.Sum", measured, StringComparison.Ordinal);
        Assert.Contains("\"per_worker\"", measured, StringComparison.Ordinal);
    }
}
