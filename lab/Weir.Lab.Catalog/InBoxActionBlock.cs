namespace Weir.Lab.Catalog;

/// <summary>A block of the platform's dataflow library. The build writes the same text with Weir's.</summary>
internal static class InBoxActionBlock
{
    public static async Task<int[]> RunAsync(int[] items, int limit, ItemCall call, CancellationToken token)
    {
        int[] results = new int[items.Length];
        ActionBlock<int> block = new(
            async index => results[index] = await call(items[index], token),
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = limit, SingleProducerConstrained = true, CancellationToken = token });
        for (int i = 0; i < items.Length; i++)
        {
            block.Post(i);
        }

        block.Complete();
        await block.Completion;
        return results;
    }
}
