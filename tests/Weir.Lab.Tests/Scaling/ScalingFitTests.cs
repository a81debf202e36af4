using Weir.Lab.Scaling;

namespace Weir.Lab.Tests.Scaling;

public class ScalingFitTests
{
    // The benchmark SPEC SDM91 on a Sun SPARCcenter 2000, the example of Gunther's book.
    private static readonly (int, double)[] Sdm91 =
        [(1, 64.9), (18, 995.9), (36, 1652.4), (72, 1853.2), (108, 1828.9), (144, 1775.0), (216, 1702.2)];

    [Fact]
    public void Of_TheExampleOfTheBook_GivesItsParameters()
    {
        ScalingFit fit = Fit(Sdm91);

        Assert.True(fit.IsUsable, fit.Summary);
        Assert.Equal(89.9952, fit.Lambda.Value, 3);
        Assert.Equal(0.0277285, fit.Sigma.Value, 6);
        Assert.Equal(0.000104366, fit.Kappa.Value, 8);
        Assert.Equal(96.52, fit.Model.PeakWorkers, 2);
        Assert.Equal(1883.9, fit.Model.RateAt(fit.Model.PeakWorkers), 1);
        Assert.Equal(0.98956, fit.RSquared, 5);
        Assert.InRange(fit.Sigma.Value, fit.Sigma.Lower, fit.Sigma.Upper);
        Assert.True(fit.Kappa.Lower > 0 && fit.HasPeak, $"{fit.Kappa}");
        Assert.Equal(
            "Universal Scalability Law: peak 1,884/s at 96.5 workers (sigma 0.0277, kappa 0.000104, R2 0.990, unweighted). "
                + "Lack of fit is not tested: there is one rate for each worker count.",
            fit.Summary);
    }

    [Fact]
    public void Of_OnlyTheWayDown_Refuses()
    {
        // Files per second of blocking reads, from 16 to 128 threads: a good R2, and no point below the peak.
        ScalingFit fit = Fit([(16, 22.11), (32, 19.47), (64, 16.51), (128, 13.41)]);

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
        ScalingFit fit = Fit([(1, 1), (3, 2.96), (7, 6.86)]);

        Assert.True(fit.RSquared > 0.999, $"{fit.RSquared}");
        Assert.Equal(0, fit.Kappa.Value, 3);
        Assert.False(fit.IsUsable);
        Assert.Null(fit.PeakRate);
        Assert.StartsWith(
            "No fit: 3 different numbers of workers; a law needs at least 4, or 6 with one rate for each.", fit.Summary, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(0.0, 0.0, ScalingLaw.Linear)]
    [InlineData(0.03, 0.0, ScalingLaw.Amdahl)]
    [InlineData(0.03, 0.001, ScalingLaw.Universal)]
    public void Of_NoisyProcesses_NamesTheSimplestLawThatIsTrue(double sigma, double kappa, object law)
    {
        ScalingFit[] fits = [.. Enumerable.Range(0, 200).Select(seed => ScalingFit.Of(Measured(new UslModel(1000, sigma, kappa).RateAt, 0.02, 3, seed)))];

        Assert.InRange(fits.Count(f => f.IsUsable && f.Law == (ScalingLaw)law), 180, 200);
        Assert.InRange(fits.Count(static f => f.HasPeak), kappa > 0 ? 180 : 0, kappa > 0 ? 200 : 1);
        Assert.All(fits, f => Assert.True(f.Law == ScalingLaw.Universal || !f.HasPeak, f.Summary));
    }

    // The counts that people type first. Three parameters would go through them wherever they lie.
    [Theory]
    [InlineData(0.0, 0.0, ScalingLaw.Linear)]
    [InlineData(0.03, 0.0, ScalingLaw.Amdahl)]
    [InlineData(0.05, 0.04, null)]
    public void Of_FourWorkerCounts_NamesALawOfOneOrTwoParameters(double sigma, double kappa, object? law)
    {
        UslModel truth = new(1000, sigma, kappa);
        ScalingFit[] fits = [.. Enumerable.Range(0, 200).Select(seed => ScalingFit.Of(Measured(truth.RateAt, 0.01, 3, seed, [1, 2, 4, 8])))];

        Assert.InRange(fits.Count(f => f.IsUsable ? f.Law == (ScalingLaw?)law : law is null), 185, 200);
        Assert.All(fits, static f => Assert.False(f.HasPeak, f.Summary));
        if (law is null)
        {
            Assert.StartsWith(
                "No fit: 4 different numbers of workers; neither the linear law nor Amdahl's fits, and the three parameters of the Universal Scalability Law "
                    + "need at least 6.",
                fits.First(static f => !f.IsUsable).Summary,
                StringComparison.Ordinal);
        }
    }

    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(6)]
    public void Of_FewProcesses_IntervalsContainTheTruth(int processes)
    {
        UslModel truth = new(1000, 0.03, 0.001);
        ScalingFit[] fits = [.. Enumerable.Range(0, 400).Select(seed => ScalingFit.Of(Measured(truth.RateAt, 0.03, processes, seed)))];

        Assert.InRange(fits.Count(f => Contains(f.Lambda, truth.Lambda)), 370, 400);
        Assert.InRange(fits.Count(f => Contains(f.Sigma, truth.Sigma)), 370, 400);
        Assert.InRange(fits.Count(f => Contains(f.Kappa, truth.Kappa)), 370, 400);

        static bool Contains(Estimate estimate, double value) => value >= estimate.Lower && value <= estimate.Upper;
    }

