using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>What becomes of messages that a full target postponed, and what does their source see of it?</summary>
public abstract class PostponeContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    public static TheoryData<BlockKind, EndingOf> BoundingEnded { get; } = Kinds.With(Kinds.Bounds, EndingOf.Block, EndingOf.Fault, EndingOf.Cancel);

    [Theory]
    [MemberData(nameof(Kinds.BoundedQueues), MemberType = typeof(Kinds))]
    public void Take_MakesRoom_ConsumesThePostponed(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind, new BlockSettings { Bound = 1 });
        subject.Feed("a");
        ProbeSource<string>[] sources = [.. subject.Inputs.Select(static _ => new ProbeSource<string>())];
        for (int i = 0; i < sources.Length; i++)
        {
            Eventually.Equal(DataflowMessageStatus.Postponed, () => sources[i].OfferTo(subject.Inputs[i], 1, "b"));
        }

        Assert.Equal(["a"], Take(subject).Distinct());
        Assert.Equal(["b"], Take(subject).Distinct());
        foreach (ProbeSource<string> source in sources)
        {
            Assert.Equal(["consume 1"], source.Calls);
        }
    }

    [Theory]
    [MemberData(nameof(Kinds.BoundedQueues), MemberType = typeof(Kinds))]
    public void Take_PostponedIsGone_TriesTheNextSource(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind, new BlockSettings { Bound = 1 });
        subject.Feed("a");
        var gone = new ProbeSource<string> { GrantsConsumption = false };
        var there = new ProbeSource<string>();
        foreach (ITargetBlock<string> input in subject.Inputs)
        {
            Assert.Equal(DataflowMessageStatus.Postponed, gone.OfferTo(input, 1, "x"));
        }

        foreach ((ITargetBlock<string> input, int i) in subject.Inputs.Select(static (input, i) => (input, i)))
        {
            Assert.Equal(DataflowMessageStatus.Postponed, there.OfferTo(input, 5 + i, "b"));
        }

        Assert.Equal(["a"], Take(subject).Distinct());
        if (kind is BlockKind.Join2 or BlockKind.Join3)
        {
            // Each target of a join has its own queue, but one source has one slot in each.
            Assert.Equal(["b"], Take(subject).Distinct());
            return;
        }

        Assert.Equal(["b"], Take(subject));
        Assert.Equal(["consume 1"], gone.Calls);
        Assert.Equal(["consume 5"], there.Calls);
    }

    [Theory]
    [MemberData(nameof(Kinds.SingleBoundedQueues), MemberType = typeof(Kinds))]
    public void OfferMessage_PostponedAgainByOneSource_KeepsTheLatestHeaderOnly(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind, new BlockSettings { Bound = 1 });
        subject.Feed("a");
        var source = new ProbeSource<string>();
        Assert.Equal(DataflowMessageStatus.Postponed, source.OfferTo(subject.Input, 1, "b"));
        Assert.Equal(DataflowMessageStatus.Postponed, source.OfferTo(subject.Input, 2, "c"));
        Assert.Equal(["a"], Take(subject));
        Assert.Equal(["c"], Take(subject));
        Never.True(() => source.Calls.Length > 1);
        Assert.Equal(["consume 2"], source.Calls);
    }

    [Theory]
    [MemberData(nameof(Kinds.SingleBoundedQueues), MemberType = typeof(Kinds))]
    public void Take_SeveralSourcesPostponed_ConsumesInTheOrderOfTheirOffers(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind, new BlockSettings { Bound = 1 });
        subject.Feed("a");
        ProbeSource<string>[] sources = [new(), new(), new()];
        foreach ((ProbeSource<string> source, int i) in sources.Select(static (s, i) => (s, i)))
        {
            Assert.Equal(DataflowMessageStatus.Postponed, source.OfferTo(subject.Input, 1, $"b{i}"));
        }

        Assert.Equal(["a", "b0", "b1", "b2"], Enumerable.Range(0, 4).SelectMany(_ => Take(subject)));
    }

    [Theory]
    [InlineData(BlockKind.Buffer)]
    [InlineData(BlockKind.Batch)]
    public void OfferMessage_OthersPostponedBefore_IsPostponedThoughThereIsRoom(BlockKind kind)
    {
        // The transfer of the first is held in ConsumeMessage, so that its slot is free but spoken for.
        using var gate = new Gate();
        Subject subject = Blocks.Create(kind, new BlockSettings { Bound = 1 });
        subject.Feed("a");
        var first = new ProbeSource<string> { OnConsume = gate.Pass };
        var second = new ProbeSource<string>();
        Assert.Equal(DataflowMessageStatus.Postponed, first.OfferTo(subject.Input, 1, "b"));
        Assert.Equal(["a"], Take(subject));
        gate.AwaitArrivals();
        Assert.Equal(DataflowMessageStatus.Postponed, second.OfferTo(subject.Input, 1, "c"));
        gate.Open();
        Assert.Equal(["b"], Take(subject));
        Assert.Equal(["c"], Take(subject));
    }

    [Theory]
    [MemberData(nameof(BoundingEnded))]
    public void End_WithPostponed_ReservesAndReleasesEach(BlockKind kind, EndingOf ending)
    {
        using var gate = new Gate();
        using var cancel = new CancellationTokenSource();
        Subject subject = Full(kind, gate, cancel.Token);
        ProbeSource<string>[] sources = [new(), new()];
        Assert.Equal(DataflowMessageStatus.Postponed, sources[0].OfferTo(subject.Input, 3, "x"));
        Assert.Equal(DataflowMessageStatus.Postponed, sources[1].OfferTo(subject.Input, 4, "y"));
        subject.End(ending, cancel);
        gate.Open();
        Eventually.Sequence(["reserve 3", "release 3"], () => sources[0].Calls);
        Eventually.Sequence(["reserve 4", "release 4"], () => sources[1].Calls);
    }

    [Theory]
    [MemberData(nameof(Kinds.Bounding), MemberType = typeof(Kinds))]
    public void Fault_PostponedCannotBeReserved_IsNotReleased(BlockKind kind)
    {
        using var gate = new Gate();
        Subject subject = Full(kind, gate);
        var source = new ProbeSource<string> { GrantsReservation = false };
        Assert.Equal(DataflowMessageStatus.Postponed, source.OfferTo(subject.Input, 3, "x"));
        subject.Block.Fault(new FormatException());
        gate.Open();
        Eventually.Sequence(["reserve 3"], () => source.Calls);
        Never.True(() => source.Calls.Length > 1);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.SingleBoundedQueues), MemberType = typeof(Kinds))]
    public async Task Take_ConsumeMessageThrows_FaultsTheTarget(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind, new BlockSettings { Bound = 1 });
        subject.Feed("a");
        var source = new ProbeSource<string> { ConsumeThrows = new FormatException("consume") };
        Assert.Equal(DataflowMessageStatus.Postponed, source.OfferTo(subject.Input, 1, "b"));
        Assert.Equal(["a"], Take(subject));
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(subject.Completion));
        Assert.Equal("consume", Assert.IsType<FormatException>(subject.Completion.Exception!.Flatten().InnerExceptions[0]).Message);
    }

    [Theory]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public void OfferMessage_ConsumeMessageThrowsInside_Throws(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var source = new ProbeSource<string> { ConsumeThrows = new FormatException("consume") };
        Assert.Throws<FormatException>(() => source.OfferTo(subject.Input, 1, "a", consumeToAccept: true));
        Assert.False(subject.Completion.IsCompleted);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.SingleBoundedQueues), MemberType = typeof(Kinds))]
    public async Task SendAsync_ManyToABoundOfOne_AllArriveInOrder(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind, new BlockSettings { Bound = 1 });
        string[] items = [.. Enumerable.Range(0, 50).Select(static i => $"{i}")];
        Task<bool>[] sends = [.. items.Select(i => subject.Input.SendAsync(i))];
        Assert.Equal(items, items.SelectMany(_ => Take(subject)));
        Assert.All(await Eventually.Result(Task.WhenAll(sends)), Assert.True);
    }

    private Subject Full(BlockKind kind, Gate gate, CancellationToken token = default)
    {
        Subject subject = Narrow(kind, gate, token);
        Assert.True(subject.Feed("full"));
        return subject;
    }

    private static string[] Take(Subject subject)
    {
        object? taken = null;
        Eventually.True(() => (taken = subject.Take()) is not null, "Nothing came out.");
        return Subject.Strings(taken);
    }
}
