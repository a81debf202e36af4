using Weir.Cli.Commands.Compare;
using Weir.Cli.Tests.Report.Page;
using Weir.Lab.Latency;
using Weir.Lab.Report;
using Weir.Lab.Report.Page;
using Weir.Lab.Report.Tables;
using Weir.Lab.Report.Writing;
using Weir.Lab.Results;
using Weir.Lab.Statistics;

namespace Weir.Cli.Tests.Report.Writing;

/// <summary>The sentence that a result begins with, for each thing that it can come to.</summary>
public class AnswerTests
{
    [Theory]
    [InlineData("compare", 0.926, Verdict.Slower, 0.0001, "head is 1.08 times slower than main with 4 workers: 1.05 to 1.11, p < 0.001.")]
    [InlineData("compare", 1.31, Verdict.Faster, 0.004, "head is 1.31 times faster than main with 4 workers: 1.27 to 1.35, p = 0.004.")]
    [InlineData("compare", 1.004, Verdict.Equivalent, 0.6, "head is as fast as main with 4 workers: 1.004 times, 0.974 to 1.034, within the margin of 3 %.")]
    [InlineData("compare", 0.981, Verdict.Inconclusive, 0.2,
        "Cannot say whether head is faster or slower than main with 4 workers: it is 0.981 times as fast, but 0.952 to 1.010 is possible, and the margin is 3 %.")]
    [InlineData("gate", 0.926, Verdict.Slower, 0.0001, "Fails: head is 1.08 times slower than main with 4 workers: 1.05 to 1.11, p < 0.001.")]
    [InlineData("gate", 1.31, Verdict.Faster, 0.004, "Passes: head is 1.31 times faster than main with 4 workers: 1.27 to 1.35, p = 0.004.")]
    [InlineData("gate", 0.981, Verdict.Inconclusive, 0.2,
        "Passes, as nothing is certainly worse: cannot say whether head is faster or slower than main with 4 workers: it is 0.981 times as fast, but 0.952 to "
            + "1.010 is possible, and the margin is 3 %.")]
    public void Comparison_OfTwo_SaysWhichIsFasterAndByHowMuch(string command, double ratio, Verdict verdict, double p, string expected)
    {
        ResultFile result = Result(command, Arm("main", 4, 100, 101), Arm("head", 4, 99, 100)) with { Comparisons = [Rate(ratio, verdict, p)] };

        Assert.Equal(new Answer(expected, "Believe it: 8 pairs of processes took turns, and no check failed."), Answer.Of(result));
    }

    [Fact]
    public void Comparison_WithoutAnInterval_SaysWhatIsMissing()
    {
        ComparisonRecord record = Rate(0.5, Verdict.Inconclusive, 1) with { Low = 0, High = double.PositiveInfinity, Pairs = 1 };

        Assert.Equal("Cannot say whether head is faster or slower than main with 4 workers: 1 pair of processes gives no interval.",
            Answer.Of(Result("compare", Arm("main", 4, 1), Arm("head", 4, 1)) with { Comparisons = [record] }).Sentence);
    }

    [Fact]
    public void Comparison_ByQuickCalls_SaysByWhatAndHowLongTheyTake()
    {
        // Of latencies a ratio above 1 is slower.
        ComparisonRecord p25 = Rate(1.212, Verdict.Slower, 0.0002) with
        {
            Figure = ComparedFigure.P25, Low = 1.2, High = 1.23, Value = 11_800, AgainstValue = 9_730,
        };

        Assert.Equal(
            "head is 1.21 times slower than main with 4 workers by the latency at p25: 11.8 us against 9.73 us, 1.20 to 1.23, p < 0.001; it allocates 96 B an "
                + "operation, not 0 B.",
            Answer.Of(Result("compare", Arm("main", 4, 1), Arm("head", 4, 1)) with
            {
                Comparisons = [Rate(0.98, Verdict.Inconclusive, 0.5), Bytes(96, 0, Verdict.More), p25],
            }).Sentence);
    }

