using System.Threading.Tasks.Dataflow;

namespace Weir.Lab.Suites.Peers.Dataflow;

using Weir.Dataflow;

/// <summary>The cases that wait, with the forms of Weir.Dataflow that return value tasks.</summary>
internal static class WeirValueTasks
{
    /// <summary>Sends to a bounded action.</summary>
    public static async Task<long[]> SendAsync(int n, Tally tally, int bound)
    {
        var block = new ActionBlock<int>(tally.Add, new ExecutionDataflowBlockOptions { BoundedCapacity = bound });
        for (int i = 0; i < n; i++)
        {
            await block.SendValueAsync(i);
        }

        block.Complete();
        await block.Completion;
        return tally.Take();
    }

    /// <summary>One caller sends to a buffer of one message and receives it, in turn.</summary>
    public static async Task<long[]> SendReceiveAsync(int n)
    {
        var buffer = new BufferBlock<int>(new DataflowBlockOptions { BoundedCapacity = 1 });
        long sum = 0;
        for (int i = 0; i < n; i++)
        {
            await buffer.SendValueAsync(i);
            sum += await buffer.ReceiveValueAsync();
        }

        return [sum];
    }

    /// <summary>One task sends to a buffer of one message, another receives.</summary>
    public static async Task<long[]> SendReceiveTasksAsync(int n)
    {
        var buffer = new BufferBlock<int>(new DataflowBlockOptions { BoundedCapacity = 1 });
        Task sender = Task.Run(async () =>
        {
            for (int i = 0; i < n; i++)
            {
                await buffer.SendValueAsync(i);
            }
        });
        Task<long> receiver = Task.Run(async () =>
        {
            long sum = 0;
            for (int i = 0; i < n; i++)
            {
                sum += await buffer.ReceiveValueAsync();
            }

            return sum;
        });
        await sender;
        return [await receiver];
    }

    /// <summary>Each message is waited for before it is posted.</summary>
    public static async Task<long[]> ReceiveThenPostAsync(int n)
    {
        var buffer = new BufferBlock<int>();
        long sum = 0;
        for (int i = 0; i < n; i++)
        {
            ValueTask<int> received = buffer.ReceiveValueAsync();
            buffer.Post(i);
            sum += await received;
        }

        return [sum];
    }
}
