using System.Threading.Tasks.Dataflow;

namespace Weir.Lab.ColdStart;

/// <summary>What comes with .NET.</summary>
internal static class ColdPeers
{
    public static async Task<long> ForEachAsync()
    {
        int[] items = ColdItems.Numbers();
        int[] results = new int[items.Length];
        await Parallel.ForEachAsync(
            Enumerable.Range(0, items.Length),
            new ParallelOptions { MaxDegreeOfParallelism = ColdArms.Limit },
            async (index, token) => results[index] = await ColdItems.TwiceAsync(items[index], token));
        return ColdItems.SumOf(results);
    }

    public static async Task<long> WhenAllAsync() =>
        ColdItems.SumOf(await Task.WhenAll(ColdItems.Numbers().Select(static item => ColdItems.TwiceAsync(item, default).AsTask())));

    public static async Task<long> BlockAsync()
    {
        long sum = 0;
        ActionBlock<int> block = new(item => sum += item * 2);
        foreach (int item in ColdItems.Numbers())
        {
            block.Post(item);
        }

        block.Complete();
        await block.Completion;
        return sum;
    }
}
