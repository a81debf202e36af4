using Weir.Dataflow.Tests.Probes;
using Allocated = Weir.TestKit.Allocated;

namespace Weir.Dataflow.Tests.Costs;

/// <summary>
/// Bytes of a block that nobody has used yet, and of one with its first message. Microsoft's: 1568, 1360 and 3016 for the first three. Alone, because
/// other blocks would take the places among those under way, and more of them would be made here.
/// </summary>
[Collection(nameof(WithoutOthers))]
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

    public static TheoryData<string, int> UsedSizes => new()
    {
        { "Buffer", 700 },
        { "Batch", 640 },
        { "Join", 920 },
    };

    [Theory]
    [MemberData(nameof(Sizes))]
    public void NewBlock_NeverUsed_IsSmall(string kind, int limit) => AssertSize(Creator(kind), limit);

    [Theory]
    [MemberData(nameof(UsedSizes))]
    public void NewBlock_WithItsFirstMessage_IsSmall(string kind, int limit)
    {
        Func<object> create = Creator(kind);
        Func<object> use = () =>
        {
            object block = create();
            ITargetBlock<int> target = block is JoinBlock<int, int> join ? join.Target1 : (ITargetBlock<int>)block;
            Assert.True(target.Post(1));
            return block;
        };

        // Enough places for as many again.
        object[] before = [.. Enumerable.Range(0, 5 * Blocks).Select(_ => use())];
        AssertSize(use, limit);
        GC.KeepAlive(before);
    }

    private static void AssertSize(Func<object> create, int limit)
    {
        var kept = new object[Blocks];
        kept[0] = create();
        long each = Allocated.Least(() =>
        {
            for (int i = 0; i < kept.Length; i++)
            {
                kept[i] = create();
            }
        }, (long)limit * Blocks) / Blocks;
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
