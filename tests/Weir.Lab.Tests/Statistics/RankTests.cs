using Weir.Lab.Statistics;

namespace Weir.Lab.Tests.Statistics;

public class RankTests
{
    [Theory]
    [InlineData(3, 0.1)]
    [InlineData(4, 0.0286)]
    [InlineData(5, 0.0079)]
    [InlineData(6, 0.0022)]
    public void Cdf_OfTheLeastU_IsHalfOfTheLeastP(int size, double p) => Assert.Equal(p, 2 * MannWhitney.Cdf(size, size, 0), 4);

    [Fact]
    public void Test_KnownSamples_GivesTheExactProbability()
    {
        // U = 4 of 16 pairs: 12 of the 70 orders have at most 4, and as many lie on the other side.
        MannWhitney result = MannWhitney.Test([1, 3, 4, 6], [2, 5, 7, 8]);

        Assert.Equal(4, result.U);
        Assert.Equal(24.0 / 70, result.P, 10);
    }

    [Fact]
    public void Test_Ties_GivesTheCorrectedApproximation()
    {
        // By hand: U = 1.5, mean 8, ties 2 x (2^3 - 2) = 12, variance 16/12 x (9 - 12/56); z = -6 / 3.4226.
        MannWhitney result = MannWhitney.Test([1, 2, 2, 4], [3, 4, 6, 7]);

        Assert.Equal(1.5, result.U);
        Assert.InRange(result.P, 0.07, 0.09);
    }

    [Fact]
    public void Test_SwappedSamples_IsTheSameOnTheOtherSide()
    {
        double[] x = [1, 5, 9, 12, 14];
        double[] y = [2, 3, 6, 7];

        Assert.Equal(MannWhitney.Test(x, y).P, MannWhitney.Test(y, x).P, 10);
        Assert.Equal(20, MannWhitney.Test(x, y).U + MannWhitney.Test(y, x).U);
    }

    [Fact]
    public void SignedRank_AllUp_GivesOneOfAllSigns()
    {
        double[] x = [.. Enumerable.Range(1, 10).Select(static i => (double)i)];

        Assert.Equal(2.0 / 1024, SignedRank.Test(x, [.. x.Select(static (v, i) => v * (1.1 + (i * 0.01)))]).P, 10);
        Assert.Equal(1, SignedRank.Test(x, x).P);
    }

    [Fact]
    public void SignedRank_KnownRanks_CountsTheWays()
    {
        // Of the 16 ways to sign 4 ranks, 0, 1, 2, 3 and 1+2 have a sum of at most 3.
        Assert.Equal(5.0 / 16, SignedRank.Cdf(4, 3), 10);
    }

    [Fact]
    public void Ratio_ShiftedSample_FindsTheFactor()
    {
        double[] baseline = [98, 100, 101, 103, 99, 102, 100.5, 99.5, 101.5, 98.5];
        RatioInterval ratio = HodgesLehmann.Ratio(baseline, [.. baseline.Select(static r => r * 1.25)], 0.95);

        Assert.Equal(1.25, ratio.Estimate, 10);
        Assert.InRange(ratio.Lower, 1.2, 1.25);
        Assert.InRange(ratio.Upper, 1.25, 1.3);
    }

    [Fact]
    public void Ratio_TooFewRounds_HasNoEnds()
    {
        RatioInterval ratio = HodgesLehmann.Ratio([1, 2], [3, 4], 0.99);

        Assert.Equal((0, double.PositiveInfinity), (ratio.Lower, ratio.Upper));
    }

    [Fact]
    public void Ratio_SeededNoise_HoldsTheTruthAboutAsOftenAsItSays()
    {
        Random random = new(7);
        int holds = Enumerable.Range(0, 400).Count(_ =>
            HodgesLehmann.Ratio(Noise.Rates(random, 10, 100, 0.05), Noise.Rates(random, 10, 120, 0.05), 0.95) is { Lower: <= 1.2, Upper: >= 1.2 });

        Assert.InRange(holds, 368, 395);
    }

    [Fact]
    public void PairedRatio_CommonDrift_IsNarrowerThanUnpaired()
    {
        Random random = new(3);
        double[] drift = [.. Enumerable.Range(0, 10).Select(static i => 100.0 * (1 + (0.1 * i)))];
        double[] x = [.. drift.Select(d => d * (1 + (0.01 * Noise.Normal(random))))];
        double[] y = [.. drift.Select(d => d * 1.1 * (1 + (0.01 * Noise.Normal(random))))];

        RatioInterval paired = HodgesLehmann.PairedRatio(x, y, 0.95);
        RatioInterval unpaired = HodgesLehmann.Ratio(x, y, 0.95);

        Assert.True(paired.Lower > 1.05 && paired.Upper < 1.15, $"{paired}");
        Assert.True(unpaired.Lower < 1, $"{unpaired}");
    }

    [Fact]
    public void Holm_Probabilities_AreMultipliedByHowManyAreLeftAndNeverFall() =>
        Assert.Equal([0.03, 0.06, 0.06, 0.02], Holm.Adjust([0.01, 0.04, 0.03, 0.005]).Select(static p => Math.Round(p, 10)));

    [Fact]
    public void Rates_NotPositive_Throw()
    {
        Assert.Throws<ArgumentException>(static () => HodgesLehmann.Ratio([1, 0], [1], 0.95));
        Assert.Throws<ArgumentException>(static () => HodgesLehmann.PairedRatio([1, 2], [1], 0.95));
    }
}
