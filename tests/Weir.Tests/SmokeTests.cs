namespace Weir.Tests;

public class SmokeTests
{
    [Fact(Timeout = 10_000)]
    public async Task SelectParallelAsync_Array_GivesResultsInOrder()
    {
        List<int> results = await new[] { 1, 2, 3 }.SelectParallelAsync(static (x, _) => new ValueTask<int>(x * 2));
        Assert.Equal([2, 4, 6], results);
    }
}
