using System.Globalization;
using System.Text.RegularExpressions;
using Weir.Cli.Tests.Support;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Commands.Load;

public class LoadTextTests
{
    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Load_NoOptions_Runs500000NoOpItemsThroughAllRuntimes()
    {
        LoadResult result = await CliUnderTest.LoadAsync("--details");

        Assert.Equal(0, result.ExitCode);
        Assert.Contains(result.Lines, static line => line.StartsWith("weir load ", StringComparison.Ordinal));
        Assert.Equal("500,000", result.Value("count"));
        Assert.Equal("500,000", result.Value("batch_size"));
        Assert.Equal("100", result.Value("cdc_concurrency"));
        Assert.Equal(Math.Max(1, Environment.ProcessorCount - 1).ToString(CultureInfo.InvariantCulture), result.Value("cdc_parallel_size"));
        Assert.Equal("none", result.Value("timeout"));
        Assert.Equal("true", result.Value("preserve_order"));
        Assert.Equal("10,000", result.Value("warmup"));
        Assert.Equal("15", result.Value("trials"));
        Assert.Equal("noop", result.Value("workload"));
        Assert.Equal(["all", "direct", "concurrent", "parallel", "auto"], result.Values("runtime"));
        Assert.Equal(["500,000", "500,000", "500,000", "500,000"], result.Values("processed"));
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_OneRuntime_PrintsTheLinesOfTheReferenceInItsForm()
    {
        LoadResult result = await CliUnderTest.LoadAsync("--runtime direct --count 20000 --batch-size 1000");

        Assert.Equal("20,000", result.Value("processed"));
        Assert.Matches(@"^\d+\.\d{6} sec$", result.Value("elapsed"));
        Assert.Matches(@"^\d{1,3}(,\d{3})* items/sec$", result.Value("throughput"));
        Assert.Matches(@"^[\d,]+(\.\d+)?$", result.Value("gc_count"));
        Assert.Equal("direct", result.Value("runtime"));
        int processed = Array.FindIndex(result.Lines, static line => line.StartsWith("processed=", StringComparison.Ordinal));
        string[] keys = [.. result.Lines.Skip(processed).Take(4).Select(static line => line.Split('=')[0])];
        Assert.Equal(["processed", "elapsed", "throughput", "gc_count"], keys);
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_Elapsed_IsTheTimeOfTheCountAtTheThroughput()
    {
        LoadResult result = await CliUnderTest.LoadAsync("--runtime direct --count 2000000 --trials 1 --json");

        Assert.Equal(1, result.Figures["direct"]!.ElapsedSeconds * result.Figures["direct"]!.ThroughputPerSecond / 2_000_000, 3);
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_Table_HasARowForEachRuntimeAndNoColour()
    {
        LoadResult result = await CliUnderTest.LoadAsync("--count 1000 --details");

        string header = Assert.Single(
            result.Lines, static line => line.Contains("items/s ", StringComparison.Ordinal) && line.Contains("ns/item", StringComparison.Ordinal));
        string[] columns = ["arm", "items/s", "[min..max]", "ns/item", "above direct", "B/item", "CPU s/M", "GC 0/1/2 per M"];
        Assert.All(columns, column => Assert.Contains(column, header, StringComparison.Ordinal));
        Assert.DoesNotContain("x loop", result.Out, StringComparison.Ordinal);
        foreach (string runtime in (string[])["direct", "concurrent", "parallel", "auto"])
        {
            string row = Assert.Single(result.Lines, line => IsRow(line, runtime));
            Assert.Matches(@"\[[\d.]+\.\.[\d.]+( [kMG])?\]", row);
        }

        Assert.DoesNotContain('\u001b', result.Out);
        Assert.All(result.Lines, static line => Assert.Equal(line.TrimEnd(), line));
        Assert.Matches(@"^[\d.]+ [MG]B$", result.Value("peak_rss"));
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Load_Progress_GoesToTheErrorOutputAsPlainLines()
    {
        LoadResult result = await CliUnderTest.LoadAsync("--count 1000 --trials 2");

        Assert.Contains("warming up", result.Error, StringComparison.Ordinal);
        Assert.Matches(@"round 1 of 2: direct [\d.]+ [kMG]/s, concurrent [\d.]+ [kMG]/s, parallel [\d.]+ [kMG]/s, auto", result.Error);
        Assert.Matches(@"round 2 of 2: auto .*, parallel .*, concurrent .*, direct", result.Error);
        Assert.DoesNotContain('\u001b', result.Error);
        Assert.DoesNotContain("round 1 of", result.Out, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_Terminal_DrawsTheBarOnTheErrorOutputOnly()
    {
        LoadResult result = await new CliUnderTest { IsTerminal = true }.RunAsync("load --count 1000 --trials 2 --runtime direct --json");

        Assert.Equal(0, result.ExitCode);

        // Colours depend on the environment of the test run.
        string error = Regex.Replace(result.Error, @"\e\[[0-9;?]*[a-zA-Z]", "");

        // What is drawn first: each second, the bar is drawn too, and then there may be no step yet.
        Assert.Matches("(starting|warming up direct): 0%", error);
        Assert.DoesNotMatch(@"direct [\d.]+ ?[kMG]?/s", error);
        Assert.Equal("direct", result.File.Settings["runtime"]);
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_Peers_AddsThemWithRatios()
    {
        LoadResult result = await CliUnderTest.LoadAsync("--count 2000 --batch-size 300 --peers --trials 2 --details");

        Assert.Equal(0, result.ExitCode);
        Assert.Contains(
            result.Lines, static line => line.Contains("x loop", StringComparison.Ordinal) && line.EndsWith("x ForEachAsync", StringComparison.Ordinal));
        string[] peers = ["loop", "Parallel.ForEachAsync", "channel + workers", "ActionBlock", "Weir ActionBlock", "WhenAll + semaphore"];
        Assert.All(peers, peer => Assert.Single(result.Lines, line => IsRow(line, peer)));

        // The lines of key and value are for runtimes.
        Assert.Equal(4, result.Values("processed").Length);
        Assert.Equal(Environment.ProcessorCount.ToString(CultureInfo.InvariantCulture), result.Value("peer_degree"));
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_Auto_PrintsItsDecisionsWithTheirReasons()
    {
        LoadResult result = await CliUnderTest.LoadAsync("--runtime auto --workload io --count 200 --trials 1 --details");

        Assert.Equal("auto", result.Value("runtime"));
        string[] decisions = result.Values("decision");
        Assert.Contains(decisions, static line => line.StartsWith("first call, ", StringComparison.Ordinal));
        Assert.Contains(decisions, static line => line.StartsWith("last call, ", StringComparison.Ordinal));
        Assert.All(decisions, static line => Assert.Matches(@"^(first|last) call, [\d.,]+ ms, [\d,]+ items: .+, threads \d+, in flight \d+: .+$", line));

        // Where to depends on the machine: a wait that ends while its thread is held up looks like one that holds the thread.
        Assert.Contains(decisions, static line => line.Contains("probe -> ", StringComparison.Ordinal));

        LoadResult json = await CliUnderTest.LoadAsync("--runtime auto --workload io --count 200 --trials 1 --json");
        DecisionRecord first = json.File.Arms[0].Decisions[0];
        Assert.Equal(("first", "probe"), (first.Call, first.From));
        Assert.True(first.InFlight >= 1);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Load_Sweep_MeasuresEachSizeAndDirectOnce()
    {
        LoadResult result = await CliUnderTest.LoadAsync("--count 1000 --sweep 1,3 --trials 1 --details");

        Assert.Equal("1,3", result.Value("sweep"));
        Assert.Equal(["all", "direct", "concurrent/1", "concurrent/3", "parallel/1", "parallel/3", "auto"], result.Values("runtime"));
    }

    [Fact(Timeout = 300_000)]
    public async Task Help_Load_ListsEveryOptionWithItsVariable()
    {
        LoadResult result = await CliUnderTest.LoadAsync("--help-all");

        Assert.Equal(0, result.ExitCode);
        Assert.Contains("weir load [options]", result.Out, StringComparison.Ordinal);
        string[] names =
        [
            "--count", "--batch-size", "--runtime", "--concurrency", "--parallel-size", "--timeout", "--preserve-order", "--warmup", "--json",
            "--trials", "--workload", "--grain", "--fail-rate", "--sweep", "--input", "--peers",
            "[COUNT]", "[BATCH_SIZE]", "[RUNTIME]", "[CDC_CONCURRENCY]", "[CDC_PARALLEL_SIZE]", "[CDC_TIMEOUT]", "[PRESERVE_ORDER]", "[WARMUP]", "[JSON]",
        ];
        Assert.All(names, name => Assert.Contains(name, result.Out, StringComparison.Ordinal));
    }

    [Fact(Timeout = 300_000)]
    public async Task Run_NoCommand_PrintsHelp()
    {
        LoadResult result = await new CliUnderTest().RunAsync("");

        Assert.Equal(0, result.ExitCode);
        Assert.Contains("'weir VERB --help'", result.Out, StringComparison.Ordinal);
    }

    // Its row in the table of items; the table of comparisons has no brackets.
    private static bool IsRow(string line, string arm) =>
        line.StartsWith($"  {arm} ", StringComparison.Ordinal) && line.Contains('[', StringComparison.Ordinal);
}
