using Weir.Cli.Tests.Report.Page;
using Weir.Cli.Tests.Support;
using Weir.Lab.Results;
using Weir.Lab.Statistics;

namespace Weir.Cli.Tests.Suites;

/// <summary>The verbs that measure Weir itself are commands like the others: one door, one way to refuse and to stop.</summary>
public class SuiteVerbsTests
{
    [Fact(Timeout = 300_000)]
    public async Task Help_ListsThem()
    {
        LoadResult result = await new CliUnderTest().RunAsync("eng/tables --help");
        string[] verbs = ["ratios", "warm-up", "blocking-table", "auto-table", "blocks-grid", "few-items", "adaptive", "selfcheck", "goals"];
        Assert.All(verbs, verb => Assert.Contains($"\n  {verb} ", result.Out, StringComparison.Ordinal));
    }

    [Theory(Timeout = 300_000)]
    [InlineData("eng/tables ratios --rounds -1", "eng/tables: --rounds must be a whole number from 0 to 1,000; it is -1. See 'eng/tables ratios --help'.")]
    [InlineData("eng/tables warm-up --rounds 0", "eng/tables: --rounds must be a whole number from 1 to 100; it is 0. See 'eng/tables warm-up --help'.")]
    [InlineData("eng/tables blocking-table --only nothing", "eng/tables: --only must be one or more of operators, fresh pool; operators, busy pool;")]
    [InlineData(
        "eng/tables auto-table --rounds 1001", "eng/tables: --rounds must be a whole number from 1 to 1,000; it is 1001. See 'eng/tables auto-table --help'.")]
    [InlineData(
        "eng/tables blocks-grid --filter Queue*", "eng/tables: No cell matches Queue*; a cell is named by its block, its options and its messages, as in ")]
    [InlineData("eng/tables few-items --rounds 2", "eng/tables: --rounds must be a whole number from 3 to 1,000; it is 2. See 'eng/tables few-items --help'.")]
    [InlineData("eng/tables adaptive --filter 3/*", "eng/tables: No cell matches 3/*; a cell is named by its group, the server and the slots, as in ")]
    [InlineData("eng/tables few-items --filter 3/*", "eng/tables: No cell matches 3/*; a cell is named by its items, work, source and limit, as in ")]
    [InlineData("eng/tables selfcheck --slow", "eng/tables: Unrecognized command or argument '--slow'. See 'eng/tables selfcheck --help'.")]
    [InlineData("eng/tables selfcheck --runs 0", "eng/tables: --runs must be a whole number from 1 to 1,000; it is 0. See 'eng/tables selfcheck --help'.")]
    [InlineData(
        "eng/tables selfcheck --only verdict",
        "eng/tables: --only must be one or more of verdicts; methods; neighbours; bytes; gate; stored; trends; profile; waits; law; omission; recording; "
            + "small; users; workers; it is 'verdict'.")]
    [InlineData("eng/tables goals --output nothing.md", "eng/tables: --output must be a page that exists; there is no nothing.md.")]
    [InlineData("eng/tables ratios --filter *Nothing*", "eng/tables: No suite matches *Nothing*;")]
    [InlineData(
        "eng/tables selfcheck --output /no/such/folder/page.md",
        "eng/tables: --output must be a file in a folder that exists; there is no folder /no/such/folder.")]
    public async Task Arguments_Wrong_GetOneSentenceAndOne(string arguments, string sentence)
    {
        LoadResult result = await new CliUnderTest().RunAsync(arguments);
        Assert.Equal(1, result.ExitCode);
        Assert.StartsWith(sentence, result.Error, StringComparison.Ordinal);
        Assert.Equal(1, result.Error.Count(static c => c == '\n'));
        Assert.Empty(result.Out);
    }

    [Fact(Timeout = 300_000)]
    public async Task Ratios_Stopped_LeavesThePageAsItWasAndEndsWith130()
    {
        using TemporaryDirectory directory = new();
        string page = Path.Combine(directory.Path, "core.md");
        LoadResult frame = await new CliUnderTest().RunAsync($"eng/tables ratios --rounds 0 --suites core --output {page}");
        Assert.Equal(0, frame.ExitCode);
        string before = await File.ReadAllTextAsync(page, TestContext.Current.CancellationToken);

        using CancellationTokenSource stop = new();
        await stop.CancelAsync();
        LoadResult stopped = await new CliUnderTest { Stop = stop.Token }.RunAsync($"eng/tables ratios --filter *CoreSyncItems* --output {page}");
        Assert.Equal(130, stopped.ExitCode);
        Assert.Equal(before, await File.ReadAllTextAsync(page, TestContext.Current.CancellationToken));
    }

    [Fact(Timeout = 300_000)]
    public async Task SelfCheck_ResultsThatWereKept_AreOnThePageAndNotMadeAgain()
    {
        using TemporaryDirectory directory = new();
        string keep = Path.Combine(directory.Path, "keep");
        string page = Path.Combine(directory.Path, "lab.md");
        await File.WriteAllTextAsync(page, "<!-- measured recording -->\nof old\n<!-- /measured -->\n", TestContext.Current.CancellationToken);
        Keep("same-01", "10us", Verdict.Equivalent, 0.99, 1.01);
        Keep("slower-01", "11us", Verdict.Slower, 0.90, 0.92);
        LoadResult result = await new CliUnderTest().RunAsync($"eng/tables selfcheck --only verdicts --runs 1 --keep {keep} --output {page}");
        Assert.Equal(0, result.ExitCode);
        string text = await File.ReadAllTextAsync(page, TestContext.Current.CancellationToken);
        Assert.Contains(
            "| `weir compare cpu:grain=10us cpu:grain=10us` | 0 | 0 | 1 | 0 | 1.000 | 0.990 to 1.010 | 2 (1) | 21.5 | 21.5 |", text, StringComparison.Ordinal);
        Assert.Contains(
            "| `weir compare cpu:grain=10us cpu:grain=11us` | 0 | 1 | 0 | 0 | 0.910 | 0.900 to 0.920 | 2 (1) | 21.5 | 21.5 |", text, StringComparison.Ordinal);
        Assert.Contains("\nof old\n", text, StringComparison.Ordinal);
        Assert.Contains("Not measured yet: `eng/tables selfcheck --only omission ", text, StringComparison.Ordinal);

        void Keep(string name, string grain, Verdict verdict, double low, double high) => File.WriteAllText(
            Path.Combine(Directory.CreateDirectory(Path.Combine(keep, name)).FullName, "weir-compare.json"),
            ResultJson.Write(SampleResults.Scaling() with
            {
                Command = "compare",
                Arguments = ["compare", "cpu:grain=10us", $"cpu:grain={grain}", "--quiet"],
                Seconds = 21.5,
                Comparisons = [new ComparisonRecord { Arm = "B", Against =
                    "A", Ratio = (low + high) / 2, Low = low, High = high, P = 0.001, Margin = 0.03, Alpha = 0.01, Pairs = 8, Looks = 2, Verdict = verdict }],
            }));
    }
}
