using Weir.Lab.Results;
using Weir.Lab.Statistics;
using Weir.Tables.SelfChecks;

namespace Weir.Lab.Suites.Tests;

public class GateCheckTests
{
    private static readonly ResultFile Undecided = Of(Verdict.Inconclusive);

    [Theory]
    [InlineData(Verdict.Equivalent, Verdict.Slower, true)]
    [InlineData(Verdict.Inconclusive, Verdict.Inconclusive, true)]
    [InlineData(Verdict.Slower, Verdict.Slower, false)]
    [InlineData(Verdict.Equivalent, Verdict.Equivalent, false)]
    [InlineData(Verdict.Equivalent, Verdict.Faster, false)]
    public void Section_OneOfTwoDiffers_IsMetWithoutAFalseAlarmAndWithAWordOnTheRest(Verdict same, Verdict longer, bool isMet) =>
        Assert.Equal(isMet, GateCheck.Section([Undecided, Of(same)], [Of(Verdict.Slower), Of(longer)]).IsMet);

    [Fact]
    public void Section_FindsNothing_IsNotMetWhateverItWouldHaveFound() => Assert.False(GateCheck.Section([Undecided], [Undecided, Undecided]).IsMet);

    [Fact]
    public void Section_UndecidedWithoutAnInterval_IsNotMet()
    {
        ResultFile none = SelfCheckResults.Of(SelfCheckResults.Compared(ComparedFigure.Rate, Verdict.Inconclusive, 0, double.PositiveInfinity));

        CheckSection section = GateCheck.Section([Undecided], [none]);

        Assert.Equal((false, true), (section.IsMet, section.NeedsQuiet));
    }

    [Fact]
    public void Section_FalseAlarm_IsNotMetOnAnyMachine() => Assert.False(GateCheck.Section([Of(Verdict.Slower)], [Undecided]).NeedsQuiet);

    [Fact]
    public void Section_SeveralFigures_ShowsTheSmallestChange()
    {
        ResultFile both = SelfCheckResults.Of(
            SelfCheckResults.Compared(ComparedFigure.Rate, Verdict.Inconclusive, 0.5, 2),
            SelfCheckResults.Compared(ComparedFigure.P25, Verdict.Inconclusive, 0.97, 1.03));
        string smallest = FormattableString.Invariant($"{both.Comparisons[1].Detectable * 100:0.0} %");

        CheckSection section = GateCheck.Section([Undecided], [both]);

        Assert.Contains($"| 0 | 1 | 0 | {smallest} | {smallest} |", section.Table, StringComparison.Ordinal);
    }

    private static ResultFile Of(Verdict verdict) => SelfCheckResults.Of(
        SelfCheckResults.Compared(ComparedFigure.Rate, verdict), SelfCheckResults.Compared(ComparedFigure.Bytes, Verdict.Equivalent, 1, 1));
}
