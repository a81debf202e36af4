using Weir.Packages.Tests.Support;

namespace Weir.Packages.Tests;

/// <summary>Projects made from the templates of the SDK, with the packages added, and the first example of the README inside where it has a place.</summary>
public class TemplateTests(Feed feed)
{
    // The example's statements as a method, for projects whose own program stays.
    private static string Example =>
        Readme.First
            .Replace("using Weir;", "using Weir;\n\npublic static class Example\n{\npublic static async Task<string> RunAsync()\n{", StringComparison.Ordinal)
            .Replace("Console.WriteLine(", "return (", StringComparison.Ordinal)
        + "}\n}\n";

    [Fact(Timeout = 900_000, Explicit = true)]
    public async Task Worker_WithLoggingAndDelivery_BuildsAndRuns()
    {
        string folder = await NewAsync("worker", [], "Weir", "Weir.Delivery", "Weir.Logging", "Weir.RateLimiting", "Weir.PostgreSql");
        Write(folder, "Worker.cs", """
            namespace App;

            public class Worker(IHostApplicationLifetime lifetime) : BackgroundService
            {
                protected override async Task ExecuteAsync(CancellationToken stoppingToken)
                {
                    Console.WriteLine(await Example.RunAsync());
                    lifetime.StopApplication();
                }
            }
            """);
        Assert.Contains(Readme.Output, await BuildAndRunAsync(folder), StringComparison.Ordinal);
    }

    [Fact(Timeout = 900_000, Explicit = true)]
    public async Task WebApi_WithHttpAndPolly_BuildsAndAnswers()
    {
        string folder = await NewAsync("webapi", ["--no-openapi", "--no-https"], "Weir", "Weir.Http", "Weir.Polly");
        Write(folder, "Program.cs", """
            WebApplication app = WebApplication.CreateBuilder(args).Build();
            app.Urls.Add("http://127.0.0.1:0");
            app.MapGet("/example", () => Example.RunAsync());
            await app.StartAsync();
            using HttpClient client = new() { BaseAddress = new Uri(app.Urls.Single()) };
            Console.WriteLine(await client.GetStringAsync("/example"));
            await app.StopAsync();
            """);
        Assert.Contains(Readme.Output, await BuildAndRunAsync(folder), StringComparison.Ordinal);
    }

    [Fact(Timeout = 900_000, Explicit = true)]
    public async Task XUnit_WithDataflow_BuildsAndPasses()
    {
        string folder = await NewAsync("xunit", [], "Weir", "Weir.Dataflow");
        Write(folder, "UnitTest1.cs", $$"""
            using Weir.Dataflow;

            public class UnitTest1
            {
                [Fact]
                public async Task Example_Prints() => Assert.Equal("{{Readme.Output}}", await Example.RunAsync());

                [Fact]
                public async Task Block_Ends()
                {
                    ActionBlock<int> block = new(static _ => { });
                    block.Complete();
                    await block.Completion;
                }
            }
            """);
        // The template asks for a version that not every source has.
        await feed.DotNetAsync(folder, "add", "package", "xunit.runner.visualstudio");
        await feed.DotNetAsync(folder, "build", "--no-restore", "-warnaserror");
        Assert.Matches("Passed: +2", await feed.DotNetAsync(folder, "test", "--no-build"));
    }

