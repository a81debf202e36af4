using Weir.Core.Sinks;

namespace Weir.Core.Tests.Sinks;

public class SegmentsTests
{
    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(31)]
    [InlineData(32)]
    [InlineData(33)]
    [InlineData(100_000)]
    public void ToList_AfterWritesInAnyOrder_HasEachValueAtItsIndex(int count)
    {
        Segments<int> segments = new();
        int[] order = Enumerable.Range(0, count).ToArray();
        new Random(1).Shuffle(order);
        Parallel.ForEach(order, i => segments[i] = i + 1);
        Assert.Equal(Enumerable.Range(1, count), segments.ToList(count));
    }

    [Fact]
    public void ToList_IndexNeverWritten_HasTheDefault()
    {
        Segments<int> segments = new() { [500] = 1 };
        List<int> list = segments.ToList(501);
        Assert.Equal(1, list[500]);
        Assert.All(list.Take(500), static x => Assert.Equal(0, x));
    }
}
