using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>What becomes of messages that a full target postponed, and what does their source see of it?</summary>
public abstract class PostponeContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
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
    [MemberData(nameof(Kinds.BoundedQueues), MemberType = typeof(Kinds))]
    public void OfferMessage_PostponedAgainByOneSource_KeepsTheLatestHeaderOnly(BlockKind kind)
    {
        if (Kinds.Joins(kind))
        {
            return;
        }

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
    [MemberData(nameof(Kinds.BoundedQueues), MemberType = typeof(Kinds))]
    public void Take_SeveralSourcesPostponed_ConsumesInTheOrderOfTheirOffers(BlockKind kind)
    {
        if (Kinds.Joins(kind))
        {
            return;
        }

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
    [MemberData(nameof(Kinds.BoundedQueues), MemberType = typeof(Kinds))]
    public void OfferMessage_OthersPostponedBefore_IsPostponedThoughThereIsRoom(BlockKind kind)
    {
        if (Kinds.Joins(kind) || Kinds.Executes(kind))
        {
            return;
        }

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
    [MemberData(nameof(Kinds.Bounding), MemberType = typeof(Kinds))]
    public void Fault_WithPostponed_ReservesAndReleasesEach(BlockKind kind) => ReservesAndReleases(kind, static s => s.Block.Fault(new FormatException()));

    [Theory]
    [MemberData(nameof(Kinds.Bounding), MemberType = typeof(Kinds))]
    public void Cancel_WithPostponed_ReservesAndReleasesEach(BlockKind kind)
    {
        using var cancel = new CancellationTokenSource();
        ReservesAndReleases(kind, _ => cancel.Cancel(), cancel.Token);
    }

    [Theory]
    [MemberData(nameof(Kinds.Bounding), MemberType = typeof(Kinds))]
    public void Complete_WithPostponed_ReservesAndReleasesEach(BlockKind kind) => ReservesAndReleases(kind, static s => s.Block.Complete());

    [Theory]
    [MemberData(nameof(Kinds.Bounding), MemberType = typeof(Kinds))]
    public void Fault_PostponedCannotBeReserved_IsNotReleased(BlockKind kind)
    {
        (Subject subject, Gate gate) = Full(kind, default);
        using Gate opened = gate;
        var source = new ProbeSource<string> { GrantsReservation = false };
        Assert.Equal(DataflowMessageStatus.Postponed, source.OfferTo(subject.Input, 3, "x"));
        subject.Block.Fault(new FormatException());
        gate.Open();
        Eventually.Sequence(["reserve 3"], () => source.Calls);
        Never.True(() => source.Calls.Length > 1);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.BoundedQueues), MemberType = typeof(Kinds))]
    public async Task Take_ConsumeMessageThrows_FaultsTheTarget(BlockKind kind)
    {
        if (Kinds.Joins(kind))
        {
            return;
        }

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
    [MemberData(nameof(Kinds.BoundedQueues), MemberType = typeof(Kinds))]
    public async Task SendAsync_ManyToABoundOfOne_AllArriveInOrder(BlockKind kind)
    {
        if (Kinds.Joins(kind))
        {
            return;
        }

        Subject subject = Blocks.Create(kind, new BlockSettings { Bound = 1 });
        string[] items = [.. Enumerable.Range(0, 50).Select(static i => $"{i}")];
        Task<bool>[] sends = [.. items.Select(i => subject.Input.SendAsync(i))];
        Assert.Equal(items, items.SelectMany(_ => Take(subject)));
        Assert.All(await Eventually.Result(Task.WhenAll(sends)), Assert.True);
    }

    private void ReservesAndReleases(BlockKind kind, Action<Subject> end, CancellationToken token = default)
    {
        (Subject subject, Gate gate) = Full(kind, token);
        using Gate opened = gate;
        ProbeSource<string>[] sources = [new(), new()];
        Assert.Equal(DataflowMessageStatus.Postponed, sources[0].OfferTo(subject.Input, 3, "x"));
        Assert.Equal(DataflowMessageStatus.Postponed, sources[1].OfferTo(subject.Input, 4, "y"));
        end(subject);
        gate.Open();
        Eventually.Sequence(["reserve 3", "release 3"], () => sources[0].Calls);
        Eventually.Sequence(["reserve 4", "release 4"], () => sources[1].Calls);
    }

    private (Subject Subject, Gate Gate) Full(BlockKind kind, CancellationToken token)
    {
        var gate = new Gate();
        // A broadcast has room again as soon as it has begun to offer, which it does not on a scheduler that stands still.
        TaskScheduler? still = kind == BlockKind.Broadcast ? new ManualScheduler() : null;
        Subject subject = Blocks.Create(kind, new BlockSettings { Bound = 1, Token = token, Body = _ => gate.Pass(), Scheduler = still });

        Assert.True(subject.Feed("full"));
        return (subject, gate);
    }

    private static string[] Take(Subject subject)
    {
        object? taken = null;
        Eventually.True(() => (taken = subject.Take()) is not null, "Nothing came out.");
        return Subject.Strings(taken);
    }
}