    [Fact(Timeout = 900_000, Explicit = true)]
    public async Task Benchmark_WithWorkers_HasTheJobsDiagnosersAndExportersOfBenchmarkDotNet()
    {
        string folder = await NewAsync("console", [], "Weir", "Weir.Lab", "Weir.Lab.BenchmarkDotNet");
        Write(folder, "Program.cs", """
            using BenchmarkDotNet.Attributes;
            using BenchmarkDotNet.Diagnosers;
            using BenchmarkDotNet.Engines;
            using BenchmarkDotNet.Jobs;
            using Weir.Lab.Benchmarks;

            LabBenchmarks.Run(typeof(Counting).Assembly, args);

            [Workers(2)]
            [MemoryDiagnoser, ThreadingDiagnoser, ExceptionDiagnoser, DisassemblyDiagnoser, EventPipeProfiler(EventPipeProfile.CpuSampling)]
            [SimpleJob(RunStrategy.Throughput, launchCount: 1, warmupCount: 1, iterationCount: 2, invocationCount: 1000, id: "Throughput")]
            [SimpleJob(RunStrategy.Monitoring, launchCount: 1, warmupCount: 0, iterationCount: 2, id: "Monitoring")]
            [SimpleJob(RunStrategy.ColdStart, launchCount: 1, warmupCount: 0, iterationCount: 1, id: "Cold")]
            [DryJob(RuntimeMoniker.Net10_0), GcServer(true)]
            [AsciiDocExporter, CsvExporter, CsvMeasurementsExporter, HtmlExporter, PlainExporter, RPlotExporter]
            [JsonExporterAttribute.Brief, JsonExporterAttribute.BriefCompressed, JsonExporterAttribute.Full, JsonExporterAttribute.FullCompressed]
            [MarkdownExporterAttribute.Default, MarkdownExporterAttribute.GitHub, MarkdownExporterAttribute.StackOverflow, MarkdownExporterAttribute.Atlassian]
            [XmlExporterAttribute.Brief, XmlExporterAttribute.BriefCompressed, XmlExporterAttribute.Full, XmlExporterAttribute.FullCompressed]
            public class Counting
            {
                private int _count;

                [Benchmark]
                public int Add() => Interlocked.Increment(ref _count);

                [Benchmark]
                public int Fail() => throw new InvalidOperationException();
            }
            """);
        await feed.DotNetAsync(folder, "build", "-c", "Release", "--no-restore", "-warnaserror", "-o", "out");
        string output = await feed.DotNetAsync(folder, Path.Combine("out", "App.dll"), "--filter", "*Add*");
        Assert.All(["Throughput", "Monitoring", "Cold", "Dry"], job => Assert.Matches($@"\| Add +\| {job}[^|]*\|.*\| 2 +\| +[\d.,]+ .?s ", output));
        Assert.All(
            ["Completed Work Items", "Lock Contentions", "Exceptions", "Code Size", "Allocated", "P99.9"],
            column => Assert.Contains($"{column} ", output, StringComparison.Ordinal));
        string artifacts = Path.Combine(folder, "BenchmarkDotNet.Artifacts");
        string[] files = Directory.GetFiles(artifacts, "*", SearchOption.AllDirectories);
        Assert.All(
            [
                "-report.asciidoc", "-report.csv", "-measurements.csv", "-report.html", "-report.txt", "BuildPlots.R", "-report-brief.json",
                "-report-brief-compressed.json", "-report-full.json", "-report-full-compressed.json", "-report-default.md", "-report-github.md",
                "-report-stackoverflow.md", "-report-atlassian.md", "-report-brief.xml", "-report-full.xml", "-asm.md", ".speedscope.json",
            ],
            ending => Assert.Contains(files, file => file.EndsWith(ending, StringComparison.Ordinal)));

        await Program.RunAsync(folder, feed.Settings, "dotnet", [Path.Combine("out", "App.dll"), "--filter", "*Fail*", "--inProcess"], 1);
    }

    [Fact(Timeout = 900_000, Explicit = true)]
    public async Task BenchmarkInFSharp_WithWorkers_RunsInProcessesOfItsOwn()
    {
        string folder = await NewAsync("console", ["-lang", "F#"], "Weir.Lab.BenchmarkDotNet");
        Write(folder, "Program.fs", """
            module App

            open System.Threading
            open BenchmarkDotNet.Attributes
            open Weir.Lab.Benchmarks

            [<Workers(1, 2)>]
            type Counting() =
                let mutable count = 0L

                [<Benchmark>]
                member _.Add() = Interlocked.Increment(&count)

            [<EntryPoint>]
            let main args =
                LabBenchmarks.Run(typeof<Counting>.Assembly, args) |> ignore
                System.Environment.ExitCode
            """);
        await feed.DotNetAsync(folder, "build", "-c", "Release", "--no-restore", "-warnaserror", "-o", "out");
        string output = await feed.DotNetAsync(folder, Path.Combine("out", "App.dll"), "--filter", "*", "--job", "dry");
        Assert.All([1, 2], workers => Assert.Matches($@"\| Add +\|.*\| {workers} +\| +[\d.,]+ .?s ", output));
    }

    private static void Write(string folder, string file, string text) => File.WriteAllText(Path.Combine(folder, file), text);

    private async Task<string> NewAsync(string template, string[] options, params string[] packages)
    {
        Assert.SkipUnless(Feed.IsAll, "eng/outside runs it: it downloads what the template uses.");
        string folder = Path.Combine(feed.NewFolder($"{template}-{packages.Length}", alone: false), "App");
        await feed.DotNetAsync(Path.GetDirectoryName(folder)!, ["new", template, "-o", "App", "--no-restore", .. options]);
        foreach (string package in packages)
        {
            await feed.DotNetAsync(folder, "add", "package", package);
        }

        Write(folder, "Example.cs", Example);
        return folder;
    }

    private async Task<string> BuildAndRunAsync(string folder)
    {
        await feed.DotNetAsync(folder, "build", "--no-restore", "-warnaserror", "-o", "../out");
        return await feed.DotNetAsync(folder, Path.Combine("..", "out", "App.dll"));
    }
}
