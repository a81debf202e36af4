using System.Globalization;
using Weir.Cli.Tests.Report.Page;
using Weir.Lab.Report.Writing;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Report.Writing;

public class LatencyFilesTests
{
    [Fact]
    public void Of_ArmsWithBothLatencies_HasTwoFilesEach()
    {
        (string File, string Text)[] files = [.. LatencyFiles.Of(SampleResults.Scaling(), "weir-scale")];

        Assert.Equal(24, files.Length);
        Assert.Equal(["weir-scale-channel-x1-service.hgrm", "weir-scale-channel-x1-response.hgrm"], files.Take(2).Select(static f => f.File));
    }

    [Fact]
    public void Of_AnArm_HasThePercentilesOfAllItsRounds()
    {
        ResultFile result = SampleResults.Scaling();
        Lab.Latency.LatencyHistogram latency = result.Arms[0].Latency(static r => r.Service)!;

        string[][] rows = [.. LatencyFiles.Of(result, "x")
            .First().Text
            .Split('\n')
            .Skip(2)
            .Where(static l => l.Length > 0 && l[0] != '#')
            .Select(static l => l.Split(' ', StringSplitOptions.RemoveEmptyEntries))];

        Assert.Equal(0, Number(rows[0][1]));
        Assert.Equal(1, Number(rows[^1][1]));
        Assert.Equal(latency.Count, Number(rows[^1][2]));
        Assert.Equal(latency.Max / 1e6, Number(rows[^1][0]), 6);
        Assert.All(rows, r => Assert.Equal(latency.ValueAtPercentile(Number(r[1]) * 100) / 1e6, Number(r[0]), Number(r[0]) * 0.02));
    }

    [Fact]
    public void Of_NameWithSigns_IsAFileName()
    {
        ResultFile result = SampleResults.Scaling();

        string file = LatencyFiles.Of(result with { Arms = [result.Arms[0] with { Name = "@main: cpu:grain=10us/x" }] }, "weir-compare").First().File;

        Assert.Equal("weir-compare-_main__cpu_grain_10us_x-x1-service.hgrm", file);
    }

    private static double Number(string text) => double.Parse(text, CultureInfo.InvariantCulture);
}
