using Weir.Cli.Kit.Progress;
using Weir.TestKit;

namespace Weir.Cli.Tests.Progress;

public sealed class RemainingTimeTests
{
    [Theory]
    [InlineData(10, 1, 40, ", about 390 s left", false)]
    [InlineData(2, 1, 40, ", about 78 s left", true)]
    [InlineData(10, 1, 40, ", about 6 min left", true)]
    [InlineData(10, 30, 40, ", about 4 s left", true)]
    [InlineData(0.3, 1, 2, ", about 1 s left", true)]
    [InlineData(600, 1, 40, ", about 6.5 h left", true)]
    [InlineData(10, 40, 40, "", true)]
    [InlineData(10, 0, 40, "", true)]
    public void After_SomeSteps_IsWhatTheOthersTakeIfTheyAreAlike(double seconds, int done, int steps, string expected, bool equal)
    {
        ManualTimeProvider time = new();
        RemainingTime remaining = new(time, steps);
        time.Advance(TimeSpan.FromSeconds(seconds));
        Assert.Equal(equal, expected == remaining.After(done));
    }
}
