using System.Reflection;
using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Additions;

/// <summary>The ways in that a block has of its own, past its interfaces: those are the extension methods of the same names, in the contracts.</summary>
public class OwnMembersTests
{
    private static readonly WeirBlocks Blocks = new();

    [Theory(Timeout = Eventually.Limit)]
    [MemberData(nameof(Kinds.SingleInput), MemberType = typeof(Kinds))]
    public async Task Completed_EveryWayIn_Declines(BlockKind kind)
    {
        foreach (int bound in kind == BlockKind.WriteOnce ? [-1] : new[] { -1, 8 })
        {
            IDataflowBlock block = Blocks.Create(kind, new BlockSettings { Bound = bound }).Block;
            block.Complete();
            Assert.False((bool)Call(block, "Post", "late"));
            Assert.False(await (Task<bool>)Call(block, "SendAsync", "late"));
            Assert.False(await (Task<bool>)Call(block, "SendAsync", "late", CancellationToken.None));
            Assert.False(await (ValueTask<bool>)Call(block, "SendValueAsync", "late", CancellationToken.None));
        }
    }

    [Theory(Timeout = Eventually.Limit)]
    [MemberData(nameof(Kinds.SingleInput), MemberType = typeof(Kinds))]
    public async Task TokenCancelled_EverySend_IsCancelled(BlockKind kind)
    {
        IDataflowBlock block = Blocks.Create(kind).Block;
        CancellationToken cancelled = new(canceled: true);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => (Task<bool>)Call(block, "SendAsync", "late", cancelled));
        await Assert.ThrowsAnyAsync<OperationCanceledException>(async () => await (ValueTask<bool>)Call(block, "SendValueAsync", "late", cancelled));
    }

    private static object Call(IDataflowBlock block, string method, params object[] arguments) =>
        block.GetType().GetMethod(method, BindingFlags.Public | BindingFlags.Instance, [.. arguments.Select(static a => a.GetType())])!.Invoke(
            block, arguments)!;
}
