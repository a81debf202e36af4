using System.Text.Json;
using Weir.Cli.History;
using Weir.Cli.Tests.Report.Page;
using Weir.Cli.Tests.Support;
using Weir.Lab.Resources;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Commands.History;

/// <summary>Histories that were written for the test; nothing of them was measured but where it says so.</summary>
public class HistoryTests
{
    private static readonly DateTimeOffset Start = new(2026, 3, 1, 12, 0, 0, TimeSpan.Zero);

    [Fact(Timeout = 300_000)]
    public async Task History_OfAPlantedChange_NamesItsCommitAndTheOneBefore()
    {
        using TemporaryDirectory directory = new();
        Fill(directory, Enumerable.Range(0, 24).Select(static i => Result(i, i < 14 ? 100_000 : 88_000)));

        LoadResult json = await RunAsync(directory, "--json --figures rate,bytes");
        LoadResult text = await RunAsync(directory, $"-o {directory.File("page.html")}");

        JsonElement series = Assert.Single(json.Json.EnumerateArray());
        JsonElement change = Assert.Single(series.GetProperty("changes").EnumerateArray());
        Assert.Equal((Short(14), Short(13), "SLOWER"),
            (change.GetProperty("commit").GetString(), change.GetProperty("before").GetString(), change.GetProperty("verdict").GetString()));
        Assert.InRange(change.GetProperty("ratio").GetDouble(), 0.86, 0.90);
        Assert.Equal(24, series.GetProperty("points").GetArrayLength());
        Assert.Contains($"CHANGE   channel x 8 is SLOWER from {Short(14)} on: 0.8", text.Out, StringComparison.Ordinal);
        string page = await File.ReadAllTextAsync(directory.File("page.html"), TestContext.Current.CancellationToken);
        Assert.Contains("class=\"plot narrow\"", page, StringComparison.Ordinal);
        Assert.Contains($"channel x 8 is SLOWER from {Short(14)} on", page, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task History_OfOneMoreObject_NamesItsCommitAtOnce()
    {
        using TemporaryDirectory directory = new();
        Fill(directory, Enumerable.Range(0, 3).Select(static i => WithBytes(Result(i, 1000), i < 2 ? 72 : 96)));

        LoadResult ran = await RunAsync(directory, "");

        Assert.Contains($"CHANGE   bytes of channel x 8 are MORE from {Short(2)} on: 1.333x", ran.Out, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task History_OfABusyMachine_LooksForNoChangeOfRates()
    {
        using TemporaryDirectory directory = new();
        Fill(directory, Enumerable.Range(0, 24).Select(static i => Busy(Result(i, i < 14 ? 100_000 : 88_000))));

        LoadResult ran = await RunAsync(directory, "");

        Assert.StartsWith("No change was found over 24 commits: ", ran.Out, StringComparison.Ordinal);
        Assert.Contains("24 points of a machine that was not quiet are shown, but not searched for changes of rates", ran.Out, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task History_OfTreesWithChanges_LeavesThemOutUnlessAsked()
    {
        using TemporaryDirectory directory = new();
        Fill(directory, Enumerable.Range(0, 6).Select(static i => Result(i, 100_000)).Append(Result(5, 50_000, minutes: 1, clean: false)));

        LoadResult without = await RunAsync(directory, "");
        LoadResult with = await RunAsync(directory, "--dirty --json");

        Assert.Contains("weir history   6 results of 6 commits", without.Out, StringComparison.Ordinal);
        Assert.Contains("1 result from a tree with uncommitted changes is left out; --dirty includes it", without.Out, StringComparison.Ordinal);
        Assert.Equal(
            [Short(5), Short(5) + "+"], with.Json[0].GetProperty("points").EnumerateArray().Select(static p => p.GetProperty("name").GetString()).TakeLast(2));
    }

    [Fact(Timeout = 300_000)]
    public async Task History_OfTwoMachines_KeepsThemApart()
    {
        using TemporaryDirectory directory = new();
        Fill(directory, Enumerable.Range(0, 20).Select(static i => Result(i, i < 10 ? 100_000 : 50_000, machine: i < 10 ? "aaaaaa" : "bbbbbb")));

        LoadResult both = await RunAsync(directory, "--json --figures rate,bytes");
        LoadResult one = await RunAsync(directory, "--machine bbbbbb --json --figures rate");
        LoadResult text = await RunAsync(directory, "");

        Assert.Equal([("aaaaaa", 10, 0), ("bbbbbb", 10, 0)], both.Json.EnumerateArray()
            .Select(static s => (s.GetProperty("machine").GetString()!, s.GetProperty("points").GetArrayLength(), s.GetProperty("changes").GetArrayLength())));
        Assert.Equal("bbbbbb", Assert.Single(one.Json.EnumerateArray()).GetProperty("machine").GetString());
        Assert.Contains("The results are of 2 machines or environments; each has its own series", text.Out, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task History_OfAnArmWithOtherSettings_IsAnotherSeries()
    {
        using TemporaryDirectory directory = new();
        Fill(directory, Enumerable.Range(0, 20)
            .Select(static i => Result(i, 100_000))
            .Select(static (r, i) => i < 10 ? r : r with { Settings = new Dictionary<string, string>(r.Settings) { ["rate"] = "5/s" } }));

        LoadResult ran = await RunAsync(directory, "--json --figures rate,bytes");

        Assert.Equal(2, ran.Json.GetArrayLength());
        Assert.Contains("rate=5/s", ran.Json[1].GetProperty("name").GetString(), StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task List_OfAHistory_HasEveryResultAndItsTree()
    {
        using TemporaryDirectory directory = new();
        Fill(directory, [Result(0, 1000), Result(1, 1000, clean: false)]);

        LoadResult ran = await RunAsync(directory, "list");

        Assert.All(ran.Out.Split('\n'), static line => Assert.InRange(line.Length, 0, 80));
        Assert.Matches($"{Short(0)} .*clean", ran.Out);
        Assert.Matches($"{Short(1)} .*changed", ran.Out);
    }

    [Fact(Timeout = 300_000)]
    public async Task List_AsJson_HasWhatTheTextHas()
    {
        using TemporaryDirectory directory = new();
        Fill(directory, [Result(0, 1000), Result(1, 1000, clean: false)]);

        LoadResult ran = await RunAsync(directory, "list --json");

        using JsonDocument json = JsonDocument.Parse(ran.Out);
        JsonElement[] results = [.. json.RootElement.EnumerateArray()];
        Assert.Equal([true, false], results.Select(static r => r.GetProperty("clean").GetBoolean()));
        Assert.Equal(Result(0, 1000).Source!.Commit, results[0].GetProperty("commit").GetString());
        Assert.All(results, static r => Assert.True(File.Exists(r.GetProperty("file").GetString())));
        Assert.NotEmpty(results[0].GetProperty("arms").EnumerateArray());
    }

    [Fact(Timeout = 300_000)]
    public async Task List_OfAFileWithAnotherName_ShowsIt()
    {
        using TemporaryDirectory directory = new();
        Fill(directory, [Result(0, 1000)]);
        await File.WriteAllTextAsync(
            Path.Combine(directory.File("history"), "mine.json"), ResultJson.Write(Result(1, 1000)), TestContext.Current.CancellationToken);

        LoadResult ran = await RunAsync(directory, "list");

        Assert.Matches($"{Short(1)} .*mine.json", ran.Out);
    }

    [Fact(Timeout = 300_000)]
    public async Task History_OfOneResult_SaysOnceThatNothingChanged()
    {
        using TemporaryDirectory directory = new();
        Fill(directory, [Result(0, 1000)]);

        LoadResult ran = await RunAsync(directory, $"-o {directory.File("page.html")}");

        Assert.StartsWith("No change was found over 1 commit: ", ran.Out, StringComparison.Ordinal);
        Assert.EndsWith("weir history   1 result of 1 commit\n", ran.Out, StringComparison.Ordinal);
        string page = await File.ReadAllTextAsync(directory.File("page.html"), TestContext.Current.CancellationToken);
        Assert.Equal(2, page.Split("No change was found").Length);
    }

    [Fact(Timeout = 300_000)]
    public async Task Add_AFile_KeepsItOnce()
    {
        using TemporaryDirectory directory = new();
        string file = directory.File("result.json");
        await File.WriteAllTextAsync(file, ResultJson.Write(Result(3, 1000)), TestContext.Current.CancellationToken);

        LoadResult first = await RunAsync(directory, $"add {file}");
        LoadResult second = await RunAsync(directory, $"add {file}");

        Assert.True(first.ExitCode == 0 && File.Exists(first.Out.Trim()["kept ".Length..]), first.Error);
        Assert.Equal(1, second.ExitCode);
        Assert.StartsWith("weir: The history already has this result, as '", second.Error, StringComparison.Ordinal);
    }

    [Theory(Timeout = 300_000)]
    [InlineData("partial", "it is partial")]
    [InlineData("nowhere", "it has no commit, as it would have from a git repository")]
    [InlineData("invalid", "it is invalid")]
    public async Task Add_AResultThatCannotBeKept_SaysWhy(string kind, string why)
    {
        using TemporaryDirectory directory = new();
        string file = directory.File("result.json");
        ResultFile result = Result(3, 1000);
        result = kind switch { "partial" => result with { Partial = true }, "nowhere" =>
            result with { Source = null }, _ => result with { Findings = [new Finding(FindingLevel.Invalid, "It is wrong.")] } };
        await File.WriteAllTextAsync(file, ResultJson.Write(result), TestContext.Current.CancellationToken);

        LoadResult ran = await RunAsync(directory, $"add {file}");

        Assert.Equal((1, $"weir: '{file}' cannot be kept: {why}.\n"), (ran.ExitCode, ran.Error));
    }

    [Fact(Timeout = 300_000)]
    public async Task History_Empty_SaysHowResultsGetThere()
    {
        using TemporaryDirectory directory = new();

        LoadResult ran = await RunAsync(directory, "");

        Assert.Equal(1, ran.ExitCode);
        Assert.Contains("keep one with --keep, as 'weir run ... --keep', or with 'weir history add FILE'.\n", ran.Error, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task Run_Keep_KeepsWhatIsValid()
    {
        Assert.SkipWhen(SourceTree.Read() is null, "These tests run outside a repository.");
        using TemporaryDirectory directory = new();

        LoadResult ran =
            await new CliUnderTest().RunAsync(["time", "git --version", "--rounds", "2", "--quiet", "--keep-in", directory.File("history")]);
        LoadResult failed =
            await new CliUnderTest().RunAsync(["time", "git nonsense", "--rounds", "2", "--quiet", "--keep-in", directory.File("history")]);

        Assert.True(ran.ExitCode == 0, ran.Error);
        Assert.StartsWith("kept ", ran.Error, StringComparison.Ordinal);
        Assert.Contains("weir: the result is not kept: it is ", failed.Error, StringComparison.Ordinal);
        Assert.Single(Directory.EnumerateFiles(directory.File("history"), "*.json"));
    }

    [Theory(Timeout = 300_000)]
    [InlineData("compare a.json b.json --keep")]
    [InlineData("compare --git a..b --project src --method M --keep")]
    public async Task Compare_KeepOfWhatIsNotOfThisCommit_IsRefused(string arguments)
    {
        Assert.SkipWhen(SourceTree.Read() is null, "These tests run outside a repository.");
        using TemporaryDirectory directory = new();
        foreach (string name in new[] { "a.json", "b.json" })
        {
            await File.WriteAllTextAsync(directory.File(name), ResultJson.Write(Result(1, 1000)), TestContext.Current.CancellationToken);
        }

        LoadResult ran = await new CliUnderTest().RunAsync(arguments.Replace("a.json b.json", $"{directory.File("a.json")} {directory.File("b.json")}",
            StringComparison.Ordinal).Replace("--keep", $"--keep-in {directory.File("h")}", StringComparison.Ordinal));

        Assert.Equal((1, "weir: --keep is for what is measured at this commit, not for the commits of --git; 'weir history add' keeps stored "
            + "results.\n"), (ran.ExitCode, ran.Error));
    }

    private static Task<LoadResult> RunAsync(TemporaryDirectory directory, string arguments) =>
        new CliUnderTest().RunAsync($"history {arguments} --dir {directory.File("history")}");

    private static void Fill(TemporaryDirectory directory, IEnumerable<ResultFile> results)
    {
        HistoryStore store = new(directory.File("history"));
        foreach (ResultFile result in results)
        {
            store.Add(result);
        }
    }

    private static ResultFile WithBytes(ResultFile result, long bytes) =>
        Rounds(result, r => r with { Operations = 1_000_000, AllocatedBytes = bytes * 1_000_000 });

    private static ResultFile Busy(ResultFile result) => Rounds(result, static r => r with { CanaryVariation = 0.3 });

    private static ResultFile Rounds(ResultFile result, Func<RoundRecord, RoundRecord> change) =>
        result with { Arms = [.. result.Arms.Select(a => a with { Rounds = [.. a.Rounds.Select(change)] })] };

    private static string Commit(int number) => $"{number:x2}".PadRight(40, 'c');

    private static string Short(int number) => Commit(number)[..7];

    private static ResultFile Result(int number, double rate, double minutes = 0, bool clean = true, string machine = "8ef6b2")
    {
        ResultFile result = SampleResults.Single();
        Random random = new(number);
        return result with
        {
            StartedAt = Start.AddHours(number).AddMinutes(minutes),
            Partial = false,
            Findings = [],
            Source = new SourceRecord(Commit(number), clean),
            Machine = result.Machine with { Hash = machine },
            Arms = [.. result.Arms.Select(
                a => a with { Rounds = [.. a.Rounds.Select(
                    r => r with { Rate = rate * (1 + (0.01 * (random.NextDouble() - 0.5))), AllocatedBytes = null })] })],
        };
    }
}
