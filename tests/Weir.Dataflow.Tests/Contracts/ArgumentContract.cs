using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>Which arguments are refused, with which exception and parameter name?</summary>
public abstract class ArgumentContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    [Fact]
    public void Constructor_NullDelegate_NamesTheParameter()
    {
        var options = new ExecutionDataflowBlockOptions();
        Null("action", () => Blocks.Action<int>(null!));
        Null("action", () => Blocks.Action<int>(null!, options));
        Null("action", () => Blocks.ActionAsync<int>(null!));
        Null("action", () => Blocks.ActionAsync<int>(null!, options));
        Null("transform", () => Blocks.Transform<int, int>(null!));
        Null("transform", () => Blocks.Transform<int, int>(null!, options));
        Null("transform", () => Blocks.TransformAsync<int, int>(null!));
        Null("transform", () => Blocks.TransformAsync<int, int>(null!, options));
        Null("transform", () => Blocks.Many<int, int>(null!));
        Null("transform", () => Blocks.Many<int, int>(null!, options));
        Null("transform", () => Blocks.ManyAsync<int, int>(null!));
        Null("transform", () => Blocks.ManyAsync<int, int>(null!, options));
        Null("transform", () => Blocks.ManyStream<int, int>(null!));
        Null("transform", () => Blocks.ManyStream<int, int>(null!, options));
    }

    [Fact]
    public void Constructor_NullCloningFunction_IsAllowed()
    {
        Assert.NotNull(Blocks.Broadcast<int>(null));
        Assert.NotNull(Blocks.Broadcast<int>(null, new DataflowBlockOptions()));
        Assert.NotNull(Blocks.WriteOnce<int>(null));
        Assert.NotNull(Blocks.WriteOnce<int>(null, new DataflowBlockOptions()));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(-1)]
    [InlineData(int.MinValue)]
    public void Constructor_BatchSizeBelowOne_NamesTheParameter(int size)
    {
        Range("batchSize", () => Blocks.Batch<int>(size));
        Range("batchSize", () => Blocks.Batch<int>(size, new GroupingDataflowBlockOptions()));
        Range("batchSize", () => Blocks.BatchedJoin<int, int>(size));
        Range("batchSize", () => Blocks.BatchedJoin<int, int>(size, new GroupingDataflowBlockOptions()));
        Range("batchSize", () => Blocks.BatchedJoin<int, int, int>(size));
        Range("batchSize", () => Blocks.BatchedJoin<int, int, int>(size, new GroupingDataflowBlockOptions()));
    }

    [Fact]
    public void Constructor_BatchLargerThanTheBound_NamesTheBatchSize()
    {
        Range("batchSize", () => Blocks.Batch<int>(3, new GroupingDataflowBlockOptions { BoundedCapacity = 2 }));
        Assert.NotNull(Blocks.Batch<int>(2, new GroupingDataflowBlockOptions { BoundedCapacity = 2 }));
    }

    [Fact]
    public void Constructor_BatchedJoinNonGreedyOrBounded_NamesTheOptions()
    {
        foreach (var options in new[] { new GroupingDataflowBlockOptions { Greedy = false }, new GroupingDataflowBlockOptions { BoundedCapacity = 5 } })
        {
            Assert.Equal("dataflowBlockOptions", Assert.Throws<ArgumentException>(() => Blocks.BatchedJoin<int, int>(2, options)).ParamName);
            Assert.Equal("dataflowBlockOptions", Assert.Throws<ArgumentException>(() => Blocks.BatchedJoin<int, int, int>(2, options)).ParamName);
        }
    }

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void OfferMessage_InvalidHeader_NamesTheHeader(BlockKind kind)
    {
        foreach (ITargetBlock<string> input in Blocks.Create(kind).Inputs)
        {
            Assert.Equal("messageHeader", Assert.Throws<ArgumentException>(() => input.OfferMessage(default, "a", null, false)).ParamName);
        }
    }

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void OfferMessage_ConsumeWithoutSource_NamesTheFlag(BlockKind kind)
    {
        foreach (ITargetBlock<string> input in Blocks.Create(kind).Inputs)
        {
            Assert.Equal("consumeToAccept", Assert.Throws<ArgumentException>(() => input.OfferMessage(new(1), "a", null, true)).ParamName);
        }
    }

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void OfferMessage_InvalidArgumentsOnCompletedBlock_StillThrow(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        subject.Block.Complete();
        Assert.Throws<ArgumentException>(() => subject.Input.OfferMessage(default, "a", null, false));
        Assert.Throws<ArgumentException>(() => subject.Input.OfferMessage(new(1), "a", null, true));
    }

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void Fault_Null_NamesTheException(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        Null("exception", () => subject.Block.Fault(null!));
        Assert.False(subject.Completion.IsCompleted);
    }

    [Theory]
    [InlineData(BlockKind.Join2)]
    [InlineData(BlockKind.Join3)]
    [InlineData(BlockKind.BatchedJoin2)]
    [InlineData(BlockKind.BatchedJoin3)]
    public void Fault_NullOnAJoinTarget_NamesTheException(BlockKind kind)
    {
        foreach (ITargetBlock<string> input in Blocks.Create(kind).Inputs)
        {
            Null("exception", () => input.Fault(null!));
        }
    }

    [Theory]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public void LinkTo_Null_NamesTheParameter(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        Null("target", () => subject.Output.LinkTo(null!, new DataflowLinkOptions()));
        Null("linkOptions", () => subject.Output.LinkTo(new ProbeTarget<object>(), null!));
    }

    [Theory]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public void ConsumeMessage_InvalidArguments_NameTheParameter(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var target = new ProbeTarget<object>();
        Assert.Equal("messageHeader", Assert.Throws<ArgumentException>(() => subject.Output.ConsumeMessage(default, target, out _)).ParamName);
        Null("target", () => subject.Output.ConsumeMessage(new(1), null!, out _));
    }

    [Theory]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public void ReserveMessage_InvalidArguments_NameTheParameter(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var target = new ProbeTarget<object>();
        Assert.Equal("messageHeader", Assert.Throws<ArgumentException>(() => subject.Output.ReserveMessage(default, target)).ParamName);
        Null("target", () => subject.Output.ReserveMessage(new(1), null!));
    }

    [Theory]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public void ReleaseReservation_InvalidArguments_NameTheParameter(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var target = new ProbeTarget<object>();
        Assert.Equal("messageHeader", Assert.Throws<ArgumentException>(() => subject.Output.ReleaseReservation(default, target)).ParamName);
        Null("target", () => subject.Output.ReleaseReservation(new(1), null!));
    }

    private static void Null(string parameter, Action call) => Assert.Equal(parameter, Assert.Throws<ArgumentNullException>(call).ParamName);

    private static void Null(string parameter, Func<object?> call) =>
        Assert.Equal(parameter, Assert.Throws<ArgumentNullException>(() => { call(); }).ParamName);

    private static void Range(string parameter, Func<object> call) =>
        Assert.Equal(parameter, Assert.Throws<ArgumentOutOfRangeException>(() => { call(); }).ParamName);
}
