using Weir.Lab.Results;
using Weir.Tables.SelfChecks;

namespace Weir.Lab.Suites.Tests;

public class StoredCheckTests
{
    [Theory]
    [InlineData(100, true)]
    [InlineData(80, false)]
    [InlineData(125, false)]
    public void Section_OneOfThreeRuns_IsMetIfNoneIsCalledDifferent(double rate, bool isMet)
    {
        CheckSection section = StoredCheck.Section([Of(1, 100), Of(2, 100), Of(3, rate)]);

        Assert.Equal(isMet, section.IsMet);
        Assert.False(section.NeedsQuiet);
        Assert.Contains(isMet ? "| rate | 3 | 0 | 0 | 3 | 0 |" : rate > 100 ? "| rate | 3 | 2 | 0 | 1 | 0 |" : "| rate | 3 | 0 | 2 | 1 | 0 |", section.Table,
            StringComparison.Ordinal);
    }

    [Fact]
    public void Section_DisturbedAndFewProcesses_CountsTheReasons()
    {
        CheckSection section = StoredCheck.Section([Of(1, 100, canary: 0.5), Of(2, 80, canary: 0.5), Of(3, 100), Of(4, 100, processes: 3)]);

        // Nothing is wrong, because nothing is decided.
        Assert.False(section.IsMet);
        Assert.Contains("| rate | 6 | 0 | 0 | 0 | 6 |", section.Table, StringComparison.Ordinal);
        Assert.Contains("| other programs were running when A was measured | 5 |", section.Table, StringComparison.Ordinal);
        Assert.Contains("| B has only N of at least N processes that count | 1 |", section.Table, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    public void Section_WithoutPairs_IsNotMet(int results) =>
        Assert.False(StoredCheck.Section([.. Enumerable.Range(0, results).Select(i => Of(i, 100))]).IsMet);

    private static ResultFile Of(int day, double rate, double canary = 0.01, int processes = 6) =>
        SelfCheckResults.Of(DateTimeOffset.UnixEpoch.AddDays(day)) with
    {
        Arms =
        [
            new ArmRecord
            {
                Name = "work",
                Workers = 1,
                Rounds =
                [
                    .. Enumerable.Range(0, 2 * processes).Select(i => new RoundRecord
                    {
                        Order = i + 1,
                        Process = (i / 2) + 1,
                        Operations = 1_000_000,
                        Seconds = 1,
                        Rate = rate * (1 + (0.001 * (i / 2 % 3))),
                        CanarySlowness = 1 + canary,
                        CanaryVariation = canary,
                        CanarySpeed = 1e9,
                    }),
                ],
            },
        ],
    };
}
