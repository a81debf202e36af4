using Weir.Lab.Results;
using Weir.Tables.SelfChecks;

namespace Weir.Lab.Suites.Tests;

public class ProfileCheckTests
{
    private const string Computes = "Weir.Lab.Suites.PlantedHotSpot.Computes";
    private const string Sleeps = "Weir.Lab.Suites.PlantedWaits.SleepsInTheSystem";

    [Theory]
    [InlineData(95, 5, true)]
    [InlineData(94, 6, false)]
    [InlineData(0, 100, false)]
    public void Section_SharesOfWork_AreMetByTheHotMethod(int hot, int others, bool isMet) =>
        Assert.Equal(isMet, ProfileCheck.Section([(0, Hot(99, 1), Sleeping(90, 10, 0)), (4, Hot(hot, others), Sleeping(90, 10, 0))]).IsMet);

    [Theory]
    [InlineData(60, 40, 0, true)]
    [InlineData(50, 50, 0, false)]
    [InlineData(60, 0, 61, false)]
    [InlineData(0, 40, 0, false)]
    public void Section_NativeCallThatSleeps_IsMetIfMostOfItWaitsThere(int there, int work, int elsewhere, bool isMet) =>
        Assert.Equal(isMet, ProfileCheck.Section([(0, Hot(99, 1), Sleeping(90, 10, 0)), (4, Hot(99, 1), Sleeping(there, work, elsewhere))]).IsMet);

    [Fact]
    public void Section_NoProfile_IsNotMet() => Assert.False(ProfileCheck.Section([(0, SelfCheckResults.Of(), Sleeping(90, 10, 0))]).IsMet);

    private static ResultFile Hot(int hot, int others) => SelfCheckResults.Profiled(SelfCheckResults.Arm(
        100, 100, [($"{Computes};Weir.Lab.Suites.PlantedHotSpot.Hot", hot), (ProfileRecord.LabLoop, others)]));

    private static ResultFile Sleeping(int there, int work, int elsewhere) => SelfCheckResults.Profiled(SelfCheckResults.Arm(
        100, 100, [(Sleeps, work)], (Sleeps, there), ("Other.Code;System.Threading.Thread.Sleep", elsewhere)));
}
