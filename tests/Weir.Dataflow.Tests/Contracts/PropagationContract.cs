using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>How does the end of one block become the end of the next?</summary>
public abstract class PropagationContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    public static TheoryData<BlockKind, EndingOf> SourcesEnded { get; } = Kinds.With(Kinds.HasOutput, EndingOf.Block, EndingOf.Cancel);

    [Theory(Timeout = Limit)]
    [MemberData(nameof(SourcesEnded))]
    public async Task End_PropagatingLink_CompletesTheTarget(BlockKind kind, EndingOf ending)
    {
        using var cancel = new CancellationTokenSource();
        (Subject subject, ProbeTarget<object> target) = Linked(kind, options: Propagate, settings: new BlockSettings { Token = cancel.Token });
        subject.End(ending, cancel);
        await Eventually.Done(target.Completion);
        Assert.Equal(1, target.Completes);
        Assert.Null(target.Fault);
        Assert.Equal(ending.Status(), await Eventually.Status(subject.Completion));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public async Task Complete_PlainLink_LeavesTheTargetAlone(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Linked(kind);
        subject.Block.Complete();
        await Eventually.Done(subject.Completion);
        Never.True(() => target.Completion.IsCompleted);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public async Task Fault_PropagatingLink_FaultsTheTargetWithTheAggregate(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Linked(kind, options: Propagate);
        var error = new FormatException("first");
        subject.Block.Fault(error);
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(target.Completion));
        Assert.Same(error, Assert.Single(Assert.IsType<AggregateException>(target.Fault).InnerExceptions));
        Assert.Equal(0, target.Completes);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public async Task LinkTo_CompletedAlready_PropagatesAtOnce(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        subject.Block.Complete();
        await Eventually.Done(subject.Completion);
        var target = new ProbeTarget<object>();
        IDisposable link = subject.Output.LinkTo(target, Propagate);
        await Eventually.Done(target.Completion);
        Assert.NotNull(link);
        link.Dispose();
        var plain = new ProbeTarget<object>();
        subject.Output.LinkTo(plain).Dispose();
        Assert.False(plain.Completion.IsCompleted);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public async Task LinkTo_FaultedAlready_PropagatesTheFault(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var error = new FormatException("first");
        subject.Block.Fault(error);
        await Eventually.Status(subject.Completion);
        var target = new ProbeTarget<object>();
        subject.Output.LinkTo(target, Propagate);
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(target.Completion));
        Assert.Same(error, Assert.Single(Assert.IsType<AggregateException>(target.Fault).InnerExceptions));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public async Task Complete_SeveralTargets_CompletesAllThatAskedForIt(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        ProbeTarget<object>[] targets = [new(), new(), new()];
        subject.Output.LinkTo(targets[0], Propagate);
        subject.Output.LinkTo(targets[1]);
        subject.Output.LinkTo(targets[2], Propagate);
        subject.Block.Complete();
        await Eventually.Done(Task.WhenAll(targets[0].Completion, targets[2].Completion));
        Assert.False(targets[1].Completion.IsCompleted);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public async Task Complete_MessagesLeft_PropagatesAfterTheLast(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Linked(kind, ProbeTarget<object>.Postpone, Propagate);
        Assert.True(subject.Feed("a"));
        subject.Block.Complete();
        Eventually.Sequence([1L], () => target.Ids);
        Never.True(() => target.Completion.IsCompleted);
        Assert.True(target.Consume(target.Last, out _));
        await Eventually.Done(target.Completion);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public async Task Complete_PredicateLink_PropagatesThroughTheFilter(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var target = new ProbeTarget<object>();
        subject.Output.LinkTo(target, Propagate, static _ => false);
        subject.Block.Complete();
        await Eventually.Done(target.Completion);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public async Task Complete_SameTargetLinkedTwice_CompletesIt(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Linked(kind, options: Propagate);
        subject.Output.LinkTo(target, Propagate);
        subject.Block.Complete();
        await Eventually.Done(target.Completion);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public async Task Fault_TwoLinksDown_NestsOneAggregateALink(BlockKind kind)
    {
        Subject first = Blocks.Create(kind);
        IPropagatorBlock<object, object> second = Blocks.Buffer<object>();
        IPropagatorBlock<object, object> third = Blocks.Buffer<object>();
        first.Output.LinkTo(second, Propagate);
        second.LinkTo(third, Propagate);
        var error = new FormatException("first");
        first.Block.Fault(error);
        await Eventually.Status(third.Completion);

        Assert.Same(error, Assert.Single(first.Completion.Exception!.InnerExceptions));
        var one = Assert.IsType<AggregateException>(Assert.Single(second.Completion.Exception!.InnerExceptions));
        Assert.Same(error, Assert.Single(one.InnerExceptions));
        var two = Assert.IsType<AggregateException>(Assert.Single(third.Completion.Exception!.InnerExceptions));
        var inner = Assert.IsType<AggregateException>(Assert.Single(two.InnerExceptions));
        Assert.Same(error, Assert.Single(inner.InnerExceptions));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task DelegateThrows_PropagatingLink_NestsTheSameWay(BlockKind kind)
    {
        IPropagatorBlock<string, string> head = Blocks.Buffer<string>();
        Subject subject = Blocks.Create(kind, new BlockSettings { Body = static _ => throw new FormatException("delegate") });
        head.LinkTo(subject.Input, Propagate);
        head.Post("a");
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(subject.Completion));
        Assert.Equal("delegate", Assert.IsType<FormatException>(Assert.Single(subject.Completion.Exception!.InnerExceptions)).Message);
        // A fault goes down the links, never up.
        Never.True(() => head.Completion.IsCompleted);
        if (!Kinds.HasOutput(kind))
        {
            return;
        }

        var target = new ProbeTarget<object>();
        subject.Output.LinkTo(target, Propagate);
        await Eventually.Status(target.Completion);
        Assert.IsType<FormatException>(Assert.Single(Assert.IsType<AggregateException>(target.Fault).InnerExceptions));
    }

    [Fact(Timeout = Limit)]
    public async Task Complete_LongChain_ReachesTheEndWithEveryMessage()
    {
        var seen = new ConcurrentQueue<int>();
        IPropagatorBlock<int, int> head = Blocks.Buffer<int>();
        IPropagatorBlock<int, int> tail = head;
        for (int i = 0; i < 20; i++)
        {
            IPropagatorBlock<int, int> next = (i % 3) switch
            {
                0 => Blocks.Transform<int, int>(static x => x),
                1 => Blocks.Buffer<int>(new DataflowBlockOptions { BoundedCapacity = 2 }),
                _ => Blocks.TransformAsync<int, int>(static async x => x, new ExecutionDataflowBlockOptions { BoundedCapacity = 3 }),
            };
            tail.LinkTo(next, Propagate);
            tail = next;
        }

        ITargetBlock<int> end = Blocks.Action<int>(seen.Enqueue);
        tail.LinkTo(end, Propagate);
        head.PostAll(Enumerable.Range(0, 100));
        head.Complete();
        await Eventually.Done(end.Completion);
        Assert.Equal(Enumerable.Range(0, 100), seen);
    }
}
