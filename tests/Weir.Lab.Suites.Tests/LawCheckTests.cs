using Weir.Tables.SelfChecks;

namespace Weir.Lab.Suites.Tests;

public class LawCheckTests
{
    private static readonly LawOutcome Amdahl =
        new("amdahl", "that computes", Counts: 6, HasPeak: false, Parameters: 2, Series: 1_000) { Right = 1_000, Lambda = 950, Sigma = 950 };

    [Theory]
    [InlineData(950, 0, 950, 950, true)]
    [InlineData(949, 0, 949, 949, false)]
    [InlineData(1_000, 50, 950, 950, true)]
    [InlineData(1_000, 51, 950, 950, false)]
    [InlineData(1_000, 0, 937, 950, true)]
    [InlineData(1_000, 0, 936, 950, false)]
    [InlineData(1_000, 0, 950, 936, false)]
    public void Section_SixCounts_IsMetByNamesPeaksAndIntervals(int right, int peaks, int lambda, int sigma, bool isMet) =>
        Assert.Equal(isMet, LawCheck.Section([Amdahl with { Right = right, Peaks = peaks, Lambda = lambda, Sigma = sigma }]).IsMet);

    [Fact]
    public void Section_PeakOfALawThatHasOne_IsNotInvented() => Assert.True(LawCheck.Section([Amdahl with { HasPeak = true, Peaks = 1_000 }]).IsMet);

    [Theory]
    [InlineData(950, 0, true)]
    [InlineData(949, 0, false)]
    [InlineData(1_000, 1, false)]
    public void Section_FourCountsOfALawWithAPeak_IsMetIfHardlyAnythingIsNamed(int refused, int peaks, bool isMet) => Assert.Equal(
        isMet, LawCheck.Section([Amdahl with { Counts = 4, HasPeak = true, Right = 0, Lambda = 0, Sigma = 0, Refused = refused, Peaks = peaks }]).IsMet);

    [Theory]
    [InlineData(950, 950, true)]
    [InlineData(949, 949, false)]
    [InlineData(1_000, 936, false)]
    public void Section_FourCountsOfAnotherLaw_IsMetAsWithSix(int right, int held, bool isMet) =>
        Assert.Equal(isMet, LawCheck.Section([Amdahl with { Counts = 4, Right = right, Lambda = right, Sigma = held }]).IsMet);

    [Fact]
    public void Run_OfRecordedNoise_SaysTheSameEachTimeAndIsMet()
    {
        CheckSection section = LawCheck.Run();

        Assert.Equal(section, LawCheck.Run());
        Assert.False(section.NeedsQuiet);
        Assert.True(section.IsMet, section.Table);
        Assert.Equal(2, section.Table.Split("| 4 | 0.0 % | 100.0 % | 0.0 % | - | - | - |").Length - 1);
    }
}
