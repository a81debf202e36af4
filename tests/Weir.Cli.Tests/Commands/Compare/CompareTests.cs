using System.Diagnostics;
using Weir.Cli.Commands.Compare;
using Weir.Cli.Kit.Hosting;
using Weir.Cli.Tests.Report.Page;
using Weir.Cli.Tests.Support;
using Weir.Lab.Results;
using Weir.Lab.Statistics;
using Weir.Lab.Suites;

namespace Weir.Cli.Tests.Commands.Compare;

public class CompareTests
{
    [Theory(Timeout = 300_000)]
    [InlineData(1.0, Verdict.Equivalent, 0)]
    [InlineData(0.8, Verdict.Slower, 2)]
    [InlineData(1.3, Verdict.Faster, 0)]
    public async Task Compare_TwoFiles_GivesVerdictAndExitCode(double factor, Verdict verdict, int code)
    {
        using TemporaryDirectory directory = new();
        Write(directory.File("a.json"), 1);
        Write(directory.File("b.json"), factor);

        LoadResult result = await new CliUnderTest().RunAsync($"compare {directory.File("a.json")} {directory.File("b.json")} --json --quiet");

        Assert.Equal(code, result.ExitCode);
        ComparisonRecord comparison = Assert.Single(ResultJson.Parse(result.Out, "output").Comparisons);
        Assert.Equal(verdict, comparison.Verdict);
        Assert.InRange(comparison.Ratio, factor * 0.98, factor * 1.02);
        Assert.Equal(("b: work x 4", "a: work x 4"), (comparison.Arm, comparison.Against));
    }

