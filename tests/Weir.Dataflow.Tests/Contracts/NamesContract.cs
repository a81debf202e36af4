using Weir.Dataflow.Tests.Blocks;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>What does a block call itself?</summary>
public abstract class NamesContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void ToString_DefaultFormat_IsTypeAndTaskId(BlockKind kind)
    {
        IDataflowBlock block = Blocks.Create(kind).Block;
        Assert.Equal($"{block.GetType().Name} Id={block.Completion.Id}", block.ToString());
    }

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void ToString_OwnFormat_IsFilledIn(BlockKind kind)
    {
        IDataflowBlock block = Blocks.Create(kind, new BlockSettings { NameFormat = "<{1}|{0}>" }).Block;
        Assert.Equal($"<{block.Completion.Id}|{block.GetType().Name}>", block.ToString());
    }

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void ToString_FormatWithoutHoles_IsTheName(BlockKind kind) =>
        Assert.Equal("intake", Blocks.Create(kind, new BlockSettings { NameFormat = "intake" }).Block.ToString());

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void ToString_BrokenFormat_IsTheComplaint(BlockKind kind)
    {
        const string Broken = "{9}";
        string expected = Assert.Throws<FormatException>(static () => string.Format(null, Read(Broken), "a", 1)).Message;
        Assert.Equal(expected, Blocks.Create(kind, new BlockSettings { NameFormat = Broken }).Block.ToString());
    }

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void ToString_TypeName_IsMicrosoftsName(BlockKind kind)
    {
        string expected = kind switch
        {
            BlockKind.Action or BlockKind.ActionAsync => "ActionBlock`1",
            BlockKind.Transform or BlockKind.TransformAsync => "TransformBlock`2",
            BlockKind.Many or BlockKind.ManyAsync or BlockKind.ManyStream => "TransformManyBlock`2",
            BlockKind.Buffer => "BufferBlock`1",
            BlockKind.Broadcast => "BroadcastBlock`1",
            BlockKind.WriteOnce => "WriteOnceBlock`1",
            BlockKind.Batch => "BatchBlock`1",
            BlockKind.Join2 => "JoinBlock`2",
            BlockKind.Join3 => "JoinBlock`3",
            BlockKind.BatchedJoin2 => "BatchedJoinBlock`2",
            _ => "BatchedJoinBlock`3",
        };
        Assert.StartsWith(expected + " Id=", Blocks.Create(kind).Block.ToString(), StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void Completion_AskedTwice_IsOneTask(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        Assert.Same(subject.Completion, subject.Completion);
        Assert.False(subject.Completion.IsCompleted);
    }

    private static string Read(string format) => format;
}
