using System.Globalization;
using System.Text.Json;
using BenchmarkDotNet.Reports;
using Weir.Lab.Benchmarks.Building;
using Weir.Lab.Benchmarks.Expansion;
using Weir.Lab.Benchmarks.Reporting;
using Weir.Lab.Benchmarks.Results;
using Weir.Lab.Benchmarks.Running;
using Weir.Lab.Benchmarks.Tests.Samples;
using Weir.Lab.Benchmarks.Tests.Support;
using Weir.Lab.Benchmarks.Validation;

namespace Weir.Lab.Benchmarks.Tests;

/// <summary>What the lab adds: workers of every shape, their columns and exports, and the warnings.</summary>
public class WorkersTests
{
    private const int Limit = 300_000;

    [Fact(Timeout = Limit)]
    public async Task Shapes_OfAnyKind_RunUnderTheWorkersOfClassAndMethod()
    {
        using BenchmarkRun run = await BenchmarkRun.InProcessAsync(typeof(ShapeBenchmarks), "--job", "dry");

        run.AssertAllSucceeded();
        Dictionary<string, int[]> counts = run.Summary.BenchmarksCases
            .GroupBy(static b => b.Descriptor.WorkloadMethod.Name)
            .ToDictionary(static g => g.Key, static g => g.Select(static b => WorkersParameter.Of(b)!.Value).Distinct().Order().ToArray());
        Assert.Equal([3], counts["OfItsOwn"]);
        Assert.All(counts.Where(static c => c.Key != "OfItsOwn"), static c => Assert.Equal([1, 2], c.Value));
        Assert.Equal(9, counts.Count);
        foreach (BenchmarkReport report in run.Summary.Reports)
        {
            WorkersResult result = WorkersDiagnoser.Instance.ResultOf(report.BenchmarkCase)!;
            string method = report.BenchmarkCase.Descriptor.WorkloadMethod.Name;
            Assert.Equal(WorkersParameter.Of(report.BenchmarkCase), result.Workers);
            Assert.Equal(method.Contains("Task", StringComparison.Ordinal), result.IsAsync);
            Assert.Equal(result.Workers, result.Latency.Count);
        }
    }

    [Theory(Timeout = Limit)]
    [InlineData("--iterationTime", "20", "--warmupCount", "2", "--iterationCount", "3")]
    [InlineData("--invocationCount", "3", "--unrollFactor", "1", "--warmupCount", "2", "--iterationCount", "3")]
    [InlineData("--job", "dry")]
    public async Task Calls_ThatNeedEachOther_AreMeasured(params string[] job)
    {
        using BenchmarkRun run = await BenchmarkRun.InProcessAsync(typeof(MeetingBenchmarks), job);

        run.AssertAllSucceeded();
        Assert.Equal(2, run.Summary.BenchmarksCases.Length);
        Assert.All(run.Summary.BenchmarksCases, static b => Assert.Equal("1", WorkersDiagnoser.Instance.ResultOf(b)!.Returned));
    }

    [Fact(Timeout = Limit)]
    public async Task ExitCode_NoRowHasAResult_IsOne()
    {
        int before = Environment.ExitCode;
        try
        {
            Environment.ExitCode = 0;
            using BenchmarkRun some = await BenchmarkRun.InProcessAsync(typeof(PlainBenchmarks), "--filter", "*Locked*", "--job", "dry");
            using BenchmarkRun list = await BenchmarkRun.RunAsync(typeof(PlainBenchmarks), "--list", "flat");
            Assert.Equal(0, Environment.ExitCode);

            using BenchmarkRun none = await BenchmarkRun.InProcessAsync(typeof(FailingBenchmarks), "--job", "dry");
            Assert.Equal(1, Environment.ExitCode);
        }
        finally
        {
            Environment.ExitCode = before;
        }
    }