    [Fact]
    public void Comparison_OfBytesAlone_SaysThatTheRestIsOpen() => Assert.Equal(
        "head allocates 24 B an operation more than main with 4 workers: 56 B against 32 B, exactly; which is faster is not decided: it is 0.980 times as fast, "
            + "but 0.951 to 1.009 is possible, and the margin is 3 %.",
        Answer.Of(Result("compare", Arm("main", 4, 1), Arm("head", 4, 1)) with
        {
            Comparisons = [Rate(0.98, Verdict.Inconclusive, 0.5), Bytes(56, 32, Verdict.More)],
        }).Sentence);

    [Fact]
    public void Comparisons_OfSeveral_SayTheWorstAndCountTheOthers()
    {
        ResultFile result = Result("compare", Arm("main", 4, 1), Arm("head", 4, 1), Arm("next", 4, 1)) with
        {
            Comparisons = [Rate(1.004, Verdict.Equivalent, 0.5) with { Arm = "next x 4" }, Rate(0.5, Verdict.Slower, 0.0001)],
        };

        Assert.Equal("head is 2.00 times slower than main with 4 workers: 1.94 to 2.06, p < 0.001; of 2 compared: 1 SLOWER, 1 EQUIVALENT.",
            Answer.Of(result).Sentence);
    }

    [Fact]
    public void Measurement_ThatIsNotValid_SaysSoWithTheReasonFirst()
    {
        ResultFile result = Result("run", Arm("lock", 4, 1)) with
        {
            Findings =
            [
                new Finding(FindingLevel.Doubt, "The machine was not quiet.", FindingKind.Machine),
                new Finding(FindingLevel.Invalid, "The generator was late: p99 900 us, more than 200 us."),
                new Finding(FindingLevel.Invalid, "lock x 4: the sum is wrong."),
            ],
        };

        Assert.Equal(new Answer("Cannot say how fast lock is: the generator was late: p99 900 us, more than 200 us (1 more reason below).", ""), Answer.Of(result));
        Assert.StartsWith("Cannot say whether the change may pass: the ", Answer.Of(result with { Command = "gate" }).Sentence, StringComparison.Ordinal);
    }

    [Fact]
    public void Measurement_WithDoubts_SaysTheFirstThatIsOfTheMachine()
    {
        ResultFile result = Result("run", Arm("lock", 4, [.. Enumerable.Range(0, 10).Select(static i => 12_000.0 + (i * 100))])) with
        {
            Findings =
            [
                new Finding(FindingLevel.Doubt, "The rate was not steady when the warm-up ended."),
                new Finding(FindingLevel.Doubt, "The machine was not quiet: the canary varied by 34.0 %. Trust the sign, not the size.", FindingKind.Machine),
            ],
            Partial = true,
        };

        Assert.Equal(
            new Answer(
                "lock: 12.5 k operations/s (12.1 to 12.8 k) with 4 workers.",
                "Less sure than it looks: 10 rounds, but the machine was not quiet: the canary varied by 34.0 % (1 more doubt below). It was stopped early, so "
                    + "this is what there was."),
            Answer.Of(result));
    }

    [Fact]
    public void Measurement_AtARate_SaysWhatWasServedFailedAndTheSlowest()
    {
        LatencyHistogram latency = new();
        for (int i = 1; i <= 1_000; i++)
        {
            latency.Record(i * 1_000);
        }

        RoundRecord round = new() { Operations = 1_000, Seconds = 1, Rate = 499.1, Failures = 2, Dropped = 3, Response = HistogramCodec.Encode(latency) };
        ResultFile result = Result("run", new ArmRecord { Name = "io", Workers = 16, Rounds = [round, round with { Rate = 499.3 }] }) with
        {
            Settings = new Dictionary<string, string> { ["rate"] = "500/s" },
        };

        Assert.Equal(
            "io: 499.2 of 500/s asked for (499.1 to 499.3 in 2 rounds) with 16 workers; p99 990 us from the intended start; 4 of 2,004 failed, 6 dropped.",
            Answer.Of(result).Sentence);
    }

    [Fact]
    public void Programs_SayHowLongARunTakes()
    {
        Dictionary<string, string> settings = new() { [ArmRecord.Command] = "x" };
        ArmRecord old = Arm("./old", 1, 20, 20, 20, 20, 20, 20) with { Settings = settings };
        ArmRecord late = Arm("./new", 1, 16, 16, 16, 16, 16, 16) with { Settings = settings };

        Assert.Equal("./old: 50 ms a run (50 ms to 50 ms).", Answer.Of(Result("time", old)).Sentence);
        Assert.Equal("./new is 1.25 times slower than ./old: 62.5 ms a run against 50 ms, 1.21 to 1.29, p < 0.001.", Answer.Of(Result("time", old, late) with
        {
            Comparisons = [Rate(0.8, Verdict.Slower, 1e-5) with { Arm = "./new", Against = "./old" }],
        }).Sentence);
    }

