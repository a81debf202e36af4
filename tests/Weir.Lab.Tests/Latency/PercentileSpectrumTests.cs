using System.Globalization;
using Weir.Lab.Latency;

namespace Weir.Lab.Tests.Latency;

public class PercentileSpectrumTests
{
    [Fact]
    public void Of_ManyLatencies_RisesAndEndsAtTheMaximum()
    {
        LatencyHistogram histogram = LatencyHistogramTests.Of(Enumerable.Range(1, 100_000).Select(static i => i * 1_000L));

        IReadOnlyList<PercentileLine> lines = PercentileSpectrum.Of(histogram);

        Assert.Equal(lines.Select(static l => l.Percentile), lines.Select(static l => l.Percentile).Order());
        Assert.Equal(lines.Select(static l => l.Nanoseconds), lines.Select(static l => l.Nanoseconds).Order());
        Assert.Equal(new PercentileLine(100_000_000, 100, 100_000), lines[^1]);
        PercentileLine half = Assert.Single(lines, static l => l.Percentile == 50);
        Assert.InRange(half.Nanoseconds, 49_950_000, 50_050_000);
        Assert.Equal(2, half.Inverse);
        Assert.True(lines.Count > 40, $"{lines.Count} lines");
    }

    [Fact]
    public void Of_Empty_HasNoLines() => Assert.Empty(PercentileSpectrum.Of(new LatencyHistogram()));

    [Fact]
    public void Write_Histogram_IsTheFormatThatPlottersRead()
    {
        using StringWriter writer = new();
        PercentileSpectrum.Write(LatencyHistogramTests.Of([1_000_000, 1_000_000, 1_000_000, 8_000_000]), writer);

        string[] lines = writer.ToString().Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal("       Value     Percentile TotalCount 1/(1-Percentile)", lines[0]);
        string[] first = lines[1].Split(' ', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(["0.000000000000", "3", "1.00"], first[1..]);
        Assert.InRange(double.Parse(first[0], CultureInfo.InvariantCulture), 0.999, 1.001);
        Assert.Contains(lines, static l => l.EndsWith("1.000000000000          4", StringComparison.Ordinal));
        Assert.Contains("#[Max     =     8.000000, Total count    =            4]", lines);
        Assert.StartsWith("#[Mean    =     2.75", lines[^3], StringComparison.Ordinal);
    }
}
