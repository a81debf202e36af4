using System.Globalization;
using System.Text.RegularExpressions;
using Weir.Lab.Latency;
using Weir.Lab.Report.Page;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Report.Page;

/// <summary>What must be visible in the plots of a run.</summary>
public partial class RunFiguresTests
{
    // 98 % around 1 ms, 2 % at 50 ms: on a linear scale the second mode is a line on the axis.
    [Fact]
    public void Distribution_ModeOfTwoPercent_StandsWellAboveTheAxis()
    {
        Random random = new(7);
        LatencyHistogram latency = new();
        for (int i = 0; i < 100_000; i++)
        {
            double center = i % 50 == 0 ? 50e6 : 1e6;
            latency.Record((long)(center * Math.Exp(0.05 * Normal(random))));
        }

        string page = HtmlPage.Write(
            [Result(new RoundRecord { Order = 1, Operations = 100_000, Seconds = 1, Rate = 100_000, Service = HistogramCodec.Encode(latency) })]);

        string path = Area().Match(page[page.IndexOf("id=\"distribution\"", StringComparison.Ordinal)..]).Groups[1].Value;
        (double X, double Y)[] points =
        [
            .. Point().Matches(path).Select(static m => (Number(m.Groups[1].Value), Number(m.Groups[2].Value))),
        ];
        double floor = points.Max(static p => p.Y);
        double top = points.Min(static p => p.Y);
        double right = points.Max(static p => p.X);
        double left = points.Min(static p => p.X);
        double mode = points.Where(p => p.X > left + ((right - left) * 0.7)).Min(static p => p.Y);

        // Between them the line is down.
        Assert.InRange((floor - mode) / (floor - top), 0.3, 0.9);
        Assert.Contains(points, p => p.X > left + ((right - left) * 0.4) && p.X < left + ((right - left) * 0.7) && p.Y == floor);
    }

    // Latencies come in steps of the clock. Bins between two steps are empty, and the curve is a comb.
    [Theory]
    [InlineData(1, 200, 4_000)]
    [InlineData(10.01, 50, 900)]
    [InlineData(41.67, 100, 1_000)]
    [InlineData(100, 100, 3_000)]
    [InlineData(100, 900, 1_000)]
    [InlineData(1, 1_000_000, 1_020_000)]
    public void Distribution_OfACoarseClock_IsNoComb(double step, double least, double most)
    {
        LatencyHistogram latency = new();
        for (double at = least; at <= most; at += 0.05 * step)
        {
            latency.Record((long)(Math.Floor(at / step) * step));
        }

        string page = HtmlPage.Write(
            [Result(new RoundRecord { Order = 1, Operations = 100_000, Seconds = 1, Rate = 100_000, Service = HistogramCodec.Encode(latency) })]);

        string path = Area().Match(page[page.IndexOf("id=\"distribution\"", StringComparison.Ordinal)..]).Groups[1].Value;
        (double X, double Y)[] points = [.. Point().Matches(path).Select(static m => (Number(m.Groups[1].Value), Number(m.Groups[2].Value)))];
        points = points[..^2];
        double floor = points.Max(static p => p.Y);
        double top = points.Min(static p => p.Y);
        int first = Array.FindIndex(points, p => p.Y < floor - 1);
        int last = Array.FindLastIndex(points, p => p.Y < floor - 1);

        // The latencies are spread evenly, so between the ends, which are partly empty, the curve never falls by more than a quarter of its height.
        first = first < 0 ? 0 : first;
        last = last < 0 ? points.Length - 1 : last;
        Assert.All(points[(first + 1)..Math.Max(first + 1, last)], p => Assert.True(p.Y - top <= (240 - top) / 4, $"{p.Y} in {path}"));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(10.01)]
    [InlineData(41.67)]
    [InlineData(100)]
    public void ClockStep_OfManyLatencies_IsThatOfTheClock(double step)
    {
        LatencyHistogram latency = new();
        for (int i = 1; i * step < 900; i++)
        {
            latency.Record((long)(i * step));
        }

        Assert.Equal(step, Lab.Report.Page.Figures.ClockStep.Of(latency), step / 20);
    }

    [Theory]
    [InlineData(1, false)]
    [InlineData(5, false)]
    [InlineData(6, true)]
    public void Rates_OfSomeRounds_HaveAWhiskerOnlyWithAnInterval(int rounds, bool whisker)
    {
        string page = HtmlPage.Write([Result([.. Enumerable.Range(1, rounds).Select(static i => new RoundRecord { Order = i, Operations = 1, Seconds = 1, Rate = i })])]);

        Assert.Equal(whisker, page.Contains("class=\"whisker", StringComparison.Ordinal));
    }

