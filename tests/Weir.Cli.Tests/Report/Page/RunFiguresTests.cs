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

    [GeneratedRegex("<path class=\"area [^\"]*\" d=\"([^\"]+)\"")]
    private static partial Regex Area();

    [GeneratedRegex(@"[ML]([\d.-]+) ([\d.-]+)")]
    private static partial Regex Point();
}
