using Weir.Lab.Statistics;

namespace Weir.Lab.Tests;

public class SpreadTests
{
    [Fact]
    public void Of_OddNumberOfValues_GivesTheMiddleOne() => Assert.Equal(new Spread(3, 1, 9), Spread.Of([9, 1, 3]));

    [Fact]
    public void Of_EvenNumberOfValues_GivesTheMeanOfTheMiddleTwo() => Assert.Equal(new Spread(2.5, 1, 9), Spread.Of([9, 2, 3, 1]));

    [Fact]
    public void Of_NoValues_Throws() => Assert.Throws<ArgumentException>(static () => Spread.Of([]));
}
