using Weir.Cli.Programs;

namespace Weir.Cli.Tests.Programs;

public class ShellStartTests
{
    private static readonly ShellStart Start = Of(0.001, 0.002, 0.001, 0.003, 0.009);

    [Fact]
    public void Of_SomeRuns_IsTheLowerQuartile() => Assert.Equal(0.001, Start.Of(static e => e.Seconds));

    [Theory]
    [InlineData(0.0005, false)]
    [InlineData(0.0029, false)]
    [InlineData(0.0031, true)]
    [InlineData(1, true)]
    public void CanBeTaken_OfALengthOfTime_WhenTheRestIsLongerThanTheShellsOwnRunsLieApart(double seconds, bool can) =>
        Assert.Equal(can, Start.CanBeTaken(seconds));

    [Fact]
    public void CanBeTaken_OfShellsThatAreAllAlike_WhenTheRestIsAQuarterOfThem()
    {
        ShellStart start = Of(0.004, 0.004, 0.004);

        Assert.True(start.CanBeTaken(0.0051));
        Assert.False(start.CanBeTaken(0.0049));
    }

    private static ShellStart Of(params double[] seconds)
    {
        ShellStart start = new();
        foreach (double one in seconds)
        {
            start.Add(new ProgramEnd(one, 0, 0, 0, null, 0));
        }

        return start;
    }
}
