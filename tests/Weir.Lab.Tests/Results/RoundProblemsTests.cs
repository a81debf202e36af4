using Weir.Lab.Results;

namespace Weir.Lab.Tests.Results;

/// <summary>What is said of rounds that do not count.</summary>
public class RoundProblemsTests
{
    [Theory]
    [InlineData(1, false)]
    [InlineData(3, false)]
    [InlineData(4, true)]
    public void Problems_OfRoundsInTurns_AreInvalidIfNoneCounts(int leftOut, bool isInvalid)
    {
        ArmRecord arm = new()
        {
            Name = "a",
            Workers = 1,
            Rounds =
            [
                .. Enumerable.Range(0, 4).Select(i => new RoundRecord
                {
                    Turn = i, Operations = 1, Seconds = 1, Rate = 1, Problem = i < leftOut ? "Code was being compiled." : null, Disturbed = i < leftOut,
                }),
            ],
        };

        Finding finding = Assert.Single(RunRecords.Problems([arm]));

        Assert.Equal(isInvalid ? FindingLevel.Invalid : FindingLevel.Doubt, finding.Level);
    }
}
