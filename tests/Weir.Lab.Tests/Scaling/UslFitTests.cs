using Weir.Lab.Scaling;

namespace Weir.Lab.Tests.Scaling;

public class UslFitTests
{
    // The benchmark SPEC SDM91 on a Sun SPARCcenter 2000, the example of Gunther's book.
    private static readonly (int, double)[] Sdm91 =
        [(1, 64.9), (18, 995.9), (36, 1652.4), (72, 1853.2), (108, 1828.9), (144, 1775.0), (216, 1702.2)];

    [Fact]
    public void Of_TheExampleOfTheBook_GivesItsParameters()
    {
        UslFit fit = Fit(Sdm91);

        Assert.True(fit.IsUsable, fit.Summary);
        Assert.Equal(89.9952, fit.Lambda.Value, 3);
        Assert.Equal(0.0277285, fit.Sigma.Value, 6);
        Assert.Equal(0.000104366, fit.Kappa.Value, 8);
        Assert.Equal(96.52, fit.Model.PeakWorkers, 2);
        Assert.Equal(1883.9, fit.Model.RateAt(fit.Model.PeakWorkers), 1);
        Assert.Equal(0.98956, fit.RSquared, 5);
        Assert.InRange(fit.Sigma.Value, fit.Sigma.Lower, fit.Sigma.Upper);
        Assert.True(fit.Kappa.Lower > 0 && fit.HasPeak, $"{fit.Kappa}");
        Assert.Equal("Peak 1,884/s at 96.5 workers (sigma 0.0277, kappa 0.000104, R2 0.990, unweighted).", fit.Summary);
    }

    [Fact]
    public void Of_OnlyTheWayDown_Refuses()
    {
        // Files per second of blocking reads, from 16 to 128 threads: a good R2, and no point below the peak.
        UslFit fit = Fit([(16, 22.11), (32, 19.47), (64, 16.51), (128, 13.41)]);

        Assert.False(fit.IsUsable);
        Assert.True(fit.RSquared > 0.9, $"{fit.RSquared}");
        Assert.Contains(fit.Refusals, static r => r.Contains("Sigma reaches its bound", StringComparison.Ordinal));
        Assert.Contains(fit.Refusals, static r => r.Contains("below half the peak", StringComparison.Ordinal));
        Assert.Contains(fit.Refusals, static r => r.StartsWith("4 different numbers", StringComparison.Ordinal));
        Assert.Null(fit.PeakWorkers);
        Assert.Throws<InvalidOperationException>(() => fit.RateAt(64));
    }

    [Fact]
    public void Of_ThreePoints_RefusesThoughItFitsThem()
    {
        UslFit fit = Fit([(1, 1), (3, 2.96), (7, 6.86)]);

        Assert.True(fit.RSquared > 0.999, $"{fit.RSquared}");
        Assert.Equal(0, fit.Kappa.Value, 3);
        Assert.False(fit.IsUsable);
        Assert.Null(fit.PeakRate);
        Assert.StartsWith("No fit: 3 different numbers of workers; three parameters need at least 6.", fit.Summary, StringComparison.Ordinal);
    }

    [Fact]
    public void Of_AlmostLinear_HasNoPeakInsideWhatWasMeasured()
    {
        Random random = new(9);
        UslModel truth = new(1000, 0.02, 0);
        UslFit fit = UslFit.Of(
            [.. new[] { 1, 2, 4, 8, 16, 32 }.Select(n => new ScalePoint(n, Noise.Rates(random, 8, truth.RateAt(n), 0.02)))]);

        Assert.True(fit.IsUsable, fit.Summary);
        Assert.False(fit.HasPeak);
        Assert.StartsWith("No peak inside the measured range", fit.Summary, StringComparison.Ordinal);
    }

    [Fact]
    public void Of_KnownLaw_FindsItAgain()
    {
        UslModel truth = new(250, 0.05, 0.002);
        UslFit fit = Fit([.. new[] { 1, 2, 4, 8, 16, 32, 64 }.Select(n => (n, truth.RateAt(n)))]);

        Assert.Equal(250, fit.Lambda.Value, 2);
        Assert.Equal(0.05, fit.Sigma.Value, 5);
        Assert.Equal(0.002, fit.Kappa.Value, 6);
        Assert.All(fit.Residuals, static r => Assert.Equal(0, r, 2));
        Assert.Equal(truth.RateAt(100), fit.RateAt(100), 1);
    }

    [Fact]
    public void RateAt_BeyondTwiceTheMeasured_Throws()
    {
        UslFit fit = Fit(Sdm91);

        Assert.Equal(432, fit.LargestWorkers);
        Assert.Throws<ArgumentOutOfRangeException>(() => fit.RateAt(433));
    }

    [Fact]
    public void Of_CollapseAtTheSecondWorker_KeepsWithinTheBounds()
    {
        UslFit fit = Fit([(1, 100), (2, 30), (4, 35), (8, 36), (16, 36), (32, 35)]);

        Assert.InRange(fit.Sigma.Value, 0, 1);
        Assert.True(fit.Kappa.Value >= 0);
        Assert.False(fit.IsUsable);
    }

    [Fact]
    public void Of_BadPoints_Throws()
    {
        Assert.Throws<ArgumentException>(static () => UslFit.Of([]));
        Assert.Throws<ArgumentException>(static () => Fit([(1, 5), (1, 6)]));
        Assert.Throws<ArgumentException>(static () => Fit([(1, 0)]));
    }

    private static UslFit Fit((int Workers, double Rate)[] points) =>
        UslFit.Of([.. points.Select(static p => new ScalePoint(p.Workers, [p.Rate]))]);
}