    [Fact(Timeout = 300_000)]
    public async Task Compare_TooFewRounds_IsInconclusiveAndFailsWhenStrict()
    {
        using TemporaryDirectory directory = new();
        Write(directory.File("a.json"), 1, rounds: 3);
        Write(directory.File("b.json"), 0.8, rounds: 3);
        string arguments = $"compare {directory.File("a.json")} {directory.File("b.json")}";

        LoadResult loose = await new CliUnderTest().RunAsync(arguments);
        LoadResult strict = await new CliUnderTest().RunAsync(arguments + " --strict");

        Assert.Equal((0, 4), (loose.ExitCode, strict.ExitCode));
        Assert.Contains("b: work x 4 is INCONCLUSIVE against a: work x 4", loose.Out, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task Compare_WiderMargin_LetsADifferencePass()
    {
        using TemporaryDirectory directory = new();
        Write(directory.File("a.json"), 1);
        Write(directory.File("b.json"), 0.95);
        string arguments = $"compare {directory.File("a.json")} {directory.File("b.json")}";

        Assert.Equal(2, (await new CliUnderTest().RunAsync(arguments)).ExitCode);
        Assert.Equal(0, (await new CliUnderTest().RunAsync(arguments + " --margin 10%")).ExitCode);
    }

    [Fact(Timeout = 300_000)]
    public async Task NamedResult_SavedListedAndChecked_FindsTheRegression()
    {
        using TemporaryDirectory directory = new();
        string store = directory.File("store");
        Write(directory.File("a.json"), 1);
        Write(directory.File("b.json"), 0.9);

        LoadResult save = await new CliUnderTest().RunAsync($"history save main {directory.File("a.json")} --dir {store}");
        LoadResult list = await new CliUnderTest().RunAsync($"history list --dir {store}");
        LoadResult same = await new CliUnderTest().RunAsync($"history check main {directory.File("a.json")} --dir {store} --quiet");
        LoadResult slower = await new CliUnderTest().RunAsync(
            $"history check main {directory.File("b.json")} --dir {store} --quiet --annotate --summary {directory.File("summary.md")}");
        LoadResult allowed = await new CliUnderTest().RunAsync($"history check main {directory.File("b.json")} --dir {store} --quiet --max-regression 20%");
        LoadResult listed = await new CliUnderTest().RunAsync($"history list --dir {store} --json");
        LoadResult byName = await new CliUnderTest().RunAsync($"compare @main {directory.File("b.json")} --dir {store}");

        Assert.Equal([0, 0, 0, 2, 0, 2], new[] { save, list, same, slower, allowed, byName }.Select(static r => r.ExitCode));
        Assert.Matches("main +2026-01-02 03:04:05 .* scale ", list.Out);
        Assert.Equal(("main", "scale"), (listed.Json[0].GetProperty("name").GetString(), listed.Json[0].GetProperty("command").GetString()));
        Assert.Contains("now: work x 4 is SLOWER than @main: work x 4", slower.Out, StringComparison.Ordinal);
        Assert.Contains("::error title=now%3A work x 4 is SLOWER", slower.Error, StringComparison.Ordinal);
        Assert.Contains(
            "| SLOWER | now: work ",
            await File.ReadAllTextAsync(directory.File("summary.md"), TestContext.Current.CancellationToken), StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task HistorySave_PartialResult_IsRefused()
    {
        using TemporaryDirectory directory = new();
        await File.WriteAllTextAsync(directory.File("a.json"), ResultJson.Write(SampleResults.Invalid()), TestContext.Current.CancellationToken);

        LoadResult result = await new CliUnderTest().RunAsync($"history save main {directory.File("a.json")} --dir {directory.Path}");

        Assert.Equal(1, result.ExitCode);
        Assert.Contains("is partial.", result.Error, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task HistoryCheck_WithoutAFile_MeasuresAgain()
    {
        using TemporaryDirectory directory = new();
        LoadResult first = await new CliUnderTest().RunAsync($"run yield --workers 2 --rounds 2 --duration 20ms --quiet --export json --out {directory.Path}");
        Assert.Contains(first.ExitCode, new[] { 0, 3 });
        ResultFile measured = ResultJson.Read(directory.File("weir-run.json"));
        await File.WriteAllTextAsync(directory.File("clean.json"), ResultJson.Write(measured with { Findings = [] }), TestContext.Current.CancellationToken);
        await new CliUnderTest().RunAsync($"history save y {directory.File("clean.json")} --dir {directory.File("store")}");

        LoadResult result = await new CliUnderTest().RunAsync($"history check y --dir {directory.File("store")} --quiet --json");

        Assert.Contains(result.ExitCode, new[] { 0, 2, 3 });
        ResultFile compared = ResultJson.Parse(result.Out, "output");
        Assert.Equal(["@y: yield", "now: yield"], compared.Arms.Select(static a => a.Name));
        Assert.NotEqual(measured.Arms[0].Rounds[0].Operations, compared.Arms[1].Rounds[0].Operations);
    }

    [Theory(Timeout = 300_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData(null)]
    [InlineData("[1/5000]")]
    public async Task HistoryCheck_IsStopped_EndsAsInterrupted(string? stopsAt)
    {
        using TemporaryDirectory directory = new();
        ResultFile before = Result(1) with
        {
            Command = "run", Arguments = [.. "run yield --workers 4 --rounds 5000 --duration 20ms".Split(' ')], Settings = new Dictionary<string, string>(),
        };
        await File.WriteAllTextAsync(directory.File("a.json"), ResultJson.Write(before), TestContext.Current.CancellationToken);
        await new CliUnderTest().RunAsync($"history save y {directory.File("a.json")} --dir {directory.File("store")}");
        CliUnderTest cli = new() { UseProcesses = true, StopsAt = stopsAt, Stop = new CancellationToken(stopsAt is null) };

        LoadResult result = await cli.RunAsync($"history check y --dir {directory.File("store")} --across duration,isolate,rounds,seed,knobs");

        Assert.True(result.ExitCode == 130, result.Error);
        Assert.Contains("weir: stopped", result.Error, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Compare_TwoWorkloads_AreMeasuredInTurns()
    {
        LoadResult result = await new CliUnderTest().RunAsync("compare yield yield --rounds 4 --duration 20ms --quiet --json");

        ResultFile compared = ResultJson.Parse(result.Out, "output");
        string[] order = [.. compared.Arms.SelectMany(static a => a.Rounds, static (a, r) => (a.Name, r.Order))
            .OrderBy(static x => x.Order)
            .Select(static x => x.Name[..1])];
        Assert.Equal(["A", "B", "B", "A", "B", "A", "A", "B"], order);
    }

    [Fact(Timeout = 300_000)]
    public async Task Compare_TwoWorkloads_AreMeasuredByProcessesThatStay()
    {
        LoadResult result =
            await new CliUnderTest { UseProcesses = true }.RunAsync("compare yield yield --rounds 8 --processes 2 --duration 20ms --within 90s --json");

        ResultFile compared = ResultJson.Parse(result.Out, "output");
        Assert.All(compared.Arms, static a => Assert.Equal([1, 2], a.Rounds.Select(static r => r.Process!.Value).Distinct().Order()));
        int rounds = compared.Arms[0].Rounds.Count;
        Assert.Contains(rounds, new[] { 4, 8 });
        Assert.Equal(rounds, compared.Arms[1].Rounds.Count);
        Assert.Equal(Enumerable.Range(1, 2 * rounds), compared.Arms.SelectMany(static a => a.Rounds).Select(static r => r.Order).Order());

        // On a busy machine code is still being compiled in every round, and none of them counts.
        ComparisonRecord[] rates = [.. compared.Comparisons.Where(static c => c.Figure == ComparedFigure.Rate)];
        Assert.All(rates, static c => Assert.InRange(c.Pairs!.Value, 0, 2));
        Assert.All(rates, static c => Assert.InRange(c.Looks!.Value, 1, 3));
        Assert.Contains($"[1/{4 * 2 * 2}] A: yield x ", result.Error, StringComparison.Ordinal);
    }

    [Theory(Timeout = 300_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData("warming", "stopped before anything was measured")]
    [InlineData("[3/", "stopped; the completed part is reported as partial")]
    public async Task Compare_IsStopped_EndsAsInterrupted(string stopsAt, string said)
    {
        CliUnderTest cli = new() { UseProcesses = true, StopsAt = stopsAt == "warming" ? null : stopsAt, Stop = new CancellationToken(stopsAt == "warming") };

        LoadResult result = await cli.RunAsync("compare yield yield --rounds 1000 --processes 2 --duration 20ms --within 10min");

        Assert.True(result.ExitCode == 130, result.Error);
        Assert.Contains(said, result.Error, StringComparison.Ordinal);
    }

    // The first pairs never become warm; whatever is asked for, they get ten seconds.
    [Fact(Timeout = 100_000, Explicit = true)]
    public async Task Compare_ProcessesThatAreSlowToStart_KeepsWithin()
    {
        const string methods = "PlantedWaits.SleepsForMinutes,PlantedWaits.SleepsForMinutesToo";
        long start = Stopwatch.GetTimestamp();

        LoadResult result = await new CliUnderTest { UseProcesses = true }.RunAsync(
            $"compare --assembly {typeof(PlantedWaits).Assembly.Location} --method {methods} --within 5s --timeout 100s --quiet");

        Assert.True(Stopwatch.GetElapsedTime(start) < TimeSpan.FromSeconds(30), result.Out + result.Error);
        Assert.Contains(
            "The time was up before 2 pairs of processes had ended; --within gives them more.", result.Out + result.Error, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task Compare_OneMoreObjectInOneRound_IsMoreAndFails()
    {
        using TemporaryDirectory directory = new();
        ResultFile Of(long bytes) => Result(1, rounds: 1) is var r ? r with
        {
            Arms = [r.Arms[0] with { Rounds = [r.Arms[0].Rounds[0] with { Operations = 1_000_000, AllocatedBytes = bytes * 1_000_000, CanaryVariation = 2 }] }],
        } : r;
        await File.WriteAllTextAsync(directory.File("a.json"), ResultJson.Write(Of(72)), TestContext.Current.CancellationToken);
        await File.WriteAllTextAsync(directory.File("b.json"), ResultJson.Write(Of(96)), TestContext.Current.CancellationToken);
        string arguments = $"compare {directory.File("a.json")} {directory.File("b.json")}";

        LoadResult both = await new CliUnderTest().RunAsync(arguments);
        LoadResult rate = await new CliUnderTest().RunAsync(arguments + " --figures rate");
        await new CliUnderTest().RunAsync($"history save main {directory.File("a.json")} --dir {directory.File("store")}");
        LoadResult check = await new CliUnderTest().RunAsync($"history check main {directory.File("b.json")} --dir {directory.File("store")}");

        Assert.Equal((2, 0, 2), (both.ExitCode, rate.ExitCode, check.ExitCode));
        Assert.Contains("b: work x 4 allocates MORE than a: work x 4: 96 B an operation against 72 [exact]", both.Out, StringComparison.Ordinal);
        Assert.Contains("other programs were running when a was measured", both.Out, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task Compare_OfAnUnknownFigure_NamesThem()
    {
        LoadResult result = await new CliUnderTest().RunAsync("compare yield yield --figures rate,p95");

        Assert.Equal((1, "weir: --figures must be one or more of rate, bytes, p25, p50, p90 and p99; it is 'rate,p95'.\n"), (result.ExitCode, result.Error));
    }

    [Theory]
    [InlineData("--processes 1", "--processes must be a whole number from 2 to 64; it is '1'.")]
    [InlineData("--within 10ms", "--within must be a time from 1 s to ")]
    public async Task Compare_BadPlan_IsOneClearLine(string arguments, string message)
    {
        LoadResult result = await new CliUnderTest().RunAsync($"compare yield yield {arguments}");

        Assert.Equal(1, result.ExitCode);
        Assert.StartsWith($"weir: {message}", result.Error, StringComparison.Ordinal);
    }

    [Fact]
    public void Compare_OtherMachine_IsADoubt()
    {
        ResultFile a = Result(1);
        ResultFile compared = ResultComparing.Compare(("a", a), ("b", a with { Machine = a.Machine with { Hash = "other" } }), new ComparisonOptions(), [], []);

        Assert.Contains(compared.Findings,
            static f => f.Level == FindingLevel.Doubt && f.Text.Contains("different environments (abc123 and other)", StringComparison.Ordinal));
    }

    [Fact]
    public void Compare_SettingsDiffer_IsRefusedUnlessAskedFor()
    {
        ResultFile a = Result(1) with { Settings = new Dictionary<string, string> { ["rounds"] = "10", ["rate"] = "5/s" } };
        ResultFile b = a with
        {
            Settings = new Dictionary<string, string> { ["rounds"] = "20" },
            Arms = [a.Arms[0] with { Settings = new Dictionary<string, string> { ["grain"] = "20 us" } }],
        };
        ResultFile Compare(params string[] across) => ResultComparing.Compare(("a", a), ("b", b), new ComparisonOptions(), across, []);

        Assert.Equal(
            "'a' and 'b' differ in grain (absent and 20 us), rate (5/s and absent): add --across grain,rate if that is what you want to compare.",
            Assert.Throws<BadInputException>(() => Compare()).Message);
        Assert.Contains("add --across rate if", Assert.Throws<BadInputException>(() => Compare("grain")).Message, StringComparison.Ordinal);
        ResultFile compared = Compare("grain", "rate");
        Assert.Single(compared.Comparisons);
        Assert.Contains(compared.Findings, static f => f.Level == FindingLevel.Note && f.Text.Contains("grain (absent and 20 us)", StringComparison.Ordinal));
    }

    [Fact]
    public void Compare_NothingInCommon_IsRefused()
    {
        ResultFile a = Result(1);
        ResultFile b = a with { Arms = [a.Arms[0] with { Name = "other" }, a.Arms[0] with { Name = "third" }] };

        Assert.Contains("no arm in common", Assert.Throws<BadInputException>(
            () => ResultComparing.Compare(("a", a), ("b", b), new ComparisonOptions(), [], [])).Message, StringComparison.Ordinal);
    }

    [Fact(Timeout = 60_000)]
    public async Task Compare_OfFilesOfOneName_CallsThemByTheirPaths()
    {
        using TemporaryDirectory directory = new();
        string[] files = [.. new[] { "old", "new" }.Select(f => Path.Combine(Directory.CreateDirectory(directory.File(f)).FullName, "weir-run.json"))];
        Write(files[0], 1);
        Write(files[1], 0.9);

        LoadResult result = await new CliUnderTest().RunAsync($"compare {files[0]} {files[1]} --figures rate,p50");

        Assert.Equal(2, result.ExitCode);
        Assert.Contains($"VERDICT  {files[1]}: work x 4 is SLOWER than {files[0]}: work x 4", result.Out, StringComparison.Ordinal);

        // The rounds have no latencies: p50 was asked for, and nothing is known of it.
        Assert.Contains($"p50 of {files[1]}: work x 4 was not compared", result.Out, StringComparison.Ordinal);
    }

    private static void Write(string path, double factor, int rounds = 10) => File.WriteAllText(path, ResultJson.Write(Result(factor, rounds)));

    private static ResultFile Result(double factor, int rounds = 10) => SampleResults.Scaling() with
    {
        Fits = [],
        Comparisons = [],
        Findings = [],
        Arms =
        [
            new ArmRecord
            {
                Name = "work",
                Workers = 4,
                Rounds =
                    [.. Enumerable.Range(1, rounds).Select(i => new RoundRecord
                    {
                        Order = i, Process = i, Operations = 1000, Seconds = 1, Rate = factor * (1000 + i), CanarySlowness = 1, CanaryVariation = 0.01,
                    })],
            },
        ],
    };
}
