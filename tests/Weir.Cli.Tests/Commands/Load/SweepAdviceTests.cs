using Weir.Cli.Commands.Load;
using Weir.Cli.Runtimes;

namespace Weir.Cli.Tests.Commands.Load;

public class SweepAdviceTests
{
    [Theory]
    [InlineData(100, 96, 50, "Start with concurrent/25: with 96.0 items/s the smallest within 5 % of the fastest, concurrent/100 with 100.")]
    [InlineData(94, 100, 50, "Start with concurrent/25: the fastest of these sizes, with 100 items/s.")]
    [InlineData(100, 94, 50, "Start with concurrent/100: the fastest of these sizes, with 100 items/s; larger ones may be faster still.")]
    [InlineData(100, 96, 95, "Start with concurrent/10: with 95.0 items/s the smallest within 5 % of the fastest, concurrent/100 with 100.")]
    public void Of_SizesOfAKind_IsTheSmallestThatIsFast(double atHundred, double atTwentyFive, double atTen, string advice) => Assert.Equal(
        advice,
        Assert.Single(SweepAdvice.Of([Size(100, atHundred), Size(10, atTen), Size(25, atTwentyFive),
            (new RuntimeChoice(RuntimeKind.Direct, 1, false), 1000)])));

    [Fact]
    public void Of_OneSize_IsNothing() => Assert.Empty(SweepAdvice.Of([Size(100, 5)]));

    private static (RuntimeChoice Choice, double Rate) Size(int size, double rate) => (new RuntimeChoice(RuntimeKind.Concurrent, size, true), rate);
}
