using Weir.Lab.Workers;

namespace Weir.Lab.Tests;

public class TrialOrderTests
{
    [Fact]
    public void Of_ThreeArms_GoesThereAndBackAndBeginsWithAnotherEachPair()
    {
        Assert.Equal([0, 1, 2], TrialOrder.Of(3, 0));
        Assert.Equal([2, 1, 0], TrialOrder.Of(3, 1));
        Assert.Equal([1, 2, 0], TrialOrder.Of(3, 2));
        Assert.Equal([0, 2, 1], TrialOrder.Of(3, 3));
        Assert.Equal([2, 0, 1], TrialOrder.Of(3, 4));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(5)]
    public void Of_AsManyPairsAsArms_PutsEachArmInEachPlaceEquallyOften(int arms)
    {
        int[,] seen = new int[arms, arms];
        for (int round = 0; round < 2 * arms; round++)
        {
            int[] order = TrialOrder.Of(arms, round);
            for (int place = 0; place < arms; place++)
            {
                seen[order[place], place]++;
            }
        }

        Assert.All(seen.Cast<int>(), static times => Assert.Equal(2, times));
    }
}
