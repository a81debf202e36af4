using Weir.Lab.Latency;

namespace Weir.Lab.Tests.Latency;

public class KnownPercentileTests
{
    [Theory]
    [InlineData(96, 99, false)]
    [InlineData(96, 90, true)]
    [InlineData(999, 99.9, false)]
    [InlineData(1_000, 99.9, true)]
    [InlineData(1_001, 99.9, true)]
    [InlineData(2_000, 99.9, true)]
    [InlineData(0, 50, false)]
    [InlineData(1, 50, false)]
    public void Of_SomeLatencies_IsKnownWhenOneLiesBeyond(int count, double percentile, bool isKnown)
    {
        LatencyHistogram latency = Latencies(count);

        KnownPercentile? known = KnownPercentile.Of(latency, percentile, clockCost: 1);

        Assert.Equal(isKnown, known is not null);
        Assert.True(known is null || (known.Value.Beyond >= 1 && known.Value.Nanoseconds < latency.Max));
    }

    [Fact]
    public void Of_LatenciesOfTheClock_IsABound()
    {
        LatencyHistogram latency = new();
        for (int i = 0; i < 100; i++)
        {
            latency.Record(i < 90 ? 40 : 900);
        }

        Assert.Equal(new KnownPercentile(50, 50, 50, IsBound: true), KnownPercentile.Of(latency, 50, clockCost: 25));
        Assert.Equal(new KnownPercentile(95, 900, 5, IsBound: false), KnownPercentile.Of(latency, 95, clockCost: 25));
    }

    private static LatencyHistogram Latencies(int count)
    {
        LatencyHistogram latency = new();
        for (int i = 1; i <= count; i++)
        {
            latency.Record(i * 1_000);
        }

        return latency;
    }
}
