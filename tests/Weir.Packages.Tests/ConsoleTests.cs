using System.Text.Json;
using Weir.Packages.Tests.Support;

namespace Weir.Packages.Tests;

/// <summary>What the README says a new user does, with an empty package cache and no other source than the packages.</summary>
public class ConsoleTests(Feed feed)
{
    // Between what the process compiles with the packages' machine code, about 150 methods, and without it, about 420.
    private const int MostCompiled = 250;

    // A debug build has the code of the libraries once, for this system.
    private const long MostAdded = 3_000_000;

    // A method of the user's, to be measured; and beside the example, which stays as it is, a count of what was compiled in its process.
    private const string Work = """
        using System.Runtime;
        using System.Runtime.CompilerServices;

        namespace App;

        public static class Work
        {
            public static int Sum() => Enumerable.Range(0, 100).Sum();

            [ModuleInitializer]
            internal static void Count()
            {
                if (Environment.GetEnvironmentVariable("WEIR_COMPILED") is { } file)
                {
                    AppDomain.CurrentDomain.ProcessExit += (_, _) => File.WriteAllText(file, $"{JitInfo.GetCompiledMethodCount()}");
                }
            }
        }
        """;

    [Fact(Timeout = 900_000, Explicit = true)]
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
        await AssertIsCompiledAheadAsync(folder, built);

        string weir = await feed.InstallWeirAsync(folder);
        string load = await Program.RunAsync(folder, feed.Settings, weir, ["load", "--count", "2000", "--trials", "1", "--json"]);
        Assert.True(JsonDocument.Parse(load).RootElement.TryGetProperty("arms", out _), load);

        // Whether a busy machine is fit to measure on is not asked here: 0 and 3 both are answers.
        string[] run = ["run", "--assembly", built, "--method", "App.Work.Sum", "--workers", "2", "--rounds", "1", "--duration", "20ms", "--quiet", "--json"];
        string measured = await Program.RunAsync(folder, feed.Settings, weir, run, 0, 3);
        Assert.Contains("App.Work.Sum", measured, StringComparison.Ordinal);
        Assert.Contains("\"per_worker\"", measured, StringComparison.Ordinal);
    }

    [Theory(Timeout = 900_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData("Weir", "_ = new[] { 1 }.ForEachParallelAsync(Wait); static async void Wait(int x) => await Task.Yield();", "WEIR005")]
    [InlineData("Weir.Delivery", "_ = new[] { 1 }.ForEachParallelAsync(Wait); static async void Wait(int x) => await Task.Yield();", "WEIR005")]
    [InlineData("Weir.Dataflow", "_ = new BufferBlock<string>();", "WEIR001")]
    public async Task Console_MistakeThatCompiles_IsWarnedOfOnce(string package, string mistake, string rule)
    {
        string folder = feed.NewFolder($"mistake-{package}", alone: true);
        await feed.DotNetAsync(folder, "new", "console", "-o", "App", "--no-restore");
        await feed.DotNetAsync(Path.Combine(folder, "App"), "add", "package", package);
        string usings = package == "Weir.Dataflow"
            ? "using System.Threading.Tasks.Dataflow;\nusing BufferBlock = Weir.Dataflow.BufferBlock<string>;\n"
            : "using Weir;\n";
        File.WriteAllText(Path.Combine(folder, "App", "Program.cs"), usings + mistake);
        string output = await feed.DotNetAsync(Path.Combine(folder, "App"), "build", "--no-restore", "-clp:NoSummary", "-tl:off");

        // The summary at the end repeats what was said before it.
        Assert.Single(output.Split("Build succeeded")[0].Split('\n'), line => line.Contains($"warning {rule}", StringComparison.Ordinal));
    }

    // The same program with the packages' IL alone shows what the machine code saves.
    private async Task AssertIsCompiledAheadAsync(string folder, string built)
    {
        int ahead = await CompiledAsync(folder, built);
        string[] libraries = Directory.GetFiles(Path.GetDirectoryName(built)!, "Weir*", SearchOption.AllDirectories);
        long added = libraries.Sum(static library => new FileInfo(library).Length);
        TestContext.Current.TestOutputHelper?.WriteLine($"Weir added {added:N0} B to the build.");
        if (OperatingSystem.IsLinux())
        {
            Assert.InRange(added, 1, MostAdded);
        }

        foreach (string library in libraries)
        {
            string name = Path.GetFileNameWithoutExtension(library);
            string package = Path.Combine(feed.Settings["NUGET_PACKAGES"], name.ToLowerInvariant(), Feed.Version);
            File.Copy(Path.Combine(package, "lib", "net10.0", name + ".dll"), library, overwrite: true);
        }

        int plain = await CompiledAsync(folder, built);
        TestContext.Current.TestOutputHelper?.WriteLine($"{ahead} methods were compiled in the process; of IL alone, {plain}.");
        Assert.True(ahead < MostCompiled && plain > MostCompiled, $"{ahead} methods, and {plain} of IL alone.");
    }

    private Task<int> CompiledAsync(string folder, string built) => CompiledMethods.CountAsync(
        folder, feed.Settings, async settings => Assert.Equal(Readme.Output, (await Program.RunAsync(folder, settings, "dotnet", [built])).Trim()));
}
