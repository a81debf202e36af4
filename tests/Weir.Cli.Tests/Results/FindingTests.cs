using Weir.Lab.Results;
using Weir.Lab.Workers;

namespace Weir.Cli.Tests.Results;

public class FindingTests
{
    private static readonly Finding Unsteady = new(FindingLevel.Doubt, "2 rounds were repeated.") { Cause = RunCause.Repeated };

    [Fact]
    public void EachOnce_OneCauseOfSeveralProcesses_IsSaidOnce() =>
        Assert.Equal([Unsteady], Finding.EachOnce([Unsteady, Unsteady with { Text = "3 rounds were repeated." }]));

    [Fact]
    public void EachOnce_SentencesThatDifferInAFigure_AreAllSaid()
    {
        Finding[] findings = [.. new[] { 1, 10 }.Select(static size =>
            new Finding(FindingLevel.Doubt, $"Parse size={size}: every round with 1 worker was faster than any with more.", FindingKind.Scaling))];

        Assert.Equal(findings, Finding.EachOnce([.. findings, .. findings]));
    }

    [Fact]
    public void EachOnce_CauseOfTwoLevels_IsSaidTwice() =>
        Assert.Equal(2, Finding.EachOnce([Unsteady, Unsteady with { Level = FindingLevel.Invalid }]).Count());

    [Fact]
    public void Causes_OfARun_AreSaidAsItSaysThem() => Assert.Equal(Unsteady, Finding.Of(new RunRemark(RunCause.Repeated, Unsteady.Text), FindingLevel.Doubt));
}