    // A lock that a tenth of the work holds: ten workers keep it busy, and more change nothing. The law of least squares has its peak at 19 workers.
    [Theory]
    [InlineData(0.0, 1)]
    [InlineData(0.01, 1)]
    [InlineData(0.005, 3)]
    [InlineData(0.02, 3)]
    [InlineData(0.05, 3)]
    [InlineData(0.15, 3)]
    public void Of_LockOfATenthOfTheWork_HasNoPeak(double noise, int processes)
    {
        ScalingFit[] fits = [.. Enumerable.Range(0, 200).Select(seed => ScalingFit.Of(Measured(static n => 1000 * Math.Min(n, 10), noise, processes, seed)))];

        Assert.InRange(fits.Count(static f => f.HasPeak), 0, 2);
        if (noise <= 0.02 && processes > 1)
        {
            Assert.All(fits, static f => Assert.False(f.IsUsable, f.Summary));
            Assert.Contains("No law fits", fits[0].Summary, StringComparison.Ordinal);
        }
    }

    [Fact]
    public void Of_RatesThatOnlyOneWorkerAtATimeMakes_IsAmdahlsLaw()
    {
        ScalingFit fit = ScalingFit.Of(Measured(static _ => 1000, 0.01, 3, seed: 5));

        Assert.Equal(ScalingLaw.Amdahl, fit.Law);
        Assert.True(fit.IsUsable, fit.Summary);
        Assert.InRange(fit.Sigma.Value, 0.95, 1);
        Assert.False(fit.HasPeak);
    }

    [Fact]
    public void Of_KnownLaw_FindsItAgain()
    {
        UslModel truth = new(250, 0.05, 0.002);
        ScalingFit fit = Fit([.. new[] { 1, 2, 4, 8, 16, 32, 64 }.Select(n => (n, truth.RateAt(n)))]);

        Assert.Equal(250, fit.Lambda.Value, 2);
        Assert.Equal(0.05, fit.Sigma.Value, 5);
        Assert.Equal(0.002, fit.Kappa.Value, 6);
        Assert.All(fit.Residuals, static r => Assert.Equal(0, r, 2));
        Assert.Equal(truth.RateAt(100), fit.RateAt(100), 1);
    }

    [Fact]
    public void RateAt_BeyondTwiceTheMeasured_Throws()
    {
        ScalingFit fit = Fit(Sdm91);

        Assert.Equal(432, fit.LargestWorkers);
        Assert.Throws<ArgumentOutOfRangeException>(() => fit.RateAt(433));
    }

    [Fact]
    public void Of_CollapseAtTheSecondWorker_KeepsWithinTheBounds()
    {
        ScalingFit fit = Fit([(1, 100), (2, 30), (4, 35), (8, 36), (16, 36), (32, 35)]);

        Assert.InRange(fit.Sigma.Value, 0, 1);
        Assert.True(fit.Kappa.Value >= 0);
        Assert.False(fit.IsUsable);
    }

    [Fact]
    public void Of_BadPoints_Throws()
    {
        Assert.Throws<ArgumentException>(static () => ScalingFit.Of([]));
        Assert.Throws<ArgumentException>(static () => Fit([(1, 5), (1, 6)]));
        Assert.Throws<ArgumentException>(static () => Fit([(1, 0)]));
    }

    private static ScalePoint[] Measured(Func<double, double> truth, double noise, int processes, int seed, int[]? workers = null)
    {
        Random random = new(seed);
        return [.. (workers ?? [1, 2, 4, 8, 16, 32, 64]).Select(n => new ScalePoint(n, Noise.Rates(random, processes, truth(n), noise)))];
    }

    private static ScalingFit Fit((int Workers, double Rate)[] points) =>
        ScalingFit.Of([.. points.Select(static p => new ScalePoint(p.Workers, [p.Rate]))]);
}
