using Weir.Cli.Kit.Hosting;
using Weir.Lab.Statistics;
using Weir.Lab.Suites.Checking;
using Weir.Lab.Suites.Figures;
using Weir.Tables.Page;
using Weir.Tables.Ratios;
using Weir.Tables.Verbs;
using Spread = Weir.Lab.Statistics.Spread;

namespace Weir.Lab.Suites.Tests;

public class RatiosTests
{
    [Theory]
    [InlineData(9, 3, new[] { 0, 3, 6 })]
    [InlineData(9, 9, new[] { 0, 1, 2, 3, 4, 5, 6, 7, 8 })]
    [InlineData(5, 2, new[] { 0, 3 })]
    [InlineData(1, 1, new[] { 0 })]
    public void IsDue_Share_IsSpreadEvenlyOverTheRounds(int rounds, int share, int[] expected)
    {
        Sampler sampler = new(rounds);
        Assert.Equal(expected, Enumerable.Range(0, rounds).Where(round => sampler.IsDue(round, share)));
    }

    [Fact]
    public void Spread_OddAndEvenCounts_GiveTheMiddle()
    {
        Assert.Equal(new Spread(2, 1, 9), Spread.Of([9, 1, 2]));
        Assert.Equal(new Spread(3, 1, 9), Spread.Of([9, 1, 2, 4]));
    }

    [Fact]
    public void TimeRatio_ArmsWithDifferentRounds_ComparesWithinTheCommonOnes()
    {
        ArmResult arm = Arm("Arm", (0, 10), (1, 40), (2, 30));
        ArmResult slow = Arm("Slow", (0, 100), (2, 100));
        Assert.Equal([0.1, 0.3], CaseResult.TimeRatios(arm, slow), static (a, b) => Math.Abs(a - b) < 1e-12);
    }

    [Fact]
    public void Render_MeasuredCase_GivesTableAndGoals()
    {
        CaseResult result = new(
            "Size=1",
            10,
            [Arm("Loop", true, (0, 1_000), (1, 3_000), (2, 2_000)), Arm("Ours", (0, 500), (1, 3_600), (2, 1_500))],
            [Goal.TimeRatio("Ours", "Loop", 0.5), Goal.BytesPerItem("Ours", 185), Goal.TimePerRun("Ours", TimeSpan.FromMicroseconds(2)), Goal.HopsPerItem("Ours", 0.1)]);
        const string Expected = """
            Here.

            | case | arm | time a run | [min..max] | ratio | [min..max] | B an item | B a run | hops an item | cores | samples |
            |---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
            | Size=1 | Loop | 2.00 us | 1.00 us..3.00 us | 1 (baseline) |  | 12.0 | 120 | 0.25 | 1.00 | 3 |
            | Size=1 | Ours | 1.50 us | 500 ns..3.60 us | 0.75 | 0.50..1.20 | 12.0 | 120 | 0.25 | 1.00 | 3 |

            - Size=1: Ours takes at most 0.5x the time of Loop: 0.750x [0.500x..1.200x], undecided: missed by 50 % by the median alone
            - Size=1: Ours allocates at most 185 B an item: 12.0 B, met
            - Size=1: Ours takes at most 2.00 us a run: 1.50 us [500 ns..3.60 us], undecided: met by the median alone
            - Size=1: Ours has at most 0.1 work items of the pool an item: 0.25, **missed by 150 %**
            """;
        Assert.Equal(Expected, SuiteTable.Render("Here.", [result]), ignoreLineEndingDifferences: true);
    }

    [Theory]
    [InlineData(0.53, "0.500x [0.470x..0.530x], met")]
    [InlineData(0.52, "0.500x [0.470x..0.530x], undecided: met by the median alone")]
    [InlineData(0.50, "0.500x [0.470x..0.530x], undecided: met by the median alone")]
    [InlineData(0.49, "0.500x [0.470x..0.530x], undecided: missed by 2 % by the median alone")]
    [InlineData(0.46, "0.500x [0.470x..0.530x], **missed by 8.7 %**")]
    public void Evaluate_AGoal_IsDecidedOnlyBeyondTheErrorOfTheMedian(double limit, string verdict)
    {
        (int, double)[] rounds = [.. new double[] { 46, 47, 48, 49, 50, 51, 52, 53, 54 }.Select(static (time, round) => (round, time))];
        CaseResult result = new(
            "", 1, [Arm("Loop", true, [.. rounds.Select(static round => (round.Item1, 100.0))]), Arm("Ours", rounds)], []);
        string sentence = Goal.TimeRatio("Ours", "Loop", limit).Evaluate(result);
        Assert.EndsWith($": {verdict}", sentence, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_OneRound_PrintsTheTableOfTheSuite()
    {
        using StringWriter output = new();
        int code = await new RatiosRun(output, TextWriter.Null).RunAsync(["*CoreEarlyExit*"], rounds: 1, page: null);
        Assert.Equal(0, code);
        Assert.Contains("| RestStuck=True | StreamOrdered |", output.ToString(), StringComparison.Ordinal);
        Assert.Contains("Measured at commit", output.ToString(), StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_NothingMatches_SaysWhatThereIs()
    {
        BadInputException refusal = await Assert.ThrowsAsync<BadInputException>(
            () => new RatiosRun(TextWriter.Null, TextWriter.Null).RunAsync(["*Nowhere*"], rounds: 1, page: null));
        Assert.StartsWith("No suite matches *Nowhere*; the suites are CoreSyncItemsBenchmarks, ", refusal.Message, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_OutputAndSuitesOfTwoPages_IsRefusedBeforeMeasuring()
    {
        BadInputException refusal = await Assert.ThrowsAsync<BadInputException>(
            () => new RatiosRun(TextWriter.Null, TextWriter.Null).RunAsync(["*"], rounds: 9, new FileInfo("page.md")));
        Assert.Contains("--suites core, --suites dataflow or --suites resilience", refusal.Message, StringComparison.Ordinal);
    }

    [Theory(Timeout = 300_000)]
    [InlineData("/no/such/folder/page.md", "a file in a folder that exists; there is no folder /no/such/folder.")]
    [InlineData("/", "a file; / is a folder.")]
    public async Task RunAsync_PageThatCannotBeWritten_IsRefusedBeforeMeasuring(string page, string refusal)
    {
        BadInputException refused = await Assert.ThrowsAsync<BadInputException>(
            () => new RatiosRun(TextWriter.Null, TextWriter.Null).RunAsync(["*CoreDelay*"], rounds: 9, new FileInfo(page)));
        Assert.Equal($"--output must be {refusal}", refused.Message);
    }

    [Theory]
    [InlineData("--rounds", "-1")]
    [InlineData("--rounds", "many")]
    [InlineData("--round", "3")]
    [InlineData("--suites", "nothing")]
    public void Parse_WrongArguments_IsAnError(params string[] args) =>
        Assert.NotEmpty(RatiosCommand.Create(TextWriter.Null, TextWriter.Null).Parse(args).Errors);

    [Fact]
    public void Parse_SeveralFilters_TakesThemAll() =>
        Assert.Empty(RatiosCommand.Create(TextWriter.Null, TextWriter.Null).Parse(["--filter", "*Core*", "*Batching*", "--rounds", "3"]).Errors);

    private static ArmResult Arm(string name, params (int Round, double Time)[] samples) => Arm(name, false, samples);

    private static ArmResult Arm(string name, bool isBaseline, params (int Round, double Time)[] samples) =>
        new(name, isBaseline, [.. samples.Select(static sample => new Sample(sample.Round, sample.Time, 120, 1, 2.5))]);
}
