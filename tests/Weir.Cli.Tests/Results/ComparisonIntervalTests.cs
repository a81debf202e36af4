using Weir.Lab.Report.Writing;
using Weir.Lab.Results;
using Weir.Lab.Statistics;

namespace Weir.Cli.Tests.Results;

public class ComparisonIntervalTests
{
    [Fact]
    public void Interval_TwoPairsFarApart_IsNoInterval()
    {
        // As two pairs of processes do that do not agree at all.
        ComparisonRecord compared = Of(2, [1, 1, 1, 1], [1, 1, 2, 2]);

        Assert.True(compared.High > 1e6);
        Assert.Equal(Verdict.Inconclusive, compared.Verdict);
        Assert.Equal("none: too few pairs (2)", compared.Interval);
        Assert.Contains("[none: too few pairs (2)]", ResultText.Sentence(compared), StringComparison.Ordinal);
        Assert.Equal("Cannot say whether b x 1 is faster or slower than a x 1: 2 pairs of processes give no interval.",
            Answer.Of(Tests.Report.Page.SampleResults.Scaling() with { Comparisons = [compared], Findings = [] }).Sentence);
    }

    [Fact]
    public void Interval_TwoPairsThatAgree_IsShown()
    {
        ComparisonRecord compared = Of(2, [1, 1, 1, 1], [1.1, 1.1, 1.1001, 1.1001]);

        Assert.True(compared.HasInterval);
        Assert.Equal(Verdict.Faster, compared.Verdict);
        Assert.Equal("1.097..1.103", compared.Interval);
    }

    private static ComparisonRecord Of(int pairs, double[] before, double[] after)
    {
        int each = before.Length / pairs;
        TurnRound[] rounds =
        [
            .. before.Select((r, i) => new TurnRound(i / each, i % each, false, r)),
            .. after.Select((r, i) => new TurnRound(i / each, i % each, true, r)),
        ];
        ArmRecord arm = new() { Name = "b", Workers = 1 };
        return Comparing.Turns(arm, arm with { Name = "a" }, rounds, new ComparisonOptions(), looks: 1, share: 1);
    }
}
