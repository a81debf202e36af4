namespace Weir.Lab.ColdStart;

/// <summary>First calls over items and results that are references, for which compiled code is shared.</summary>
internal static class ColdReferences
{
    public static async Task<long> ForEachAsync()
    {
        string[] items = ColdItems.Texts();
        string[] results = new string[items.Length];
        await Parallel.ForEachAsync(
            Enumerable.Range(0, items.Length),
            new ParallelOptions { MaxDegreeOfParallelism = ColdArms.Limit },
            async (index, token) => results[index] = await ColdItems.TwiceAsync(items[index], token));
        return ColdItems.SumOf(results);
    }

    public static async Task<long> WhenAllAsync() =>
        ColdItems.SumOf(await Task.WhenAll(ColdItems.Texts().Select(static item => ColdItems.TwiceAsync(item, default).AsTask())));

    public static async Task<long> ListAsync() =>
        ColdItems.SumOf(await ColdItems.Texts().SelectParallelAsync(ColdItems.TwiceAsync, new() { MaxDegreeOfParallelism = ColdArms.Limit }));

    public static async Task<long> StreamAsync()
    {
        long sum = 0;
        await foreach (string result in ColdItems.Texts().SelectParallelStreamAsync(ColdItems.TwiceAsync, new() { MaxDegreeOfParallelism = ColdArms.Limit }))
        {
            sum += result.Length;
        }

        return sum;
    }
}
