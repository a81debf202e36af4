namespace Weir.Dataflow.Tests.Costs;

/// <summary>Bytes of a block that nobody has used yet. Microsoft's: 1568, 1360 and 3016 for the first three.</summary>
public class IdleSizeTests
{
    private const int Blocks = 1000;

    public static TheoryData<string, int> Sizes => new()
    {
        { "Action", 400 },
        { "Buffer", 400 },
        { "Transform", 400 },
        { "TransformMany", 440 },
        { "Broadcast", 400 },
        { "WriteOnce", 200 },
        { "Batch", 480 },
        { "Join", 800 },
        { "ActionParallel", 480 },
        { "ActionBounded", 480 },
    };

    [Theory]
    [MemberData(nameof(Sizes))]
    public void NewBlock_NeverUsed_IsSmall(string kind, int limit)
    {
        Func<object> create = Creator(kind);
        var kept = new object[Blocks];
        kept[0] = create();
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < kept.Length; i++)
        {
            kept[i] = create();
        }

        long each = (GC.GetAllocatedBytesForCurrentThread() - before) / Blocks;
        GC.KeepAlive(kept);
        Assert.InRange(each, 1, limit);
    }

    private static Func<object> Creator(string kind)
    {
        var two = new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 2 };
        var bounded = new ExecutionDataflowBlockOptions { BoundedCapacity = 10 };
        return kind switch
        {
            "Action" => static () => new ActionBlock<int>(static _ => { }),
            "Buffer" => static () => new BufferBlock<int>(),
            "Transform" => static () => new TransformBlock<int, int>(static i => i),
            "TransformMany" => static () => new TransformManyBlock<int, int>(static i => (int[])[i]),
            "Broadcast" => static () => new BroadcastBlock<int>(null),
            "WriteOnce" => static () => new WriteOnceBlock<int>(null),
            "Batch" => static () => new BatchBlock<int>(10),
            "Join" => static () => new JoinBlock<int, int>(),
            "ActionParallel" => () => new ActionBlock<int>(static _ => { }, two),
            "ActionBounded" => () => new ActionBlock<int>(static _ => { }, bounded),
            _ => throw new ArgumentOutOfRangeException(nameof(kind)),
        };
    }
}
