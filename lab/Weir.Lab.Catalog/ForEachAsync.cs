namespace Weir.Lab.Catalog;

/// <summary><c>Parallel.ForEachAsync</c>, made to keep its results in source order: each body writes to its item's place.</summary>
internal static class ForEachAsync
{
    /// <remarks>The array is made with the true count also for a lazy source; that favours this peer.</remarks>
    public static async Task<int[]> RunAsync(IEnumerable<int> source, int count, int limit, ItemCall call, CancellationToken token = default)
    {
        int[] results = new int[count];
        ParallelOptions options = new() { MaxDegreeOfParallelism = limit, CancellationToken = token };
        if (source is IList<int> items)
        {
            await Parallel.ForEachAsync(
                Enumerable.Range(0, count),
                options,
                async (index, stop) => results[index] = await call(items[index], stop));
        }
        else
        {
            await Parallel.ForEachAsync(
                source.Index(),
                options,
                async (pair, stop) => results[pair.Index] = await call(pair.Item, stop));
        }

        return results;
    }
}
