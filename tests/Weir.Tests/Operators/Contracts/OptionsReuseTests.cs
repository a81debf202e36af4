using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Options that many runs share, and copies of them.</summary>
public class OptionsReuseTests
{
    [Fact(Timeout = Selectors.Timeout)]
    public async Task Copy_OfOptionsThatWereUsed_HasItsOwnValues()
    {
        ParallelRunOptions one = new() { MaxDegreeOfParallelism = 1, ErrorMode = ErrorMode.BestEffort };
        for (int i = 0; i < 2; i++)
        {
            Assert.Equal(1, await MostAtOnceAsync(one));
            Assert.Equal(3, await MostAtOnceAsync(one with { MaxDegreeOfParallelism = 3 }));
            Assert.Equal([ItemStatus.Failed], (await Fails(one)).Select(static o => o.Status));
            Assert.Empty(await new[] { 1 }.SelectParallelAsync(Failing, one));
            await Assert.ThrowsAsync<TestException>(() => new[] { 1 }.SelectParallelAsync(Failing, one with { ErrorMode = ErrorMode.FailFast }));
        }
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Value_OfOptionsThatWereUsed_IsThatOfNewOnes()
    {
        ParallelRunOptions used = new() { MaxDegreeOfParallelism = 2 };
        await new[] { 1 }.SelectParallelAsync(Selectors.Twice, used);
        ParallelRunOptions other = new() { MaxDegreeOfParallelism = 2 };
        Assert.Equal(other, used);
        Assert.Equal(other.GetHashCode(), used.GetHashCode());
        Assert.Equal(other.ToString(), used.ToString());
    }

    private static Task<ItemOutcome<int, int>[]> Fails(ParallelRunOptions options) => new[] { 1 }.SelectParallelOutcomesAsync(Failing, options);

    private static ValueTask<int> Failing(int item, CancellationToken token) => throw new TestException("item");

    private static async Task<int> MostAtOnceAsync(ParallelRunOptions options)
    {
        ConcurrencyProbe probe = new();
        using Gate gate = new();
        Task<List<int>> run = Enumerable.Range(0, 3).ToArray().SelectParallelAsync(
            async (x, _) =>
            {
                using (probe.Enter())
                {
                    await gate.WaitAsync();
                    return x;
                }
            },
            options);
        await probe.InsideAsync(options.MaxDegreeOfParallelism);
        gate.Open();
        await run.WithinAsync();
        return probe.Most;
    }
}