    // What the loop of an asynchronous worker itself needs when it first suspends is no part of the one call.
    [Theory(Timeout = Limit)]
    [InlineData(1)]
    [InlineData(4)]
    public async Task Figures_OfOneCall_HaveItsBytesAloneAndNoPercentileThatWasNotMeasured(int workers)
    {
        const int most = 1_200;
        double bytes = double.MaxValue;

        // A thread that the pool adds at this moment allocates too, and is counted. It adds none each time: until it did not, or the test's time is over.
        while (bytes > most && !TestContext.Current.CancellationToken.IsCancellationRequested)
        {
            using BenchmarkRun run = await BenchmarkRun.InProcessAsync(
                typeof(PlainBenchmarks), "--filter", "*KeptAcrossAwait*", "--job", "dry", "--workers", workers.ToString(CultureInfo.InvariantCulture));

            run.AssertAllSucceeded();
            bytes = WorkersDiagnoser.Instance.ResultOf(Assert.Single(run.Summary.BenchmarksCases))!.BytesPerOperation;
            Assert.Equal("-", run.Cell("KeptAcrossAwait", workers, "P99.9"));
            Assert.Equal("-", run.Cell("KeptAcrossAwait", workers, "P99"));
            Assert.False(run.Cell("KeptAcrossAwait", workers, "Max") is "-" or "NA");
        }

        // The array, and the state machine with its task.
        Assert.InRange(bytes, 1_024, most);
    }

    [Fact(Timeout = Limit)]
    public async Task Figures_OfARun_StandInTableAndJson()
    {
        using BenchmarkRun run = await BenchmarkRun.InProcessAsync(
            typeof(PlainBenchmarks), "--filter", "*Locked*", "--workers", "3", "--iterationTime", "20", "--warmupCount", "1", "--iterationCount", "3");

        run.AssertAllSucceeded();
        Assert.All(
            (string[])["Workers", "Op/s", "P50", "P99", "P99.9", "Max", "Allocated/op", "CPU", "Fairness", "In-flight"],
            column => Assert.False(run.Cell("Locked", 3, column) is "" or "NA" or "?", column));
        Assert.Equal("3", run.Cell("Locked", 3, "In-flight"));
        JsonElement benchmark = Assert.Single(run.Json().GetProperty("Benchmarks").EnumerateArray().ToArray());
        Assert.Equal("Workers=3", benchmark.GetProperty("Parameters").GetString());
        Dictionary<string, double> metrics = benchmark.GetProperty("Metrics").EnumerateArray()
            .ToDictionary(static m => m.GetProperty("Descriptor").GetProperty("Id").GetString()!, static m => m.GetProperty("Value").GetDouble());

        // A percentile is there if so many were timed, which a busy machine may not get to.
        long timed = WorkersDiagnoser.Instance.ResultOf(Assert.Single(run.Summary.BenchmarksCases))!.Latency.Count;
        int percentiles = ((int[])[2, 100, 1_000]).Count(least => least <= timed);
        Assert.Equal(6 + percentiles, metrics.Keys.Count(static k => k.StartsWith("Workers.", StringComparison.Ordinal)));
        Assert.True(metrics["Workers.Op/s"] > 0);
        Assert.InRange(metrics["Workers.P50"], 1, metrics["Workers.Max"]);

        // The time is that of one operation at the throughput of all workers. Both are of the middle window: one of the three may have been held up.
        double time = benchmark.GetProperty("Statistics").GetProperty("Median").GetDouble();
        Assert.InRange(time * metrics["Workers.Op/s"] / 1e9, 0.3, 3);
    }

    [Fact(Timeout = Limit)]
    public async Task Attribute_OnAMethodOnly_WorksWithTheLabAndFailsAloudWithout()
    {
        using BenchmarkRun lab = await BenchmarkRun.InProcessAsync(typeof(MethodOnlyBenchmarks), "--job", "dry");
        using BenchmarkRun alone = await BenchmarkRun.WithoutLabAsync(typeof(MethodOnlyBenchmarks));

        lab.AssertAllSucceeded();
        Assert.Equal("2", lab.Cell("WithWorkers", null, "Workers"));
        Assert.Equal("-", lab.Cell("Without", null, "P99"));
        Assert.Contains(
            "[Workers] of WithWorkers was not seen: give it to the class too, or run it with LabBenchmarks.Run", alone.Log, StringComparison.Ordinal);
        Assert.True(alone.Summary.Reports.Single(static r => r.BenchmarkCase.Descriptor.WorkloadMethod.Name == "Without").Success);
    }

