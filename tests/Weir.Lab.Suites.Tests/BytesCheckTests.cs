using Weir.Lab.Results;
using Weir.Lab.Statistics;
using Weir.Tables.SelfChecks;

namespace Weir.Lab.Suites.Tests;

public class BytesCheckTests
{
    [Theory]
    [InlineData(Verdict.Equivalent, 0, Verdict.More, 24, true)]
    [InlineData(Verdict.Equivalent, 0, Verdict.More, 32, false)]
    [InlineData(Verdict.Equivalent, 0, Verdict.Equivalent, 0, false)]
    [InlineData(Verdict.Equivalent, 0, Verdict.Inconclusive, 24, false)]
    [InlineData(Verdict.More, 24, Verdict.More, 24, false)]
    [InlineData(Verdict.Less, -24, Verdict.More, 24, false)]
    [InlineData(Verdict.Inconclusive, 0, Verdict.More, 24, false)]
    public void Section_OneOfThreeDiffers_IsMetByWhatIsExact(Verdict same, double ofSame, Verdict more, double ofMore, bool isMet)
    {
        ResultFile[] allSame = [Of(Verdict.Equivalent, 0), Of(Verdict.Equivalent, 0), Of(same, ofSame)];
        ResultFile[] allMore = [Of(Verdict.More, 24), Of(Verdict.More, 24), Of(more, ofMore)];

        Assert.Equal(isMet, BytesCheck.Section(allSame, allMore).IsMet);
    }

    [Fact]
    public void Section_BytesThatVary_IsNotMetOnAnyMachine()
    {
        ComparisonRecord varies = Of(Verdict.More, 24).Comparisons[0] with { Low = 1.01, High = 1.04 };

        CheckSection section = BytesCheck.Section([Of(Verdict.Equivalent, 0)], [SelfCheckResults.Of(varies)]);

        Assert.Equal((false, false), (section.IsMet, section.NeedsQuiet));
    }

    [Fact]
    public void Section_NothingCompared_IsNotMetBecauseOfTheMachine()
    {
        CheckSection section = BytesCheck.Section([Of(Verdict.Equivalent, 0)], [SelfCheckResults.Of()]);

        Assert.Equal((false, true), (section.IsMet, section.NeedsQuiet));
    }

    private static ResultFile Of(Verdict verdict, double more) => SelfCheckResults.Of(
        SelfCheckResults.Compared(ComparedFigure.Bytes, verdict, 1.024, 1.024) with { AgainstValue = 1024, Value = 1024 + more });
}
