using System.Globalization;
using Weir.Lab.Benchmarks.Tests.Samples;
using Weir.Lab.Benchmarks.Tests.Support;

namespace Weir.Lab.Benchmarks.Tests;

/// <summary>What users expect of BenchmarkDotNet, with the lab's configuration: each row of the table in docs/reference/benchmarkdotnet.md.</summary>
public class FeatureTests
{
    private const int Limit = 300_000;

    [Theory(Timeout = Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task ParametersSetupsBaselineAndCategories_WithAndWithoutWorkers_AreAllThere(bool hasWorkers)
    {
        using BenchmarkRun run = await BenchmarkRun.InProcessAsync(
            typeof(FeatureBenchmarks), ["--job", "dry", .. hasWorkers ? new[] { "--workers", "2" } : []]);

        run.AssertAllSucceeded();

        // Two sizes; one of the four methods has two sets of arguments.
        Assert.Equal(10, run.Summary.Reports.Length);
        int? workers = hasWorkers ? 2 : null;
        Assert.StartsWith("1.00", run.Cell("Sum", workers, "Ratio"), StringComparison.Ordinal);
        Assert.False(run.Cell("'Sum in fours'", workers, "Ratio") is "NA" or "?");
        Assert.Equal("2", run.Cell("Sum", workers, "Step"));
        Assert.Equal("Small", run.Cell("Sum", workers, "Size"));
        Assert.Equal("3", run.Cell("Slice", workers, "to"));
        Assert.Equal(hasWorkers, run.Summary.Table.FullHeader.Contains("Workers"));
    }

    [Fact(Timeout = Limit)]
    public async Task Categories_Filtered_RunAlone()
    {
        using BenchmarkRun run = await BenchmarkRun.InProcessAsync(typeof(FeatureBenchmarks), "--job", "dry", "--anyCategories", "Loops");

        Assert.Equal(["Sum", "SumInFours"], run.Summary.BenchmarksCases.Select(static b => b.Descriptor.WorkloadMethod.Name).Distinct().Order());
    }

    [Theory(Timeout = Limit)]
    [InlineData("flat", "PlainBenchmarks.Locked")]
    [InlineData("tree", "└─Throwing")]
    public async Task List_OfASwitcher_PrintsTheNames(string kind, string expected)
    {
        using StringWriter printed = new();
        TextWriter before = Console.Out;
        Console.SetOut(printed);
        try
        {
            using BenchmarkRun run = await BenchmarkRun.RunAsync(typeof(PlainBenchmarks), "--list", kind);
            Assert.Empty(run.Summaries);
            Assert.Contains(expected, run.Log + printed, StringComparison.Ordinal);
        }
        finally
        {
            Console.SetOut(before);
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Stages_OfAPlainJob_PrintTheirLinesAndStatistics()
    {
        // BenchmarkDotNet measures no overhead of calls of which less than sixteen fit into an iteration, and takes a first one that was held up for one.
        using BenchmarkRun run = await BenchmarkRun.RepeatedAsync(RunAsync, static run => run.Log.Contains("OverheadWarmup ", StringComparison.Ordinal));
        run.AssertAllSucceeded();
        foreach (string stage in (string[])
        [
            "OverheadJitting", "WorkloadPilot", "OverheadWarmup", "OverheadActual", "WorkloadWarmup", "WorkloadActual", "WorkloadResult",
        ])
        {
            Assert.Contains(stage + " ", run.Log, StringComparison.Ordinal);
        }

        Assert.Contains("ConfidenceInterval = [", run.Log, StringComparison.Ordinal);
        Assert.Contains("MValue = ", run.Log, StringComparison.Ordinal);
        Assert.Contains("- Histogram -", run.Log, StringComparison.Ordinal);
        foreach (string column in (string[])["Min", "Q1", "Median", "Q3", "Max", "StdErr", "Op/s"])
        {
            Assert.Contains(column, run.Summary.Table.FullHeader);
        }

        static Task<BenchmarkRun> RunAsync() => BenchmarkRun.InProcessAsync(
            typeof(PlainBenchmarks), "--filter", "*Allocate*", "--iterationTime", "100", "--warmupCount", "2", "--iterationCount", "8", "--allStats");
    }

    [Fact(Timeout = Limit)]
    public async Task Stages_UnderWorkers_PrintTheirLinesToo()
    {
        using BenchmarkRun run = await BenchmarkRun.InProcessAsync(
            typeof(PlainBenchmarks), "--filter", "*Allocate*", "--workers", "2", "--iterationTime", "10", "--warmupCount", "2", "--iterationCount", "3");

        run.AssertAllSucceeded();
        Assert.All(
            (string[])["WorkloadJitting  1:", "WorkloadPilot    3:", "WorkloadWarmup   2:", "WorkloadActual   3:", "WorkloadResult   "],
            stage => Assert.Contains(stage, run.Log, StringComparison.Ordinal));
    }

    [Theory(Timeout = Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Columns_OfAttributesAndConfigurations_StandInTheTable(bool hasWorkers)
    {
        using BenchmarkRun run = await BenchmarkRun.InProcessAsync(
            typeof(ColumnBenchmarks),
            ["--iterationTime", "10", "--warmupCount", "1", "--iterationCount", "8", .. hasWorkers ? new[] { "--workers", "2" } : []]);

        run.AssertAllSucceeded();
        Assert.All(
            (string[])
            [
                "Rank", "MValue", "Kurtosis", "Skewness", "StdErr", "Min", "Max", "Q1", "Q3", "Iterations", "Categories", "P0", "P25", "P50", "P67", "P80",
                "P85", "P90", "P95", "P100", "Ratio", "RatioSD",
            ],
            column => Assert.Contains(column, run.Summary.Table.FullHeader));
        Assert.Equal("Columns", run.Cell("One", hasWorkers ? 2 : null, "Categories"));
    }

    [Theory(Timeout = Limit)]
    [InlineData("Throughput")]
    [InlineData("Monitoring")]
    [InlineData("ColdStart")]
    public async Task Strategies_UnderWorkers_Run(string strategy)
    {
        using BenchmarkRun run = await BenchmarkRun.InProcessAsync(
            typeof(PlainBenchmarks),
            "--filter", "*Locked*", "--workers", "2", "--strategy", strategy, "--iterationTime", "10", "--warmupCount", "1", "--iterationCount", "2");

        run.AssertAllSucceeded();

        // How often the two workers come to call within a time is the machine's business: at least once each. The others have a number of calls, and no pilot.
        bool isOfATime = strategy == "Throughput";
        IReadOnlyList<BenchmarkDotNet.Reports.Measurement> all = run.Summary.Reports[0].AllMeasurements;
        Assert.Equal(isOfATime, all.Any(static m => m.IterationStage == BenchmarkDotNet.Engines.IterationStage.Pilot));
        Assert.InRange(all.Last(static m => m.IterationStage == BenchmarkDotNet.Engines.IterationStage.Actual).Operations, 2, isOfATime ? long.MaxValue : 2);
    }

    [Fact(Timeout = Limit)]
    public async Task Jobs_SeveralOnTheCommandLineWithSettings_AreCrossedWithWorkers()
    {
        using BenchmarkRun run = await BenchmarkRun.InProcessAsync(
            typeof(PlainBenchmarks), "--filter", "*Allocate*", "--job", "short", "--iterationTime", "10", "--outliers", "DontRemove", "--workers", "1", "2");

        run.AssertAllSucceeded();
        Assert.Equal(2, run.Summary.Reports.Length);
        Assert.All(run.Summary.Reports, static r => Assert.Equal(3, r.GetResultRuns().Count));
    }

    [Fact(Timeout = Limit)]
    public async Task Jobs_OneOfThemTheBaseline_AreComparedWithIt()
    {
        using BenchmarkRun run = await BenchmarkRun.RunAsync(typeof(JobBenchmarks), "--filter", "*");

        run.AssertAllSucceeded();
        string[] header = run.Summary.Table.FullHeader;
        Assert.All(run.Summary.Table.FullContent, row => Assert.Equal($"'{JobBenchmarks.Description}'", row[Array.IndexOf(header, "Method")]));
        Dictionary<string, string> ratios = run.Summary.Table.FullContent.ToDictionary(
            row => row[Array.IndexOf(header, "Job")], row => row[Array.IndexOf(header, "Ratio")]);
        Assert.Equal([JobBenchmarks.Few, JobBenchmarks.Many], ratios.Keys.Order());
        Assert.StartsWith("1.00", ratios[JobBenchmarks.Few], StringComparison.Ordinal);
        Assert.True(double.TryParse(ratios[JobBenchmarks.Many], CultureInfo.InvariantCulture, out _), ratios[JobBenchmarks.Many]);
    }

    // A call with a side effect: the list is as long as all calls of all stages were many, and nothing of the harness stops that.
    [Fact(Timeout = Limit)]
    public async Task SideEffect_OfACall_GrowsWithEveryStage()
    {
        using BenchmarkRun run = await BenchmarkRun.InProcessAsync(
            typeof(GrowingBenchmarks), "--invocationCount", "1600", "--unrollFactor", "16", "--warmupCount", "2", "--iterationCount", "3");

        run.AssertAllSucceeded();
        long calls = run.Summary.Reports[0].AllMeasurements
            .Where(static m => m.IterationMode == BenchmarkDotNet.Engines.IterationMode.Workload
                && m.IterationStage != BenchmarkDotNet.Engines.IterationStage.Result)
            .Sum(static m => m.Operations);
        Assert.InRange(GrowingBenchmarks.LastCount, 5 * 1_600, calls + 1);
    }

    [Theory(Timeout = Limit)]
    [InlineData("--counters BranchInstructions+BranchMispredictions --inProcess", "Unable to resolve IHardwareCountersDiagnoser")]
    [InlineData("--runtimes mono", "Mono is not installed or added to PATH")]
    public async Task Features_ThatLinuxLacks_AreRefusedWithBenchmarkDotNetsOwnMessage(string arguments, string message)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "What is missing differs by system.");
        using BenchmarkRun run = await BenchmarkRun.RunAsync(typeof(PlainBenchmarks), ["--filter", "*Allocate*", "--job", "dry", .. arguments.Split(' ')]);

        Assert.Contains(message, run.Log, StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit)]
    public async Task Exporters_All_WriteFilesWithTheWorkersFigures()
    {
        using BenchmarkRun run = await BenchmarkRun.InProcessAsync(
            typeof(PlainBenchmarks),
            "--filter", "*Allocate*", "--job", "dry", "--workers", "2",
            "--exporters", "github", "stackoverflow", "atlassian", "rplot", "xml", "fullxml", "briefjson", "csvmeasurements", "asciidoc", "plain");

        run.AssertAllSucceeded();
        foreach (string file in (string[])[
            "-report-github.md", "-report-stackoverflow.md", "-report-atlassian.md", "BuildPlots.R", "-measurements.csv", ".asciidoc", "-report.txt",
            "-report-brief.json"])
        {
            Assert.True(run.HasFileEndingWith(file), file);
        }

        Assert.Contains("P99.9", run.FileEndingWith("-report.html"), StringComparison.Ordinal);
        Assert.Contains(",Workers,", run.FileEndingWith("-report.csv"), StringComparison.Ordinal);
        Assert.Contains("In-flight", run.FileEndingWith("-report-github.md"), StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit)]
    public async Task Diagnosers_InProcess_CountMemoryAndExceptionsOfAllWorkers()
    {
        using BenchmarkRun run = await BenchmarkRun.InProcessAsync(
            typeof(PlainBenchmarks),
            "--job", "short", "--invocationCount", "4000", "--unrollFactor", "1", "--workers", "2", "--memory", "--exceptions");

        run.AssertAllSucceeded();

        // So many calls, and not what fits into a time: what is allocated beside them shows if they are few. The array's header has 24 bytes.
        Assert.Equal("1024 B", run.Cell("Allocate", 2, "Allocated"));
        Assert.Equal("1,024 B", run.Cell("Allocate", 2, "Allocated/op"));
        Assert.Equal("-", run.Cell("Locked", 2, "Allocated/op"));
        Assert.Equal("1.0000", run.Cell("Throwing", 2, "Exceptions"));
    }

    // Few operations, so that a single exception too many shows.
    [Fact(Timeout = Limit)]
    public async Task Exceptions_OfAFewOperations_AreTheirsAlone()
    {
        using BenchmarkRun run = await BenchmarkRun.InProcessAsync(
            typeof(PlainBenchmarks), "--filter", "*Throwing*", "--job", "dry", "--workers", "2", "--exceptions");

        run.AssertAllSucceeded();
        Assert.Equal("1.0000", run.Cell("Throwing", 2, "Exceptions"));
    }
}