    [Fact]
    public void Sweep_OfTooFewRounds_ShowsThemAndNoWhisker()
    {
        ArmRecord Swept(int workers) => new()
        {
            Name = "x", Workers = workers, Rounds = [.. Enumerable.Range(1, 3).Select(i => new RoundRecord { Order = i, Operations = 1, Seconds = 1, Rate = i * workers })],
        };
        string page = HtmlPage.Write([SampleResults.Single() with { Command = "scale", Arms = [Swept(1), Swept(2), Swept(4)] }]);

        string section = page[page.IndexOf("id=\"throughput\"", StringComparison.Ordinal)..page.IndexOf("id=\"arms", StringComparison.Ordinal)];
        Assert.DoesNotContain("class=\"whisker", section, StringComparison.Ordinal);
        Assert.Equal(2 * 9, Ring().Count(section));
        Assert.DoesNotContain("id=\"rates\"", page, StringComparison.Ordinal);
    }

    // A loop with one worker and a runtime with 100 are two things, and nothing lies between them.
    [Fact]
    public void Arms_OfOneNumberOfWorkersEach_AreNoCurve()
    {
        ArmRecord Of(string name, int workers) => new()
        {
            Name = name, Workers = workers, Rounds = [new RoundRecord { Order = 1, Operations = 1, Seconds = 1, Rate = workers, Open = 1, OpenMax = workers }],
        };
        string page = HtmlPage.Write([SampleResults.Single() with { Arms = [Of("loop", 1), Of("concurrent", 100)] }]);

        Assert.DoesNotContain("id=\"throughput\"", page, StringComparison.Ordinal);
        Assert.DoesNotContain("id=\"depth\"", page, StringComparison.Ordinal);
        Assert.Contains("id=\"rates\"", page, StringComparison.Ordinal);
    }

    [Fact]
    public void Depth_AverageAndMost_AreNoInterval()
    {
        string page = HtmlPage.Write([SampleResults.Scaling()]);

        string section = page[page.IndexOf("id=\"depth\"", StringComparison.Ordinal)..page.IndexOf("id=\"rounds\"", StringComparison.Ordinal)];
        Assert.DoesNotContain("class=\"whisker", section, StringComparison.Ordinal);
        Assert.True(Ring().Count(section) > 0);
    }

    [Fact]
    public void Resources_OfRoundsWithATimeline_AreDrawnOverTheWholeRun()
    {
        ResultFile result = Result([.. Enumerable.Range(1, 4).Select(static i => new RoundRecord
        {
            Order = i, Operations = 10, Seconds = 1, Rate = 10, CpuUserSeconds = i, Timeline =
            [
                .. new[] { 0.5, 1 }.Select(s => new TimelineRecord(s, 10, 0, 1) { Cores = i, ResidentBytes = i * 100L << 20 }),
            ],
        })]);

        string page = HtmlPage.Write([result]);

        string section = page[page.IndexOf("id=\"resources\"", StringComparison.Ordinal)..];
        Assert.Contains("resident memory, MB", section, StringComparison.Ordinal);
        Assert.Contains("400 MB", section, StringComparison.Ordinal);
        Assert.DoesNotContain(
            "id=\"resources\"", HtmlPage.Write([Result(new RoundRecord { Order = 1, Operations = 1, Seconds = 1, Rate = 1 })]), StringComparison.Ordinal);
    }

    private static ResultFile Result(params RoundRecord[] rounds) =>
        SampleResults.Single() with { Arms = [new ArmRecord { Name = "x", Workers = 1, Rounds = rounds }] };

    private static double Normal(Random random) =>
        Math.Sqrt(-2 * Math.Log(1 - random.NextDouble())) * Math.Cos(2 * Math.PI * random.NextDouble());

    private static double Number(string text) => double.Parse(text, CultureInfo.InvariantCulture);

    [GeneratedRegex("class=\"ring ")]
    private static partial Regex Ring();

    [GeneratedRegex("<path class=\"area [^\"]*\" d=\"([^\"]+)\"")]
    private static partial Regex Area();

    [GeneratedRegex(@"[ML]([\d.-]+) ([\d.-]+)")]
    private static partial Regex Point();
}
