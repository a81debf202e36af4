using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>What does a target answer to an offer, in each state it can be in?</summary>
public abstract class OfferContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    public static TheoryData<BlockKind, EndingOf> AllEnded { get; } = Kinds.With(static _ => true, EndingOf.Block, EndingOf.Fault, EndingOf.Cancel);

    public static TheoryData<BlockKind, EndingOf> BoundingEnded { get; } = Kinds.With(Kinds.Bounds, EndingOf.Fault, EndingOf.Cancel);

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void OfferMessage_Open_Accepts(BlockKind kind)
    {
        foreach (ITargetBlock<string> input in Blocks.Create(kind).Inputs)
        {
            var source = new ProbeSource<string>();
            Assert.Equal(DataflowMessageStatus.Accepted, source.OfferTo(input, 1, "a"));
            Assert.Empty(source.Calls);
        }
    }

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void OfferMessage_OpenAndNoSource_Accepts(BlockKind kind)
    {
        foreach (ITargetBlock<string> input in Blocks.Create(kind).Inputs)
        {
            Assert.Equal(DataflowMessageStatus.Accepted, input.OfferMessage(new(1), "a", null, false));
        }
    }

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void OfferMessage_ConsumeToAccept_ConsumesBeforeItAnswers(BlockKind kind)
    {
        foreach (ITargetBlock<string> input in Blocks.Create(kind).Inputs)
        {
            var source = new ProbeSource<string>();
            Assert.Equal(DataflowMessageStatus.Accepted, source.OfferTo(input, 7, "a", consumeToAccept: true));
            Assert.Equal(["consume 7"], source.Calls);
        }
    }

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void OfferMessage_ConsumptionRefused_IsNotAvailable(BlockKind kind)
    {
        foreach (ITargetBlock<string> input in Blocks.Create(kind).Inputs)
        {
            var source = new ProbeSource<string> { GrantsConsumption = false };
            Assert.Equal(DataflowMessageStatus.NotAvailable, source.OfferTo(input, 1, "a", consumeToAccept: true));
            Assert.Equal(["consume 1"], source.Calls);
        }
    }

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void Post_Open_IsTrue(BlockKind kind)
    {
        foreach (ITargetBlock<string> input in Blocks.Create(kind).Inputs)
        {
            Assert.True(input.Post("a"));
        }
    }

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void SendAsync_Open_IsTrueAtOnce(BlockKind kind)
    {
        foreach (ITargetBlock<string> input in Blocks.Create(kind).Inputs)
        {
            Task<bool> sent = input.SendAsync("a");
            Assert.True(sent.IsCompletedSuccessfully);
            Assert.True(sent.Result);
        }
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(AllEnded))]
    public async Task OfferMessage_Ended_DeclinesForever(BlockKind kind, EndingOf ending)
    {
        using var cancel = new CancellationTokenSource();
        Subject subject = Blocks.Create(kind, new BlockSettings { Token = cancel.Token });
        subject.End(ending, cancel);
        await DeclinesForever(subject);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public Task OfferMessage_CancelledBeforehand_DeclinesForever(BlockKind kind) =>
        DeclinesForever(Blocks.Create(kind, new BlockSettings { Token = new CancellationToken(true) }));

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public async Task OfferMessage_EndedForGood_DeclinesForever(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        subject.Block.Complete();
        await Eventually.Done(subject.Completion);
        await DeclinesForever(subject);
    }

    [Theory]
    [MemberData(nameof(Kinds.Bounding), MemberType = typeof(Kinds))]
    public void OfferMessage_FullAndNoSource_Declines(BlockKind kind)
    {
        using var gate = new Gate();
        Subject subject = Full(kind, gate);
        Assert.Equal(DataflowMessageStatus.Declined, subject.Input.OfferMessage(new(1), "x", null, false));
        Assert.False(subject.Input.Post("x"));
        gate.Open();
    }

    [Theory]
    [MemberData(nameof(Kinds.Bounding), MemberType = typeof(Kinds))]
    public void OfferMessage_Full_Postpones(BlockKind kind)
    {
        using var gate = new Gate();
        Subject subject = Full(kind, gate);
        var source = new ProbeSource<string>();
        Assert.Equal(DataflowMessageStatus.Postponed, source.OfferTo(subject.Input, 1, "x"));
        Assert.Equal(DataflowMessageStatus.Postponed, source.OfferTo(subject.Input, 2, "y", consumeToAccept: true));
        Assert.Empty(source.Calls);
        gate.Open();
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Bounding), MemberType = typeof(Kinds))]
    public async Task SendAsync_FullThenCompleted_IsFalse(BlockKind kind)
    {
        using var gate = new Gate();
        Subject subject = Full(kind, gate);
        Task<bool> sent = subject.Input.SendAsync("x");
        Assert.False(sent.IsCompleted);
        subject.Block.Complete();
        if (Kinds.Executes(kind))
        {
            // What is under way may yet take the message's place, so the sender waits for the delegate.
            Never.True(() => sent.IsCompleted);
            gate.Open();
        }

        Assert.False(await Eventually.Result(sent));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(BoundingEnded))]
    public async Task SendAsync_FullThenEnded_IsFalse(BlockKind kind, EndingOf ending)
    {
        using var gate = new Gate();
        using var cancel = new CancellationTokenSource();
        Subject subject = Full(kind, gate, cancel.Token);
        Task<bool>[] sent = [subject.Input.SendAsync("x"), subject.Input.SendAsync("y")];
        subject.End(ending, cancel);
        gate.Open();
        bool[] answers = await Eventually.Result(Task.WhenAll(sent));
        Assert.Equal([false, false], answers);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Bounding), MemberType = typeof(Kinds))]
    public async Task SendAsync_FullThenCancelledSend_IsCancelledWithItsToken(BlockKind kind)
    {
        using var gate = new Gate();
        using var cancel = new CancellationTokenSource();
        Subject subject = Full(kind, gate);
        Task<bool> sent = subject.Input.SendAsync("x", cancel.Token);
        await cancel.CancelAsync();
        var thrown = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Eventually.Done(sent));
        Assert.Equal(cancel.Token, thrown.CancellationToken);
        gate.Open();

        // A send that is pending in nothing but a block that nobody holds is collected with it, and its end is then false.
        GC.KeepAlive(subject);
    }

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void SendAsync_TokenAlreadyCancelled_SendsNothing(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        Task<bool> sent = subject.Input.SendAsync("x", new CancellationToken(true));
        Assert.True(sent.IsCanceled);
        Assert.Null(subject.Take());
    }

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void OfferMessage_SameHeaderTwice_IsTakenTwice(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var source = new ProbeSource<string>();
        Assert.Equal(DataflowMessageStatus.Accepted, source.OfferTo(subject.Input, 1, "a"));
        DataflowMessageStatus second = source.OfferTo(subject.Input, 1, "a");
        Assert.Equal(kind == BlockKind.WriteOnce ? DataflowMessageStatus.DecliningPermanently : DataflowMessageStatus.Accepted, second);
    }

    private Subject Full(BlockKind kind, Gate gate, CancellationToken token = default)
    {
        Subject subject = Narrow(kind, gate, token);
        Assert.True(subject.Input.Post("full"));
        return subject;
    }

    private static async Task DeclinesForever(Subject subject)
    {
        foreach (ITargetBlock<string> input in subject.Inputs)
        {
            var source = new ProbeSource<string>();
            Assert.Equal(DataflowMessageStatus.DecliningPermanently, source.OfferTo(input, 1, "a"));
            Assert.Equal(DataflowMessageStatus.DecliningPermanently, source.OfferTo(input, 2, "a", consumeToAccept: true));
            Assert.Equal(DataflowMessageStatus.DecliningPermanently, input.OfferMessage(new(3), "a", null, false));
            Assert.Empty(source.Calls);
            Assert.False(input.Post("a"));
            Assert.False(await Eventually.Result(input.SendAsync("a")));
        }
    }
}
