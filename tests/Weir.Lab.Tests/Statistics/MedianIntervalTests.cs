using Weir.Lab.Statistics;

namespace Weir.Lab.Tests.Statistics;

public class MedianIntervalTests
{
    [Theory]
    [InlineData(1, 1, 0)]
    [InlineData(2, 1, 0.5)]
    [InlineData(3, 1, 0.75)]
    [InlineData(5, 1, 0.9375)]
    [InlineData(6, 1, 0.96875)]
    [InlineData(8, 1, 0.9921875)]
    [InlineData(9, 2, 0.9609375)]
    [InlineData(10, 2, 0.978515625)]
    [InlineData(20, 6, 0.9586105346679688)]
    public void Of_SomeValues_HasTheRanksOfTheTables(int count, int rank, double level)
    {
        MedianInterval interval = MedianInterval.Of([.. Enumerable.Range(1, count).Select(static i => (double)i).Reverse()]);

        Assert.Equal(((count + 1) / 2.0, rank, count + 1 - rank), (interval.Median, interval.Low, interval.High));
        Assert.Equal(level, interval.Level, 12);
    }

    [Fact]
    public void Of_ManyValues_NarrowsWithTheRootOfTheirNumber()
    {
        MedianInterval interval = MedianInterval.Of([.. Enumerable.Range(1, 10_000).Select(static i => (double)i)]);

        Assert.InRange(interval.Level, 0.95, 0.952);
        Assert.InRange(interval.High - interval.Low, 190, 202);
    }

    [Theory]
    [InlineData(6)]
    [InlineData(10)]
    [InlineData(31)]
    public void Of_SkewedValues_HoldsTheTrueMedianAsOftenAsItSays(int count)
    {
        Random random = new(count);
        int held = 0;
        double level = 0;
        for (int i = 0; i < 4_000; i++)
        {
            MedianInterval interval =
                MedianInterval.Of([.. Enumerable.Range(0, count).Select(_ => Math.Exp(random.NextDouble() * random.NextDouble() * 9))], 0.9);
            level = interval.Level;

            // The median of a product of two even ones: x - x ln x = 1/2.
            double median = Math.Exp(9 * 0.18668231);
            held += interval.Low <= median && median <= interval.High ? 1 : 0;
        }

        Assert.InRange(held / 4_000.0, level - 0.02, level + 0.02);
    }

    [Fact]
    public void Of_NoValueOrNoLevel_Throws()
    {
        Assert.Throws<ArgumentException>("values", static () => MedianInterval.Of([]));
        Assert.Throws<ArgumentOutOfRangeException>("level", static () => MedianInterval.Of([1], 1));
    }
}