    [Fact(Timeout = Limit)]
    public async Task Attribute_OnTheClass_WorksWithoutTheLabsSwitcher()
    {
        using BenchmarkRun run = await BenchmarkRun.WithoutLabAsync(typeof(SuspectBenchmarks));

        run.AssertAllSucceeded();
        Assert.All(run.Summary.BenchmarksCases, static b => Assert.Equal(2, WorkersParameter.Of(b)));
    }

    [Fact(Timeout = Limit, Explicit = true)]
    public async Task Scaling_OfSixNumbersOfWorkers_GetsAFitOrAReasonAgainstIt()
    {
        using BenchmarkRun run = await BenchmarkRun.InProcessAsync(
            typeof(PlainBenchmarks), "--filter", "*Locked*", "--job", "short", "--iterationTime", "10", "--workers", "1,2,3,4,5,6");

        run.AssertAllSucceeded();
        Assert.Matches(@"Scaling of PlainBenchmarks\.Locked ShortRun: (Linear|Amdahl|Universal|No fit)", run.Log);
    }

    [Fact(Timeout = Limit)]
    public async Task Suspects_Run_AreWarnedOf()
    {
        using BenchmarkRun run = await BenchmarkRun.InProcessAsync(typeof(SuspectBenchmarks), "--job", "dry");

        Assert.Contains("NinetyNine returns 99, but the baseline Hundred returns 100", run.Log, StringComparison.Ordinal);
        Assert.Contains("A call of TenAtOnce counts as 10 operations", run.Log, StringComparison.Ordinal);
        Assert.Contains("Dropped takes no notice of what Sqrt returns", run.Log, StringComparison.Ordinal);
        Assert.Contains("ShortDelay waits 2 ms with Task.Delay", run.Log, StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit)]
    public async Task SharedState_OfEqualWork_IsNotWarnedOf()
    {
        using BenchmarkRun run = await BenchmarkRun.InProcessAsync(typeof(SharedStateBenchmarks), "--job", "dry", "--workers", "1,2");

        run.AssertAllSucceeded();
        Assert.DoesNotContain("unequal work", run.Log, StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit)]
    public async Task Workers_MoreThanProcessorsOrThreads_AreWarnedOfOrRefused()
    {
        string more = $"{Environment.ProcessorCount + 1}";
        using BenchmarkRun some = await BenchmarkRun.InProcessAsync(typeof(PlainBenchmarks), "--filter", "*Locked*", "--job", "dry", "--workers", more);
        using BenchmarkRun many = await BenchmarkRun.InProcessAsync(typeof(PlainBenchmarks), "--filter", "*Locked*", "--job", "dry", "--workers", "20000");

        some.AssertAllSucceeded();
        Assert.Contains($"only {Environment.ProcessorCount} run at once here", some.Log, StringComparison.Ordinal);
        Assert.True(many.Summary.HasCriticalValidationErrors);
        Assert.Contains("needs as many threads; more than 10000 are not run", many.Log, StringComparison.Ordinal);
    }

    [Fact]
    public void MethodBody_OfWhatIsFine_HasNoWarnings() =>
        Assert.All(
            typeof(PlainBenchmarks).GetMethods().Where(static m => m.DeclaringType == typeof(PlainBenchmarks)),
            static m => Assert.Empty(MethodBodyValidator.Warnings(m)));

    [Theory]
    [InlineData("--workers 1,2,8 --filter *", "--filter *", "1 2 8")]
    [InlineData("--filter * --workers 1 2 8", "--filter *", "1 2 8")]
    [InlineData("-r net9.0 net10.0", "-r net9.0 net10.0", null)]
    public void Arguments_OfTheLab_AreTakenOut(string given, string remaining, string? workers)
    {
        LabArguments arguments = LabArguments.Parse(given.Split(' '));

        Assert.Equal(remaining, string.Join(' ', arguments.Remaining));
        Assert.Equal(workers, arguments.Workers is null ? null : string.Join(' ', arguments.Workers));
    }

