using Weir.Lab.Results;
using Weir.Lab.Statistics;

namespace Weir.Lab.Tests.Statistics;

public class ComparisonTests
{
    [Theory]
    [InlineData(1.10, 0.01, Verdict.Faster)]
    [InlineData(0.90, 0.01, Verdict.Slower)]
    [InlineData(1.00, 0.01, Verdict.Equivalent)]
    [InlineData(1.01, 0.005, Verdict.Equivalent)]
    [InlineData(1.00, 0.20, Verdict.Inconclusive)]
    public void Of_KnownRatioAndNoise_GivesTheVerdict(double ratio, double noise, Verdict verdict)
    {
        Random random = new(11);

        Comparison comparison = Comparison.Of(Noise.Rates(random, 10, 100, noise), Noise.Rates(random, 10, 100 * ratio, noise));

        Assert.Equal(verdict, comparison.Verdict);
        Assert.True(comparison.Ratio.Lower <= comparison.Ratio.Estimate && comparison.Ratio.Estimate <= comparison.Ratio.Upper);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Of_SameThingTwice_IsHardlyEverCalledDifferent(bool paired)
    {
        Random random = new(5);
        int wrong = Enumerable.Range(0, 300).Count(_ =>
            Comparison.Of(Noise.Rates(random, 10, 100, 0.06), Noise.Rates(random, 10, 100, 0.06), new ComparisonOptions { IsPaired = paired })
                .Verdict is Verdict.Faster or Verdict.Slower);

        // Alpha is 1 %.
        Assert.InRange(wrong, 0, 8);
    }

    [Fact]
    public void Of_TenPercentSlower_IsFound()
    {
        Random random = new(6);
        int found = Enumerable.Range(0, 100).Count(_ =>
            Comparison.Of(Noise.Rates(random, 10, 100, 0.03), Noise.Rates(random, 10, 90, 0.03)).Verdict == Verdict.Slower);

        Assert.True(found >= 95, $"{found} of 100");
    }

    [Fact]
    public void Of_SmallButSureDifference_IsEquivalentAndNotFaster()
    {
        Random random = new(8);

        Comparison comparison = Comparison.Of(Noise.Rates(random, 10, 100, 0.002), Noise.Rates(random, 10, 101, 0.002));

        Assert.True(comparison.P < 0.01);
        Assert.Equal(Verdict.Equivalent, comparison.Verdict);
    }

    [Fact]
    public void Of_ThreeRounds_CanSayNothing() =>
        Assert.Equal(Verdict.Inconclusive, Comparison.Of([1, 1.1, 1.2], [2, 2.1, 2.2]).Verdict);

    [Fact]
    public void Of_Adjusted_NeedsMoreForADifference()
    {
        double[] x = [100, 101, 102, 103, 104, 105];
        double[] y = [110, 111, 112, 113, 114, 115];

        Assert.Equal(Verdict.Faster, Comparison.Of(x, y).Verdict);
        Assert.Equal(Verdict.Inconclusive, Comparison.Of(x, y, adjust: static p => p * 10).Verdict);
    }

    [Fact]
    public void Of_OptionOutsideItsRange_ThrowsWithItsName() =>
        Assert.Equal(nameof(ComparisonOptions.Margin), Assert.Throws<ArgumentOutOfRangeException>(
            static () => Comparison.Of([1], [1], new ComparisonOptions { Margin = 0 })).ParamName);

    [Fact]
    public void Modality_TwoHeaps_AreFound()
    {
        Random random = new(4);
        Modality two = Modality.Of([.. Noise.Rates(random, 30, 100, 0.02), .. Noise.Rates(random, 30, 200, 0.02)]);
        Modality one = Modality.Of(Noise.Rates(random, 60, 100, 0.02));

        Assert.True(two.IsMultimodal, $"{two.MValue}");
        Assert.Contains(two.Modes, static m => m is > 90 and < 110);
        Assert.Contains(two.Modes, static m => m is > 180 and < 220);
        Assert.False(one.IsMultimodal, $"{one.MValue}");
        Assert.Single(one.Modes);
    }

    [Fact]
    public void Fairness_Shares_AreComparedInBothWays()
    {
        Fairness even = Fairness.Of([5, 5, 5, 5]);
        Fairness one = Fairness.Of([8, 0, 0, 0], TimeSpan.FromSeconds(1));
        Fairness some = Fairness.Of([1, 2, 3]);

        Assert.Equal((1, 1), (even.MinOverMax, even.Jain));
        Assert.Equal((0, 0.25, TimeSpan.FromSeconds(1)), (one.MinOverMax, one.Jain, one.LongestGap));
        Assert.Equal(36.0 / (3 * 14), some.Jain, 10);
        Assert.Equal(1.0 / 3, some.MinOverMax, 10);
    }
}
