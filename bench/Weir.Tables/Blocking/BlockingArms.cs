using System.Threading.Tasks.Dataflow;

namespace Weir.Tables.Blocking;

/// <summary>All arms, in the order of the page; of each cell the platform's first.</summary>
internal static class BlockingArms
{
    /// <summary>The kinds, and of each who makes the calls: the platform, and Weir.</summary>
    private static readonly (string Kind, string Name, Func<int, int, Action<int>, Task> RunAsync)[] Makers =
    [
        ("operators", "Parallel.ForEachAsync", static (calls, limit, call) => Parallel.ForEachAsync(
            Enumerable.Range(0, calls),
            new ParallelOptions { MaxDegreeOfParallelism = limit },
            (item, _) =>
            {
                call(item);
                return default;
            })),
        ("operators", "ForEachParallelAsync", static (calls, limit, call) => Enumerable.Range(0, calls).ToArray().ForEachParallelAsync(
            (int item, CancellationToken _) =>
            {
                call(item);
                return default(ValueTask);
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = limit })),
        ("blocks", "the platform's ActionBlock", static (calls, limit, call) =>
            PostAsync(new System.Threading.Tasks.Dataflow.ActionBlock<int>(call, new() { MaxDegreeOfParallelism = limit }), calls)),
        ("blocks", "ActionBlock", static (calls, limit, call) =>
            PostAsync(new Dataflow.ActionBlock<int>(call, new() { MaxDegreeOfParallelism = limit }), calls)),
    ];

    public static IReadOnlyList<BlockingArm> All { get; } =
    [
        .. from kind in Makers.Select(static maker => maker.Kind).Distinct()
           from pool in Enum.GetValues<PoolState>()
           from milliseconds in new[] { 10, 100, 1_000 }
           from limit in new[] { 4, 16, 64 }
           from maker in Makers
           where maker.Kind == kind
           select new BlockingArm(pool, kind, milliseconds, limit, maker.Name, maker.RunAsync),
    ];

    private static Task PostAsync(ITargetBlock<int> block, int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            block.Post(i);
        }

        block.Complete();
        return block.Completion;
    }
}
