using Weir.Lab.Results;
using Weir.Lab.Statistics;
using Weir.Lab.Suites.Checking;
using Weir.Tables.SelfChecks;

namespace Weir.Lab.Suites.Tests;

public class VerdictCheckTests
{
    [Theory]
    [InlineData(15, 19, 0, 40, true)]
    [InlineData(14, 19, 0, 40, false)]
    [InlineData(15, 18, 0, 40, false)]
    [InlineData(15, 19, 1, 40, false)]
    [InlineData(15, 19, 0, 40.1, false)]
    public void Section_TwentyEach_IsMetByTheGoal(int equivalent, int found, int wrong, double longest, bool isMet)
    {
        KeptVerdict[] same =
        [
            .. Enumerable.Range(0, 20)
                .Select(i => Of(i < equivalent ? Verdict.Equivalent : i < equivalent + wrong ? Verdict.Faster : Verdict.Inconclusive, 21)),
        ];
        KeptVerdict[] slower = [.. Enumerable.Range(0, 20).Select(i => Of(i < found ? Verdict.Slower : Verdict.Inconclusive, i == 0 ? longest : 21))];
        Assert.Equal(isMet, VerdictCheck.Section(VerdictGoal.Lab, [(VerdictGoal.Lab.Pairs[0], same, slower)]).IsMet);
    }

    private static KeptVerdict Of(Verdict verdict, double seconds) => new(
        new ComparisonRecord { Arm = "b", Against = "a", Ratio = 1, Low = 0.9, High = 1.1, P = 0.5, Margin = 0.03, Alpha = 0.01, Looks = 1, Verdict = verdict },
        seconds, DateTimeOffset.UnixEpoch, false);
}