    [Theory]
    [InlineData(new[] { 100.0, 190, 370, 380 }, "lock gains up to 4 workers: 370.0 operations/s, 3.70 times that of 1; 8 do 380.0.")]
    [InlineData(new[] { 100.0, 190, 360, 700 }, "lock still gains with 8 workers: 700.0 operations/s, 7.00 times that of 1.")]
    [InlineData(new[] { 100.0, 50, 40, 30 }, "lock is fastest with 1 worker: 100.0 operations/s; 8 do 30.00, 0.30 of it.")]
    [InlineData(new[] { 100.0, 101, 99, 98 }, "lock gains nothing from more than 1 worker: 100.0 operations/s; 8 do 98.00.")]
    public void Sweep_SaysWhereMoreWorkersGainNothing(double[] rates, string expected) =>
        Assert.Equal(expected, Answer.Of(Result("scale", [.. rates.Select(static (r, i) => Arm("lock", 1 << i, r))])).Sentence);

    [Fact]
    public void Queue_SaysWhatWasLost()
    {
        RoundRecord round = new() { Operations = 10, Seconds = 1, Rate = 12_300, Lost = 1, Duplicates = 0 };

        Assert.Equal("memory: 12.3 k items/s; 1 lost, none delivered twice.",
            Answer.Of(Result("load", new ArmRecord { Name = "memory", Workers = 2, Rounds = [round] }) with { Unit = "items" }).Sentence);
    }

    [Fact]
    public void EveryForm_BeginsWithTheAnswer()
    {
        ResultFile result = SampleResults.Scaling();
        string answer = Answer.Of(result).Sentence;

        Assert.StartsWith("lock is 2.27 times slower than channel with 1 worker: ", answer, StringComparison.Ordinal);
        Assert.StartsWith(answer + "\n", ResultWriter.Text(result), StringComparison.Ordinal);
        Assert.StartsWith($"# {answer}\n", ResultWriter.Markdown(result), StringComparison.Ordinal);
        Assert.StartsWith($"### {answer}\n", PullRequestSummary.Markdown(result), StringComparison.Ordinal);
        string page = HtmlPage.Write([result]);
        Assert.Contains($"<main id=\"main\">\n<article>\n<header id=\"answer\">\n<h1>{answer}</h1>", page, StringComparison.Ordinal);

        // Then one picture, then the tables, then what to know, then the others.
        string[] order = ["id=\"ratio\"", "id=\"comparisons\"", "id=\"arms-operations-per-second\"", "id=\"latency\"", "id=\"findings\"", "id=\"throughput\""];
        int[] places = [.. order.Select(id => page.IndexOf(id, StringComparison.Ordinal))];
        Assert.DoesNotContain(-1, places);
        Assert.Equal(places.Order(), places);
    }

    [Theory]
    [InlineData(60)]
    [InlineData(80)]
    [InlineData(120)]
    public void Text_OnATerminal_FitsAndBreaksNoTable(int width)
    {
        ResultFile[] results =
        [
            SampleResults.Scaling(), SampleResults.Single(), SampleResults.Undecided(), SampleResults.Invalid(),
            Result("compare", Arm(new string('n', 90), 4, 1, 2, 3), Arm(new string('m', 90), 4, 1, 2, 3)) with
            {
                Comparisons = [Rate(0.5, Verdict.Slower, 0.0001) with { Arm = new string('m', 90) + " x 4", Against = new string('n', 90) + " x 4" }],
            },
        ];
        foreach (ResultFile result in results)
        {
            string[] lines = ResultWriter.Text(result, new TextStyle(width)).Split('\n');

            // Only a word that is longer than a line may be.
            Assert.All(
                lines.Where(line => line.Split(' ').All(word => word.Length < width - "VERDICT  ".Length)), line => Assert.InRange(line.Length, 0, width));
            Assert.All(ResultTables.Summary(result), table => Assert.Single(lines, l => l == table.Title));
        }
    }