    [Theory]
    [InlineData("--workers")]
    [InlineData("--workers 0")]
    [InlineData("--workers 1,x")]
    [InlineData("--workers -3")]
    public void Arguments_NoNumbers_AreRefusedWithTheRange(string given) => Assert.StartsWith(
        "--workers takes numbers from 1 to 100000",
        Assert.Throws<ArgumentException>(() => LabArguments.Parse(given.Split(' '))).Message,
        StringComparison.Ordinal);

    [Fact]
    public void Attribute_NoOrWrongNumbers_Throws()
    {
        Assert.Throws<ArgumentException>(static () => new WorkersAttribute());
        Assert.Throws<ArgumentException>(static () => new WorkersAttribute(1, 0));
        Assert.Equal([1, 8], new WorkersAttribute(1, 8, 1).Counts);
    }

    [Theory]
    [InlineData(41, "41 ns")]
    [InlineData(1_500, "1.5 us")]
    [InlineData(4_340_000, "4.34 ms")]
    [InlineData(2e9, "2 s")]
    public void Time_Nanoseconds_HasTheUnitThatSuitsIt(double nanoseconds, string text) => Assert.Equal(text, FigureFormat.Time(nanoseconds));

    [Fact(Timeout = Limit, Explicit = true)]
    public async Task OutOfProcess_OnNet10_AllDiagnosersWork()
    {
        using BenchmarkRun run = await BenchmarkRun.RunAsync(
            typeof(PlainBenchmarks),
            "--filter", "*Locked*", "--runtimes", "net10.0", "--job", "dry", "--workers", "2",
            "--memory", "--threading", "--exceptions", "--disasm", "--profiler", "EP");

        run.AssertAllSucceeded();
        Assert.Same(LabToolchain.Instance, Assert.Single(run.Summary.BenchmarksCases).Job.Infrastructure.Toolchain);
        Assert.Equal(2, WorkersDiagnoser.Instance.ResultOf(run.Summary.BenchmarksCases[0])!.Workers);
        Assert.All(
            (string[])["Completed Work Items", "Lock Contentions", "Exceptions", "Allocated"],
            column => Assert.Contains(column, run.Summary.Table.FullHeader));
        Assert.Contains("Locked", run.FileEndingWith("-asm.md"), StringComparison.Ordinal);
        Assert.True(run.HasFileEndingWith(".speedscope.json"), run.Log);
    }

    [Fact(Timeout = Limit, Explicit = true)]
    public async Task OutOfProcess_WithAnEnvironment_ItsProcessHasItAndTheFilesStay()
    {
        using BenchmarkRun run = await BenchmarkRun.RunAsync(
            typeof(EnvironmentBenchmarks),
            "--filter", "*", "--job", "dry", "--workers", "1", "--keepFiles", "--affinity", "1", "--envVars", $"{EnvironmentBenchmarks.Variable}:given");

        // The benchmark itself fails when its process lacks something.
        run.AssertAllSucceeded();
        string files = Assert.Single(run.Summary.Reports).GenerateResult.ArtifactsPaths.BuildArtifactsDirectoryPath;
        Assert.True(Directory.Exists(files), files);
        Directory.Delete(files, recursive: true);
    }

    [Fact(Timeout = Limit, Explicit = true)]
    public async Task OutOfProcess_WithKnobsOfTheCollector_ItsProcessHasThem()
    {
        Assert.SkipWhen(Environment.ProcessorCount < 2, "The server's collector needs two processors.");
        using BenchmarkRun run = await BenchmarkRun.RunAsync(
            typeof(CollectorBenchmarks),
            "--filter", "*", "--job", "dry",
            "--envVars", "DOTNET_gcServer:1", "DOTNET_GCHeapCount:2", "DOTNET_GCRetainVM:1", "DOTNET_GCNoAffinitize:1",
            "DOTNET_GCHeapAffinitizeMask:3");

        // The benchmark itself fails where the collector is another.
        run.AssertAllSucceeded();
    }
}
