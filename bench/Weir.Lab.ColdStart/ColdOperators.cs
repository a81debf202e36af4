namespace Weir.Lab.ColdStart;

/// <summary>The operators over sequences.</summary>
internal static class ColdOperators
{
    public static Task<long> ListAsync() => ListAsync(new() { MaxDegreeOfParallelism = ColdArms.Limit });

    public static Task<long> RetriesAsync() => ListAsync(new() { MaxDegreeOfParallelism = ColdArms.Limit, MaxRetries = 3 });

    public static Task<long> ItemTimeoutAsync() => ListAsync(new() { MaxDegreeOfParallelism = ColdArms.Limit, PerItemTimeout = TimeSpan.FromSeconds(10) });

    public static async Task<long> OutcomesAsync()
    {
        long sum = 0;
        foreach (ItemOutcome<int, int> outcome in await ColdItems.Numbers()
            .SelectParallelOutcomesAsync(ColdItems.TwiceAsync, new() { MaxDegreeOfParallelism = ColdArms.Limit }))
        {
            sum += outcome.GetValueOrThrow();
        }

        return sum;
    }

    public static Task<long> StreamAsync() => StreamAsync(new() { MaxDegreeOfParallelism = ColdArms.Limit });

    public static Task<long> OrderedStreamAsync() => StreamAsync(new() { MaxDegreeOfParallelism = ColdArms.Limit, OrderedOutput = true });

    public static async Task<long> ForEachAsync()
    {
        int[] items = ColdItems.Numbers();
        int[] results = new int[items.Length];
        await items.ForEachParallelAsync(
            async (item, token) => results[item - 1] = await ColdItems.TwiceAsync(item, token),
            new() { MaxDegreeOfParallelism = ColdArms.Limit });
        return ColdItems.SumOf(results);
    }

    public static async Task<long> BatchesAsync()
    {
        long sum = 0;
        foreach (int result in await ColdItems.Numbers().BatchParallelAsync(
            4,
            static async (batch, token) =>
            {
                int sum = 0;
                for (int i = 0; i < batch.Count; i++)
                {
                    sum += await ColdItems.TwiceAsync(batch[i], token);
                }

                return sum;
            },
            new() { MaxDegreeOfParallelism = ColdArms.Limit }))
        {
            sum += result;
        }

        return sum;
    }

    private static async Task<long> ListAsync(ParallelRunOptions options) =>
        ColdItems.SumOf(await ColdItems.Numbers().SelectParallelAsync(ColdItems.TwiceAsync, options));

    private static async Task<long> StreamAsync(ParallelRunOptions options)
    {
        long sum = 0;
        await foreach (int result in ColdItems.Numbers().SelectParallelStreamAsync(ColdItems.TwiceAsync, options))
        {
            sum += result;
        }

        return sum;
    }
}