    [Theory]
    [InlineData(
        "!  timer tick         a delay of 1 ms takes 4.35 ms. Do not use delays of a few milliseconds to simulate waiting",
        "!  timer tick         a delay of 1 ms takes 4.35 ms. Do not use delays of a few",
        "                      milliseconds to simulate waiting")]
    [InlineData(
        "note     no room here for: lowest..highest, fairness (least..most), pool threads. A wider terminal has them.",
        "note     no room here for: lowest..highest, fairness (least..most), pool",
        "         threads. A wider terminal has them.")]
    [InlineData(
        "lock did a great many operations a second with four workers, and what follows is there to make the line long",
        "lock did a great many operations a second with four workers, and what follows is",
        "there to make the line long")]
    public void Prose_OnATerminal_GoesOnBelowTheTextBehindItsMark(string text, string first, string second)
    {
        using StringWriter output = new();

        new Prose(output, 80).Write([text]);

        Assert.Equal([first, second], output.ToString().TrimEnd('\n').Split('\n'));
    }

    [Theory]
    [InlineData(2, 0)]
    [InlineData(5, 0)]
    [InlineData(6, 1)]
    public void Picture_OfOneArm_HasAnIntervalOnlyWithEnoughRounds(int rounds, int intervals)
    {
        double[] rates = [.. Enumerable.Range(0, rounds).Select(static i => 100.0 + i)];
        IReadOnlyList<string> picture = TextPicture.Of(Result("run", Arm("lock", 4, rates)), 80);

        Assert.Equal(intervals, string.Concat(picture).Contains('─', StringComparison.Ordinal) ? 1 : 0);
        Assert.All(picture, static line => Assert.InRange(line.Length, 0, 80));
    }

    [Fact]
    public void Picture_OfAComparison_PutsThePointWhereTheRatioIs()
    {
        IReadOnlyList<string> picture = TextPicture.Of(
            Result("compare", Arm("main", 4, 1), Arm("head", 4, 1)) with { Comparisons = [Rate(0.8, Verdict.Slower, 0.0001)] }, 80);

        Assert.Equal("How many times as fast as main x 4 (shaded: the margin of 3 %)", picture[0]);
        Assert.True(picture[1].IndexOf('●', StringComparison.Ordinal) < picture[1].IndexOf('│', StringComparison.Ordinal));
        Assert.True(picture[1].IndexOf('├', StringComparison.Ordinal) < picture[1].IndexOf('●', StringComparison.Ordinal));
        Assert.Equal(picture[1].IndexOf('│', StringComparison.Ordinal), picture[2].IndexOf("1x", StringComparison.Ordinal) + 1);

        // None where there is no interval.
        string without = TextPicture.Of(Result("compare", Arm("main", 4, 1), Arm("head", 4, 1)) with
        {
            Comparisons = [Rate(0.8, Verdict.Inconclusive, 1) with { High = double.PositiveInfinity, Pairs = 1 }],
        }, 80)[1];
        Assert.DoesNotContain('├', without);
    }

    private static ComparisonRecord Rate(double ratio, Verdict verdict, double p) => new()
    {
        Arm = "head x 4",
        Against = "main x 4",
        Ratio = ratio,
        Low = ratio * 0.97,
        High = ratio * 1.03,
        P = p,
        Margin = 0.03,
        Alpha = 0.01,
        Pairs = 8,
        Verdict = verdict,
    };

    private static ComparisonRecord Bytes(double value, double against, Verdict verdict) => Rate(2, verdict, 0) with
    {
        Figure = ComparedFigure.Bytes, Low = 2, High = 2, Value = value, AgainstValue = against,
    };

    private static ArmRecord Arm(string name, int workers, params double[] rates) => new()
    {
        Name = name,
        Workers = workers,
        Rounds = [.. rates.Select(static (r, i) => new RoundRecord { Order = i + 1, Operations = (long)r, Seconds = 1, Rate = r })],
    };

    private static ResultFile Result(string command, params ArmRecord[] arms) => SampleResults.Single() with
    {
        Command = command, Arms = arms, Settings = new Dictionary<string, string>(),
    };
}
