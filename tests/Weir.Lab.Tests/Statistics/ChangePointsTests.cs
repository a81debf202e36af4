using Weir.Lab.Statistics;

namespace Weir.Lab.Tests.Statistics;

public class ChangePointsTests
{
    private const int Simulations = 400;

    [Fact]
    public void Of_HistoriesWithoutAChange_ClaimsNoMoreThanAlpha()
    {
        Random random = new(11);
        int claimed = Enumerable.Range(0, Simulations).Count(i => ChangePoints.Of(Noise(random, 40), alpha: 0.05, seed: i).Count > 0);

        // 20 are expected at most; more than 36 come once in ten thousand.
        Assert.InRange(claimed, 0, 36);
    }

    [Theory]
    [InlineData(40, 20, 0.10, 0.03)]
    [InlineData(40, 33, 0.10, 0.03)]
    [InlineData(30, 8, -0.06, 0.015)]
    [InlineData(30, 26, 0.10, 0.02)]
    public void Of_AChange_FindsItWithinOneCommit(int count, int at, double change, double noise)
    {
        Random random = new(12);
        int found = 0;
        int others = 0;
        for (int i = 0; i < Simulations; i++)
        {
            double[] values = [.. Noise(random, count, noise).Select((v, j) => v + (j >= at ? change : 0))];
            IReadOnlyList<ChangePoint> changes = ChangePoints.Of(values, seed: i);
            found += changes.Any(c => Math.Abs(c.Index - at) <= 1) ? 1 : 0;
            others += changes.Count > 1 ? 1 : 0;
        }

        // Both parts beside the change are tested as well, each at 1 %.
        Assert.InRange(found, (int)(Simulations * 0.95), Simulations);
        Assert.InRange(others, 0, (int)(Simulations * 0.08));
    }

    [Fact]
    public void Of_TwoChanges_FindsBoth()
    {
        double[] values = [.. Noise(new Random(13), 60, 0.01).Select(static (v, i) => v + (i is >= 20 and < 40 ? 0.1 : 0))];

        Assert.Equal([20, 40], ChangePoints.Of(values).Select(static c => c.Index));
    }

    [Fact]
    public void Of_ValuesOfOneStep_AreNotSplit()
    {
        int[] steps = [.. Enumerable.Range(0, 30).Select(static i => i / 3)];
        double[] values = [.. Noise(new Random(14), 30, 0.01).Select(static (v, i) => v + (i >= 16 ? 0.2 : 0))];

        ChangePoint change = Assert.Single(ChangePoints.Of(values, steps: steps));

        Assert.Contains(change.Index, new[] { 15, 18 });
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(5)]
    public void Of_TooFewValuesToTell_ClaimsNothing(int count) =>
        Assert.Empty(ChangePoints.Of([.. Enumerable.Range(0, count).Select(static i => i < 2 ? 1.0 : 2)]));

    [Fact]
    public void Of_ValuesThatAreAllAlike_ClaimsNothing() => Assert.Empty(ChangePoints.Of([.. Enumerable.Repeat(3.0, 50)]));

    [Fact]
    public void Of_SmallAlpha_MakesEnoughOrdersToReachIt() =>
        Assert.Equal(
            20, Assert.Single(ChangePoints.Of([.. Noise(new Random(15), 40, 0.01).Select(static (v, i) => v + (i >= 20 ? 1 : 0))], alpha: 0.0002)).Index);

    [Fact]
    public void Of_BadInput_IsToldAtTheCall()
    {
        Assert.Throws<ArgumentOutOfRangeException>(() => ChangePoints.Of([1], alpha: 0));
        Assert.Throws<ArgumentOutOfRangeException>(() => ChangePoints.Of([1], alpha: 1));
        Assert.Throws<ArgumentException>(() => ChangePoints.Of([1, 2], steps: [1]));
    }

    // Normal, by the method of Box and Muller.
    private static double[] Noise(Random random, int count, double deviation = 1) =>
        [.. Enumerable.Range(0, count)
            .Select(_ => deviation * Math.Sqrt(-2 * Math.Log(1 - random.NextDouble())) * Math.Cos(2 * Math.PI * random.NextDouble()))];
}
