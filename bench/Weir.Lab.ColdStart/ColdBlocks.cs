using Weir.Dataflow;

namespace Weir.Lab.ColdStart;

/// <summary>The blocks of Weir.Dataflow. The text is that of the peer, but for one using.</summary>
internal static class ColdBlocks
{
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
