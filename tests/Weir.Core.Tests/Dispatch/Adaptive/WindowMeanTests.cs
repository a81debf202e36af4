using Weir.Core.Dispatch;

namespace Weir.Core.Tests.Dispatch.Adaptive;

/// <summary>How far the mean of a window's latencies can be trusted.</summary>
public class WindowMeanTests
{
    [Fact]
    public void Error_CallsThatEndTogether_AreOneObservation()
    {
        WindowMean mean = Of(16, calls: 1, static i => 1000 + i, static i => 5000 + i);
        Assert.Equal(0.5, mean.Error(out int moments));
        Assert.Equal(1, moments);
        Assert.Equal(1007.5, mean.Value);
    }

    [Fact]
    public void Error_TwoMoments_IsThatOfTheirMeansHoweverManyCallsTheyHold()
    {
        WindowMean mean = Of(16, calls: 1, static i => i < 8 ? 1000 : 3000, static i => i < 8 ? 5000 : 7000);

        // Two values, 1,000 on either side of 2,000: a spread of sqrt(2) / 2.
        Assert.Equal(0.5, mean.Error(out int moments), 1e-9);
        Assert.Equal(2, moments);
    }

    [Fact]
    public void Error_CallsThatEndApart_IsTheStandardErrorOfTheMean()
    {
        WindowMean mean = Of(16, calls: 1, static i => i % 2 == 0 ? 900 : 1100, static i => 1000 * i);
        Assert.Equal(0.1 * Math.Sqrt(16.0 / 15) / 4, mean.Error(out int moments), 1e-9);
        Assert.Equal(16, moments);
    }

    [Fact]
    public void Error_SampleOfManyCalls_CountsAsManyInTheMeanAndOnceInTheError()
    {
        WindowMean mean = Of(8, calls: 100, static i => i % 2 == 0 ? 90 : 110, static i => 1000 * i);
        Assert.Equal(100, mean.Value);
        Assert.Equal(0.1 * Math.Sqrt(8.0 / 7) / Math.Sqrt(8), mean.Error(out int moments), 1e-9);
        Assert.Equal(8, moments);
    }

    [Fact]
    public void Error_NoCall_IsZero()
    {
        WindowMean mean = default;
        Assert.Equal(0, mean.Value);
        Assert.Equal(0, mean.Error(out int moments));
        Assert.Equal(0, moments);
    }

    private static WindowMean Of(int samples, int calls, Func<int, double> latency, Func<int, long> ended)
    {
        WindowMean mean = default;
        for (int i = 0; i < samples; i++)
        {
            mean.Add(latency(i), calls, ended(i));
        }

        return mean;
    }
}
