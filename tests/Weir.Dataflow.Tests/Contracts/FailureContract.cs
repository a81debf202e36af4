using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>What becomes of a block, and of those around it, when something that it calls throws?</summary>
public abstract class FailureContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    private static readonly Func<string, string> Throws = static _ => throw new FormatException("clone");

    /// <summary>Whether what came before an exception is kept also of an iterator that ran before it was its message's turn.</summary>
    protected virtual bool KeepsItsPartBeforeItsTurn => true;

    [Fact(Timeout = Limit)]
    public async Task Broadcast_CloneThrowsInTheOffer_TargetGetsNothing()
    {
        IPropagatorBlock<string, string> block = Blocks.Broadcast(Throws);
        var seen = new ConcurrentQueue<string?>();
        ITargetBlock<string> target = Blocks.Action<string>(seen.Enqueue, new ExecutionDataflowBlockOptions { BoundedCapacity = 1 });
        block.LinkTo(target);
        block.Post("a");
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(block.Completion));
        target.Complete();
        await Eventually.Done(target.Completion);
        Assert.Empty(seen);
    }

    [Fact(Timeout = Limit)]
    public async Task Broadcast_CloneThrowsWhenRoomComes_TargetFailsAndGetsNothing()
    {
        IPropagatorBlock<string, string> block = Blocks.Broadcast<string>(static s => s == "a" ? s : throw new FormatException("clone"));
        using var gate = new Probes.Gate();
        var seen = new ConcurrentQueue<string?>();
        ITargetBlock<string> target = Blocks.Action<string>(
            s =>
            {
                seen.Enqueue(s);
                gate.Pass();
            },
            new ExecutionDataflowBlockOptions { BoundedCapacity = 1 });
        var next = new ProbeTarget<string>(ProbeTarget<string>.Decline);
        block.LinkTo(target);
        block.LinkTo(next);
        block.Post("a");
        gate.AwaitArrivals();
        block.Post("b");
        Eventually.Equal(2, () => next.Ids.Length);
        gate.Open();
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(target.Completion));
        Assert.Equal(["a"], seen);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Copying), MemberType = typeof(FailureContract<MicrosoftBlocks>))]
    public async Task ReceiveAsync_CloneThrows_FailsThatReceiveOnly(BlockKind kind)
    {
        IPropagatorBlock<string, string> block = kind == BlockKind.Broadcast ? Blocks.Broadcast(Throws) : Blocks.WriteOnce(Throws);
        Task<string> waiting = block.ReceiveAsync();
        Task<bool> available = block.OutputAvailableAsync();
        block.Post("a");
        await Assert.ThrowsAsync<FormatException>(() => Eventually.Result(waiting));
        Assert.True(await Eventually.Result(available));
        await Assert.ThrowsAsync<FormatException>(() => Eventually.Result(block.ReceiveAsync()));
        Assert.Throws<FormatException>(() => block.Receivable().TryReceive(null, out _));
        Assert.False(block.Completion.IsFaulted);
        block.Complete();
        Assert.Equal(TaskStatus.RanToCompletion, await Eventually.Status(block.Completion));
    }

    public static TheoryData<BlockKind> Copying => [BlockKind.Broadcast, BlockKind.WriteOnce];

    [Theory(Timeout = Limit)]
    [InlineData(BlockKind.Batch, "consume")]
    [InlineData(BlockKind.Batch, "reserve")]
    [InlineData(BlockKind.Batch, "refuse")]
    [InlineData(BlockKind.Join3, "consume")]
    [InlineData(BlockKind.Join3, "reserve")]
    [InlineData(BlockKind.Join3, "refuse")]
    public async Task NonGreedy_SourceFails_ReleasesTheOthersAndFails(BlockKind kind, string what)
    {
        Subject subject = Blocks.Create(kind, new BlockSettings { Greedy = false, BatchSize = 3 });
        ProbeSource<string>[] sources = [new(), new(), new()];
        ProbeSource<string> bad = sources[what == "reserve" ? 2 : 0];
        bad.ConsumeThrows = what == "consume" ? new FormatException("consume") : null;
        bad.ReserveThrows = what == "reserve" ? new FormatException("reserve") : null;
        bad.GrantsConsumption = what != "refuse";
        for (int i = 0; i < sources.Length; i++)
        {
            Assert.Equal(DataflowMessageStatus.Postponed, sources[i].OfferTo(subject.Inputs[i % subject.Inputs.Length], 1, "a"));
        }

        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(subject.Completion));
        Assert.All(sources.Where(s => s != bad), static s => Eventually.True(() => s.Calls.Contains("release 1"), string.Join(", ", s.Calls)));
        Assert.All(sources.Where(s => s != bad), static s => Assert.Single(s.Calls, "release 1"));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public async Task LinkTo_SourceHasEndedAndTheTargetThrows_ThrowsToTheCaller(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        subject.Block.Complete();
        await Eventually.Done(subject.Completion);
        Assert.Throws<FormatException>(() => subject.Output.LinkTo(new ThrowingTarget<object>(), Propagate));
        subject = Blocks.Create(kind);
        subject.Block.Fault(new TimeoutException());
        await Eventually.Status(subject.Completion);
        Assert.Throws<FormatException>(() => subject.Output.LinkTo(new ThrowingTarget<object>(), Propagate));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public async Task LinkTo_TheTargetThrowsAtTheHead_ThrowsToTheCallerAndTheBlockGoesOn(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        Assert.True(subject.Feed("a"));
        var first = new ProbeTarget<object>(ProbeTarget<object>.Decline);
        subject.Output.LinkTo(first);
        Eventually.Equal(1, () => first.Ids.Length);
        IDisposable? link = null;
        Assert.Throws<FormatException>(() => link = subject.Output.LinkTo(new ThrowingTarget<object>()));
        Never.True(() => subject.Completion.IsFaulted);
        var target = new ProbeTarget<object>();
        subject.Output.LinkTo(target);
        Eventually.Equal(1, () => target.Accepted.Length);
        subject.Block.Complete();
        Assert.Equal(TaskStatus.RanToCompletion, await Eventually.Status(subject.Completion));
    }

    [Fact(Timeout = Limit)]
    public async Task Many_IteratorIsCancelled_DeliversWhatCameBefore()
    {
        static IEnumerable<int> Items(int i)
        {
            yield return i;
            yield return i + 1;
            throw new OperationCanceledException();
        }

        IPropagatorBlock<int, int> block = Blocks.Many<int, int>(Items);
        block.Post(1);
        block.Post(10);
        block.Complete();
        foreach (int expected in (int[])[1, 2, 10, 11])
        {
            Assert.Equal(expected, await Eventually.Result(block.ReceiveAsync()));
        }

        await Eventually.Done(block.Completion);
    }

    [Fact(Timeout = Limit)]
    public async Task Many_IteratorIsCancelledBeforeItsTurn_DeliversWhatCameBefore()
    {
        using var first = new Probes.Gate();
        using var second = new Probes.Gate();
        IEnumerable<int> Items(int i)
        {
            yield return i;
            if (i == 1)
            {
                first.Pass();
            }

            yield return i + 1;
            if (i == 10)
            {
                // The iterator has no more to give, and the first message is not done.
                second.Pass();
            }

            throw new OperationCanceledException();
        }

        IPropagatorBlock<int, int> block = Blocks.Many<int, int>(Items, new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 2 });
        block.Post(1);
        first.AwaitArrivals();
        block.Post(10);
        second.AwaitArrivals();
        second.Open();
        block.Complete();
        first.Open();
        var seen = new List<int>();
        while (await Eventually.Result(block.OutputAvailableAsync()))
        {
            seen.Add(block.Receive());
        }

        Assert.Equal(KeepsItsPartBeforeItsTurn ? [1, 2, 10, 11] : [1, 2], seen);
        await Eventually.Done(block.Completion);
    }
}
