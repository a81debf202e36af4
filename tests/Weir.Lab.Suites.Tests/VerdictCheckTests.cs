using Weir.Lab.Suites.SelfChecks;

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
            .. Enumerable.Range(0, 20).Select(i => Of(i < equivalent ? "EQUIVALENT" : i < equivalent + wrong ? "FASTER" : "INCONCLUSIVE", 21)),
        ];
        KeptVerdict[] slower = [.. Enumerable.Range(0, 20).Select(i => Of(i < found ? "SLOWER" : "INCONCLUSIVE", i == 0 ? longest : 21))];
        Assert.Equal(isMet, VerdictCheck.Section(same, slower).IsMet);
    }

    private static KeptVerdict Of(string name, double seconds) => new(name, 1, 0.9, 1.1, 1, seconds, DateTimeOffset.UnixEpoch);
}
