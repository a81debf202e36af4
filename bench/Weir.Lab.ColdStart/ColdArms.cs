namespace Weir.Lab.ColdStart;

/// <summary>All arms, in the order of the page; of each work the baseline first.</summary>
internal static class ColdArms
{
    /// <summary>How many items a call has.</summary>
    public const int Count = 20;

    /// <summary>What the doubled items add up to.</summary>
    public const long Sum = (long)Count * (Count + 1);

    /// <summary>How many are in flight at once.</summary>
    public const int Limit = 8;

    private const string Operators = "operators, 20 numbers that suspend once";
    private const string References = "operators, 20 references that suspend once";
    private const string Runtimes = "runtimes, 20 numbers that suspend once";
    private const string Blocks = "blocks, 20 messages";

    public static IReadOnlyList<ColdArm> All { get; } =
    [
        new(Operators, "Parallel.ForEachAsync", ColdPeers.ForEachAsync, ColdKind.Baseline),
        new(Operators, "Task.WhenAll", ColdPeers.WhenAllAsync, ColdKind.Peer),
        new(Operators, "SelectParallelAsync", ColdOperators.ListAsync),
        new(Operators, "SelectParallelAsync, retries", ColdOperators.RetriesAsync),
        new(Operators, "SelectParallelAsync, time limit an item", ColdOperators.ItemTimeoutAsync),
        new(Operators, "SelectParallelOutcomesAsync", ColdOperators.OutcomesAsync),
        new(Operators, "SelectParallelStreamAsync", ColdOperators.StreamAsync),
        new(Operators, "SelectParallelStreamAsync, ordered", ColdOperators.OrderedStreamAsync),
        new(Operators, "ForEachParallelAsync", ColdOperators.ForEachAsync),
        new(Operators, "BatchParallelAsync", ColdOperators.BatchesAsync),
        new(References, "Parallel.ForEachAsync", ColdReferences.ForEachAsync, ColdKind.Baseline),
        new(References, "Task.WhenAll", ColdReferences.WhenAllAsync, ColdKind.Peer),
        new(References, "SelectParallelAsync", ColdReferences.ListAsync),
        new(References, "SelectParallelStreamAsync", ColdReferences.StreamAsync),
        new(Runtimes, "Parallel.ForEachAsync", ColdPeers.ForEachAsync, ColdKind.Baseline),
        new(Runtimes, "DirectRuntime", ColdRuntimes.DirectAsync),
        new(Runtimes, "ConcurrentRuntime", ColdRuntimes.ConcurrentAsync),
        new(Runtimes, "ParallelRuntime", ColdRuntimes.ParallelAsync),
        new(Runtimes, "AutoRuntime", ColdRuntimes.AutoAsync),
        new(Blocks, "System.Threading.Tasks.Dataflow", ColdPeers.BlockAsync, ColdKind.Baseline),
        new(Blocks, "Weir.Dataflow", ColdBlocks.BlockAsync),
    ];

    public static ColdArm? Find(string key)
    {
        // No query: it would be compiled in each of the processes.
        foreach (ColdArm arm in All)
        {
            if (arm.Key == key)
            {
                return arm;
            }
        }

        return null;
    }
}
