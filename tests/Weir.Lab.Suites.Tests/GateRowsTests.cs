using Weir.Gate;

namespace Weir.Lab.Suites.Tests;

/// <summary>The rows of <c>eng/gate</c> do the work that their names say.</summary>
public sealed class GateRowsTests
{
    [Fact(Timeout = 60_000)]
    public async Task Rows_Each_DoesAllItems()
    {
        Assert.Equal(Enumerable.Range(1, 1_000), await EngineRows.DoneAtOnce());
        Assert.Equal(Enumerable.Range(0, 1_000), await EngineRows.Yields());
        Assert.Equal(Enumerable.Range(0, 20), await EngineRows.FanOut());
        Assert.Equal(499_500, await EngineRows.Stream());
        Assert.Equal(499_500, await EngineRows.OrderedStream());
        Assert.Equal(Enumerable.Range(0, 20), await EngineRows.Waits());
        Assert.Equal(Enumerable.Range(0, 1_000), await EngineRows.KeyedLanes());
        Assert.Equal(Enumerable.Repeat(10, 100), await EngineRows.Batches());
    }

    [Fact]
    public void Rows_Count_IsEight() =>
        Assert.Equal(8, typeof(EngineRows).GetMethods().Count(static method => method.IsStatic && method.DeclaringType == typeof(EngineRows)));
}
