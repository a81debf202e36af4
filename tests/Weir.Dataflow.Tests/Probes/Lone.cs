using Weir.Dataflow.Cores;
using Weir.Dataflow.Links;

namespace Weir.Dataflow.Tests.Probes;

/// <summary>A block with one worker that leads, as a test sees it.</summary>
internal static class Lone
{
    /// <summary>Long enough for whoever else has come to leave again.</summary>
    private const int Burst = 20_000;

    public static bool Is(ParallelState? state) => state is { IsLed: true };

    public static ParallelState StateOf(object block) => ((ILeaderBlock)((ICoreTarget<int>)block).Core).Parallel;

    public static void PostUntil(ActionBlock<int> block, Func<bool> isDone) => PostUntil(block, () => block.InputCount, isDone);

    public static void PostUntil(TransformBlock<int, int> block, Func<bool> isDone) => PostUntil(block, () => block.InputCount, isDone);

    /// <summary>Posts one more where somebody did the last message just before the worker that the test watches was alone.</summary>
    public static void LeaveSomething(ActionBlock<int> block)
    {
        if (block.InputCount == 0)
        {
            Assert.True(block.Post(0));
        }
    }

    /// <summary>A call lasts while nobody else is at work in its block: the others are done all the same.</summary>
    /// <param name="degree">The block's parallelism.</param>
    /// <param name="pool">
    /// Threads of the pool that are held meanwhile. They are let go before the end is waited for: whoever awaits a block needs the pool.
    /// </param>
    public static async Task CallLasts(int degree, StarvedPool? pool = null)
    {
        using var gate = new Probes.Gate();
        ParallelState? state = null;
        int held = 0;
        int after = 0;
        var block = new ActionBlock<int>(
            _ =>
            {
                if (Volatile.Read(ref held) != 0)
                {
                    Interlocked.Increment(ref after);
                }
                else if (Is(state) && state is { Busy: 1, Standby: 0 } && Interlocked.Exchange(ref held, 1) == 0)
                {
                    gate.Pass();
                }
            },
            new ExecutionDataflowBlockOptions
            {
                MaxDegreeOfParallelism = degree,
                TaskScheduler = new ThreadScheduler(),
            });
        state = StateOf(block);
        PostUntil(block, () => gate.Arrived > 0);
        int before = Volatile.Read(ref after);
        for (int i = 0; i < 100; i++)
        {
            Assert.True(block.Post(i));
        }

        Eventually.True(() => Volatile.Read(ref after) >= before + 100);
        pool?.Dispose();
        gate.Open();
        block.Complete();
        await Eventually.Done(block.Completion);
        Assert.Equal(0, state.Busy);
    }

    private static void PostUntil(ITargetBlock<int> block, Func<int> waiting, Func<bool> isDone) =>
        Eventually.True(
            () =>
            {
                for (int i = 0; i < Burst && !isDone(); i++)
                {
                    block.Post(i);
                }

                // Not more than the workers get done: all of it has to be done at the end.
                SpinWait.SpinUntil(() => waiting() < Burst || isDone(), Eventually.Patience);
                return isDone();
            },
            "No worker was ever alone.");
}
