using Weir.Dataflow.Cores;
using Weir.Dataflow.Links;

namespace Weir.Dataflow.Tests.Probes;

/// <summary>A block with one worker that leads, as a test sees it.</summary>
internal static class Lone
{
    /// <summary>Long enough for whoever else has come to leave again.</summary>
    private const int Burst = 20_000;

    public static bool Is(ParallelState? state) => state is { IsLed: true };

    public static ParallelState StateOf(object block) => ((IWorksAlone)((ICoreTarget<int>)block).Core).Parallel;

    public static void PostUntil(ActionBlock<int> block, Func<bool> isDone) => PostUntil(block, () => block.InputCount, isDone);

    public static void PostUntil(TransformBlock<int, int> block, Func<bool> isDone) => PostUntil(block, () => block.InputCount, isDone);

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
