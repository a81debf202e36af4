using FsCheck;
using FsCheck.Fluent;
using Weir.Lab.Latency;
using Weir.TestKit;

namespace Weir.Lab.Tests.Latency;

public class LatencyHistogramTests
{
    private static readonly double[] Percentiles = [0, 1, 25, 50, 90, 99, 99.9, 99.99, 100];

    // Latencies of all sizes from nothing to an hour, as often small as large, with many equal ones.
    private static readonly Gen<long> Latency = Gen.OneOf(
        Gen.Choose(0, 2_000).Select(static v => (long)v),
        from bits in Gen.Choose(0, 41)
        from mantissa in Gen.Choose(0, int.MaxValue)
        select Math.Min((1L << bits) + (long)((double)mantissa / int.MaxValue * (1L << bits)), TimeSpan.TicksPerHour * 100),
        Gen.Elements(1_000L, 1_023L, 1_024L, 1_000_000L, 3_600_000_000_000L));

    private static readonly Gen<long[]> Latencies = Gen.Choose(1, 400).SelectMany(static n => Gen.ArrayOf(Latency, n));

    [Fact]
    public void ValueAtPercentile_AnyLatencies_IsTheExactOneToThreeDigits() => Generated.ForAll(Latencies, static values =>
    {
        LatencyHistogram histogram = Of(values);
        long[] sorted = [.. values.Order()];
        foreach (double percentile in Percentiles)
        {
            long exact = sorted[Rank(percentile, sorted.Length) - 1];
            long value = histogram.ValueAtPercentile(percentile);
            Assert.True(Math.Abs(value - exact) <= exact / 1000.0, $"p{percentile}: {value} instead of {exact}");
        }
    });

    [Fact]
    public void Merge_AnyParts_IsTheHistogramOfAll() => Generated.ForAll(
        from left in Latencies from right in Latencies select (left, right),
        static parts =>
        {
            LatencyHistogram merged = Of(parts.left);
            merged.Merge(Of(parts.right));
            AssertSame(Of([.. parts.left, .. parts.right]), merged);
        },
        cases: 60);

    [Fact]
    public void Decode_AnyHistogram_GivesTheSameOne() => Generated.ForAll(
        Latencies, static values => AssertSame(Of(values), HistogramCodec.Decode(HistogramCodec.Encode(Of(values)))), cases: 60);

    [Fact]
    public void Index_EveryBucket_HoldsExactlyItsValues()
    {
        long next = 0;
        for (int i = 0; i < HistogramLayout.Buckets; i++)
        {
            Assert.Equal(next, HistogramLayout.LeastOf(i));
            Assert.Equal(i, HistogramLayout.IndexOf(next));
            next += HistogramLayout.WidthOf(i);
            Assert.Equal(i, HistogramLayout.IndexOf(next - 1));
        }

        Assert.Equal(HistogramLayout.Greatest, next - 1);
        Assert.True(HistogramLayout.Greatest > TimeSpan.FromHours(1).TotalNanoseconds);
    }

    [Fact]
    public void Record_OutsideTheRange_CountsAtTheEnds()
    {
        LatencyHistogram histogram = Of([-5, long.MaxValue]);

        Assert.Equal(2, histogram.Count);
        Assert.Equal(1, histogram.Saturated);
        Assert.Equal(0, histogram.Min);
        Assert.Equal(HistogramLayout.Greatest, histogram.Max);
    }

    [Fact]
    public void Record_ManyTimes_AllocatesNothing()
    {
        LatencyHistogram histogram = new();
        long rounds = 0;
        long least = Allocated.Least(() =>
        {
            rounds++;
            for (int i = 0; i < 10_000; i++)
            {
                histogram.Record(i * 1_000L);
            }
        });
        Assert.Equal(0, least);
        Assert.Equal(rounds * 10_000, histogram.Count);
    }

    [Fact(Timeout = 300_000)]
    public async Task RecordShared_ManyThreads_LosesNothing()
    {
        LatencyHistogram histogram = new();
        await Task.WhenAll(Enumerable.Range(0, 4).Select(worker => Task.Run(() =>
        {
            for (int i = 0; i < 20_000; i++)
            {
                histogram.RecordShared((worker * 20_000) + i);
            }
        })));

        Assert.Equal(80_000, histogram.Count);
        Assert.Equal((0, 79_999), (histogram.Min, histogram.Max));
        Assert.Equal(39_999.5, histogram.Mean, 6);
    }

    [Fact]
    public void Merge_OneSlowWorkerOfEight_ShowsTheTailThatAveragedPercentilesHide()
    {
        LatencyHistogram[] workers =
        [
            .. Enumerable.Range(0, 7).Select(static _ => Of([.. Enumerable.Repeat(2_000L, 1_000)])),
            Of([.. Enumerable.Repeat(500_000L, 1_000)]),
        ];
        LatencyHistogram all = new();
        Array.ForEach(workers, all.Merge);

        Assert.InRange(all.ValueAtPercentile(99), 499_500, 500_500);
        Assert.InRange(workers.Average(static w => w.ValueAtPercentile(99)), 60_000, 70_000);
    }

    [Fact]
    public void ShareAtOrBelow_Values_CountsThoseUpToIt()
    {
        LatencyHistogram histogram = Of([10, 20, 30, 40]);

        Assert.Equal([0, 0.25, 0.75, 1], new[] { 9L, 10, 39, 1_000_000 }.Select(histogram.ShareAtOrBelow));
    }

    [Theory]
    [InlineData("***")]
    [InlineData("AQ==")]
    [InlineData("Ag==")]
    public void Decode_SomethingElse_Throws(string text) => Assert.Throws<FormatException>(() => HistogramCodec.Decode(text));

    [Theory]
    [InlineData(-1)]
    [InlineData(100.1)]
    [InlineData(double.NaN)]
    public void ValueAtPercentile_NoPercentile_Throws(double percentile) =>
        Assert.Throws<ArgumentOutOfRangeException>(() => new LatencyHistogram().ValueAtPercentile(percentile));

    [Fact]
    public void Empty_Histogram_IsAllZero()
    {
        LatencyHistogram histogram = new();

        Assert.Equal((0, 0, 0, 0), (histogram.Count, histogram.Min, histogram.Max, histogram.ValueAtPercentile(99)));
        AssertSame(histogram, HistogramCodec.Decode(HistogramCodec.Encode(histogram)));
    }

    internal static LatencyHistogram Of(IEnumerable<long> values)
    {
        LatencyHistogram histogram = new();
        foreach (long value in values)
        {
            histogram.Record(value);
        }

        return histogram;
    }

    private static int Rank(double percentile, int count)
    {
        // In decimal, where 99.9 is exact.
        decimal exact = (decimal)percentile / 100 * count;
        return Math.Clamp((int)Math.Ceiling(exact), 1, count);
    }

    private static void AssertSame(LatencyHistogram expected, LatencyHistogram actual)
    {
        Assert.Equal(expected.Counts, actual.Counts);
        Assert.Equal(
            (expected.Min, expected.Max, expected.Sum, expected.Saturated), (actual.Min, actual.Max, actual.Sum, actual.Saturated));
    }
}
