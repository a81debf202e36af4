using Weir.Packages.Tests.Support;

namespace Weir.Packages.Tests;

/// <summary>A program for .NET 8, with the libraries for .NET 8, on each runtime that <c>eng/runtimes</c> laid out.</summary>
public class RuntimesTests(Feed feed)
{
    private const string Project = """
        <Project Sdk="Microsoft.NET.Sdk">
          <PropertyGroup>
            <OutputType>Exe</OutputType>
            <TargetFramework>net8.0</TargetFramework>
            <ImplicitUsings>enable</ImplicitUsings>
            <LangVersion>12</LangVersion>
            <NoWarn>$(NoWarn);WEIR100</NoWarn>
            <Nullable>enable</Nullable>
            <UseAppHost>false</UseAppHost>
            <TreatWarningsAsErrors>true</TreatWarningsAsErrors>
          </PropertyGroup>
          <ItemGroup>
            <PackageReference Include="Weir" Version="VERSION" />
            <PackageReference Include="Weir.Dataflow" Version="VERSION" />
            <PackageReference Include="Weir.Delivery" Version="VERSION" />
            <PackageReference Include="Weir.RateLimiting" Version="VERSION" />
          </ItemGroup>
        </Project>
        """;

    // In it is what the libraries have of their own for .NET 8: locks, identifiers that begin with the time, JSON by reflection, instruments.
    private const string Smoke = """
        using System.Buffers;
        using System.Diagnostics.Metrics;
        using Weir;
        using Weir.Dataflow;
        using Weir.Delivery;
        using Weir.Runtimes;

        using MeterListener listener = new();
        int instruments = 0;
        listener.InstrumentPublished = (instrument, _) => instruments += instrument.Name.StartsWith("weir.", StringComparison.Ordinal) ? 1 : 0;
        listener.Start();

        int[] items = Enumerable.Range(0, 1000).ToArray();
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 4, MaxRetries = 1, PerItemTimeout = TimeSpan.FromMinutes(1) };
        List<int> results = await items.SelectParallelAsync(
            async (int i, CancellationToken token) => { await Task.Yield(); return i + 1; }, options);
        Console.WriteLine(results.Sum());

        await using (ParallelRuntime runtime = new(workers: 2))
        {
            ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(items, (int i, CancellationToken token) => new ValueTask<int>(i));
            Console.WriteLine(outcomes.Sum(o => o.Value));
        }

        int sum = 0;
        ActionBlock<int> block = new(i => sum += i);
        foreach (int i in items) block.Post(i);
        block.Complete();
        await block.Completion;
        Console.WriteLine(sum);

        IReadOnlyList<WorkItem<int>> work = WorkItem.CreateMany(items);
        Guid origin = Guid.Parse(work[0].Id.ToString()!.Substring(0, 32));
        Console.WriteLine($"version {origin.ToString("D")[14]}");
        ArrayBufferWriter<byte> bytes = new();
        WorkSerializer.Json<Dictionary<string, int>>().Write(new Dictionary<string, int> { ["a"] = 1 }, bytes);
        Console.WriteLine(System.Text.Encoding.UTF8.GetString(bytes.WrittenSpan));
        Console.WriteLine(instruments > 5);
        Console.WriteLine(typeof(ParallelRunOptions).Assembly.GetCustomAttributesData()
            .Single(a => a.AttributeType.Name == "TargetFrameworkAttribute").ConstructorArguments[0].Value);
        Console.WriteLine(Environment.Version.Major);
        """;

    private static string Layout => Path.Combine(Repository.Root, "artifacts", "runtimes");

    [Fact(Timeout = 900_000, Explicit = true)]
    public async Task Net8_OnThreeRuntimes_ComputesTheSame()
    {
        Assert.SkipUnless(Feed.IsAll, "eng/outside runs it, with the runtimes of eng/runtimes.");
        string folder = feed.NewFolder("runtimes", alone: false);
        File.WriteAllText(Path.Combine(folder, "Smoke.csproj"), Project.Replace("VERSION", Feed.Version, StringComparison.Ordinal));
        File.WriteAllText(Path.Combine(folder, "Program.cs"), Smoke);
        await feed.DotNetAsync(folder, "build", "-o", "out");
        string shared = Path.Combine(Layout, "shared", "Microsoft.NETCore.App");
        string[] runtimes = [.. Directory.EnumerateDirectories(shared).Select(static p => Path.GetFileName(p))];
        Assert.Equal(["10", "8", "9"], runtimes.Select(static r => r.Split('.')[0]).Distinct().Order(StringComparer.Ordinal));
        foreach (string runtime in runtimes)
        {
            string[] arguments = ["exec", "--fx-version", runtime, Path.Combine("out", "Smoke.dll")];
            string output = await Program.RunAsync(folder, feed.Settings, Path.Combine(Layout, "dotnet"), arguments);
            string[] expected =
                ["500500", "499500", "499500", "version 7", "{\"a\":1}", "True", ".NETCoreApp,Version=v8.0", runtime.Split('.')[0]];
            Assert.Equal(expected, output.Trim().Split('\n'));
        }
    }
}
