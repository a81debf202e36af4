using Weir.Cli.Tests.Support;
using Weir.Lab.Results;
using Weir.Lab.Statistics;

namespace Weir.Cli.Tests.Commands.Gate;

public class GateTests
{
    [Theory(Timeout = 300_000)]
    [InlineData(72, 96, 2, "allocates MORE than")]
    [InlineData(72, 72, 0, "is EQUIVALENT to")]
    [InlineData(96, 72, 0, "allocates LESS than")]
    public async Task Gate_OfReportsOfBenchmarkDotNet_DecidesByTheirBytes(int before, int after, int code, string said)
    {
        using TemporaryDirectory directory = new();
        await File.WriteAllTextAsync(directory.File("a-report-full.json"), Report(before, 100), TestContext.Current.CancellationToken);
        await File.WriteAllTextAsync(directory.File("b-report-full.json"), Report(after, 150), TestContext.Current.CancellationToken);

        LoadResult ran = await new CliUnderTest().RunAsync(
            $"gate {directory.File("a-report-full.json")} {directory.File("b-report-full.json")} --summary {directory.File("summary.md")}");

        Assert.True(ran.ExitCode == code, ran.Out + ran.Error);
        Assert.Contains($"b-report-full: My.Code.Parse(n: 4) x 1 {said} a-report-full: My.Code.Parse(n: 4) x 1: {after} B an operation against "
            + $"{before} [exact]", ran.Out, StringComparison.Ordinal);

        // Half as long again, and no verdict: who knows what else ran.
        Assert.Contains("is INCONCLUSIVE against", ran.Out, StringComparison.Ordinal);
        Assert.Contains("a-report-full does not say what else ran on the machine", ran.Out, StringComparison.Ordinal);
        string summary = await File.ReadAllTextAsync(directory.File("summary.md"), TestContext.Current.CancellationToken);
        Assert.Contains("| bytes |", summary, StringComparison.Ordinal);
    }

    [Theory(Timeout = 300_000)]
    [InlineData(101, 4096)]
    [InlineData(104, 16)]
    public async Task Gate_OfReportsWhoseBytesAreNoWholeObjectsOrOfFewCalls_FailsNobody(int after, int operations)
    {
        using TemporaryDirectory directory = new();
        await File.WriteAllTextAsync(directory.File("a.json"), Report(96, 100, operations), TestContext.Current.CancellationToken);
        await File.WriteAllTextAsync(directory.File("b.json"), Report(after, 100, operations), TestContext.Current.CancellationToken);

        LoadResult ran = await new CliUnderTest().RunAsync($"gate {directory.File("a.json")} {directory.File("b.json")} --figures bytes");

        Assert.True(ran.ExitCode == 0, ran.Out + ran.Error);
        Assert.Contains("is INCONCLUSIVE against", ran.Out, StringComparison.Ordinal);
    }

    [Theory(Timeout = 300_000)]
    [InlineData(""", "Metrics": [{ "Value": 1000.1, "Descriptor": { "Id": "Workers.Allocated/op" } }]""", "allocates MORE than")]
    [InlineData("", "A report of BenchmarkDotNet has no bytes, which are all that can be compared: add [MemoryDiagnoser], or --memory.")]
    public async Task Gate_OfReportsWithoutTheMemoryDiagnoser_TakesTheBytesOfWorkersOrSaysWhatIsMissing(string metrics, string said)
    {
        using TemporaryDirectory directory = new();
        string with = Report(0, 100).Replace(""", "Memory": {""", metrics + """, "Other": {""", StringComparison.Ordinal);
        await File.WriteAllTextAsync(
            directory.File("a.json"), with.Replace("1000.1", "976.1", StringComparison.Ordinal), TestContext.Current.CancellationToken);
        await File.WriteAllTextAsync(directory.File("b.json"), with, TestContext.Current.CancellationToken);

        LoadResult ran = await new CliUnderTest().RunAsync($"gate {directory.File("a.json")} {directory.File("b.json")}");

        Assert.Equal(metrics.Length > 0 ? 2 : 0, ran.ExitCode);
        Assert.Contains(said, ran.Out, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task Gate_OfAReportWithoutMeasurements_SaysWhichOneIsNeeded()
    {
        using TemporaryDirectory directory = new();
        await File.WriteAllTextAsync(directory.File("a.json"), """{ "HostEnvironmentInfo": {}, "Benchmarks": [{ "FullName": "A" }] }""",
            TestContext.Current.CancellationToken);

        LoadResult ran = await new CliUnderTest().RunAsync($"gate {directory.File("a.json")} {directory.File("a.json")}");

        Assert.Equal(1, ran.ExitCode);
        Assert.Contains("has no measurements: the report must be a full one of BenchmarkDotNet", ran.Error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("gate yield", "gate needs two things: A and B, several methods")]
    [InlineData("gate yield yield --within 1s", "--within must be a time from 3 s to ")]
    [InlineData("gate yield yield --across grain", "--across is for two stored results")]
    public async Task Gate_OfBadInput_IsOneClearLine(string arguments, string message)
    {
        LoadResult ran = await new CliUnderTest().RunAsync(arguments);

        Assert.Equal(1, ran.ExitCode);
        Assert.StartsWith($"weir: {message}", ran.Error, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task Gate_OfTwoWorkloads_NeverFailsForTheSame()
    {
        LoadResult ran = await new CliUnderTest().RunAsync("gate yield yield --rounds 4 --duration 20ms --within 3s --quiet --json");

        ResultFile result = ResultJson.Parse(ran.Out, "output");
        Assert.Equal("gate", result.Command);
        Assert.DoesNotContain(result.Comparisons, static c => c.IsWorse);

        // On a busy machine all rounds of a side may be left out. Then there is nothing to compare, which is no pass.
        Assert.True(
            result.Comparisons.Any(static c => c.Figure == ComparedFigure.Rate) || (result.Has(FindingLevel.Invalid) && ran.ExitCode == 3),
            $"{ran.ExitCode}: {string.Join('\n', result.Findings)}");
    }

    private static string Report(int bytes, double nanoseconds, int operations = 4096)
    {
        string Measurement(string mode, string stage, int index) => $$"""
            { "IterationMode": "{{mode}}", "IterationStage": "{{stage}}", "LaunchIndex": 1, "IterationIndex": {{index}}, "Operations": {{operations}},
              "Nanoseconds": {{nanoseconds * operations}} }
            """;
        return $$"""
            {
              "Title": "My.Code-20260102-030405",
              "HostEnvironmentInfo": { "ProcessorName": "A processor", "LogicalCoreCount": 2, "OsVersion": "Linux", "RuntimeVersion": ".NET 10.0" },
              "Benchmarks": [{
                "DisplayInfo": "Code.Parse: DefaultJob [n=4]",
                "FullName": "My.Code.Parse(n: 4)", "Memory": { "BytesAllocatedPerOperation": {{bytes}}, "TotalOperations": {{operations}} },
                "Measurements": [
                  {{Measurement("Overhead", "Result", 1)}}, {{Measurement("Workload", "Warmup", 1)}},
                  {{Measurement("Workload", "Result", 1)}}, {{Measurement("Workload", "Result", 2)}}, {{Measurement("Workload", "Result", 3)}}
                ]
              }]
            }
            """;
    }
}
