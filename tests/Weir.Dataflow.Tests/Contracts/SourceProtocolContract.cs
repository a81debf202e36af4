using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>What does a source offer, and what do Consume, Reserve and Release answer?</summary>
public abstract class SourceProtocolContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void OfferMessage_EachMessage_IsNumberedFromOne(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Linked(kind);
        subject.FeedAll("a", "b", "c");
        Eventually.Sequence([1L, 2, 3], () => target.Ids);
        Assert.Equal(["a", "b", "c"], target.Offered.SelectMany(o => Subject.Strings(o).Distinct()));
        Assert.All(target.Offers, o => Assert.Same(subject.Block, o.Source));
        Assert.All(target.Offers, static o => Assert.False(o.ConsumeToAccept));
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void OfferMessage_AfterReceives_NumbersGoOn(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        subject.FeedAll("a", "b", "c");
        Taken(subject);
        Taken(subject);
        var target = new ProbeTarget<object>();
        subject.Output.LinkTo(target);
        Eventually.Sequence([3L], () => target.Ids);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void OfferMessage_Postponed_StopsOffering(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Postponing(kind, "a", "b");
        Eventually.Sequence([1L], () => target.Ids);
        Never.True(() => target.Ids.Length > 1);
        Assert.NotNull(subject.Block);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void OfferMessage_Declined_StopsOfferingUntilTheHeadChanges(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Linked(kind, ProbeTarget<object>.Decline);
        subject.FeedAll("a", "b");
        Eventually.Sequence([1L], () => target.Ids);
        Never.True(() => target.Ids.Length > 1);
        Taken(subject);
        Eventually.Sequence([1L, 2], () => target.Ids);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void OfferMessage_DecliningForever_UnlinksTheTarget(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var gone = new ProbeTarget<object>(ProbeTarget<object>.DeclineForever);
        var next = new ProbeTarget<object>();
        subject.Output.LinkTo(gone);
        subject.Output.LinkTo(next);
        subject.FeedAll("a", "b");
        Eventually.Sequence([1L, 2], () => next.Ids);
        Assert.Equal([1L], gone.Ids);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void OfferMessage_NotAvailable_GoesOnToTheNextTarget(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var strange = new ProbeTarget<object>(static (_, _) => DataflowMessageStatus.NotAvailable);
        var next = new ProbeTarget<object>();
        subject.Output.LinkTo(strange);
        subject.Output.LinkTo(next);
        subject.FeedAll("a");
        Eventually.Sequence([1L], () => strange.Ids);
        Never.True(() => next.Ids.Length > 1);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void ConsumeMessage_Postponed_HandsTheMessageOverAndOffersTheNext(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Postponing(kind, "a", "b");
        Assert.True(target.Consume(target.Last, out object? value));
        Assert.Equal(["a"], Subject.Strings(value).Distinct());
        Eventually.Sequence([1L, 2], () => target.Ids);
        Eventually.True(() => subject.Has(1));
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void ConsumeMessage_Twice_IsRefused(BlockKind kind)
    {
        (_, ProbeTarget<object> target) = Postponing(kind, "a");
        Assert.True(target.Consume(target.Last, out _));
        Assert.False(target.Consume(target.Last, out object? again));
        Assert.Null(again);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void ConsumeMessage_UnknownId_IsRefused(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Postponing(kind, "a");
        Assert.Null(subject.Output.ConsumeMessage(new(2), target, out bool consumed));
        Assert.False(consumed);
        Assert.True(target.Consume(target.Last, out _));
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void ConsumeMessage_ByATargetThatIsNotLinked_Succeeds(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Postponing(kind, "a");
        subject.Output.ConsumeMessage(target.Last.Header, new ProbeTarget<object>(), out bool consumed);
        Assert.True(consumed);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void ReserveMessage_Head_HoldsItBackFromEverybody(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Postponing(kind, "a", "b");
        Assert.True(target.Reserve(target.Last));
        Assert.Null(subject.Take());
        Assert.Null(subject.Output.ConsumeMessage(new(1), new ProbeTarget<object>(), out bool consumed));
        Assert.False(consumed);
        var late = new ProbeTarget<object>();
        subject.Output.LinkTo(late);
        Never.True(() => late.Ids.Length > 0);
        Assert.True(target.Consume(target.Last, out object? value));
        Assert.Equal(["a"], Subject.Strings(value).Distinct());
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void ReserveMessage_ReservedAlready_IsRefused(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Postponing(kind, "a");
        Assert.True(target.Reserve(target.Last));
        Assert.False(target.Reserve(target.Last));
        Assert.False(subject.Output.ReserveMessage(target.Last.Header, new ProbeTarget<object>()));
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void ReserveMessage_NotTheHead_IsRefused(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Postponing(kind, "a", "b");
        Assert.False(subject.Output.ReserveMessage(new(2), target));
        Assert.False(subject.Output.ReserveMessage(new(99), target));
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void ReleaseReservation_ByTheHolder_OffersAgainToEverybody(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var first = new ProbeTarget<object>(ProbeTarget<object>.Postpone);
        var second = new ProbeTarget<object>(ProbeTarget<object>.Postpone);
        subject.Output.LinkTo(first);
        subject.Output.LinkTo(second);
        subject.FeedAll("a");
        Eventually.Sequence([1L], () => second.Ids);
        Assert.True(first.Reserve(first.Last));
        first.Release(first.Last);
        Eventually.Sequence([1L, 1], () => first.Ids);
        Eventually.Sequence([1L, 1], () => second.Ids);
        Assert.True(second.Consume(second.Last, out _));
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void ReleaseReservation_NotTheHolder_Throws(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Postponing(kind, "a");
        Assert.Throws<InvalidOperationException>(() => target.Release(target.Last));
        Assert.True(target.Reserve(target.Last));
        Assert.Throws<InvalidOperationException>(() => subject.Output.ReleaseReservation(target.Last.Header, new ProbeTarget<object>()));
        Assert.True(target.Consume(target.Last, out _));
        Assert.Throws<InvalidOperationException>(() => target.Release(target.Last));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public async Task ReserveMessage_CompletedBlock_HoldsBackCompletion(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Postponing(kind, "a");
        Assert.True(target.Reserve(target.Last));
        subject.Block.Complete();
        Never.True(() => subject.Completion.IsCompleted);
        Assert.True(target.Consume(target.Last, out _));
        await Eventually.Done(subject.Completion);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public async Task OfferMessage_TargetThrows_FaultsTheSource(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Linked(kind, static (_, _) => throw new FormatException("offer"));
        subject.FeedAll("a");
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(subject.Completion));
        // Once is enough, but an offering loop may have tried again before it saw the fault.
        Assert.All(subject.Completion.Exception!.InnerExceptions, static e => Assert.Equal("offer", Assert.IsType<FormatException>(e).Message));
        Assert.Null(subject.Take());
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void TryReceive_AfterPostponed_MakesTheOldHeaderVoid(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Postponing(kind, "a", "b");
        Taken(subject);
        Assert.False(subject.Output.ReserveMessage(new(1), target));
        subject.Output.ConsumeMessage(new(1), target, out bool consumed);
        Assert.False(consumed);
        Eventually.Sequence([1L, 2], () => target.Ids);
    }

    private (Subject Subject, ProbeTarget<object> Target) Postponing(BlockKind kind, params string[] items)
    {
        (Subject subject, ProbeTarget<object> target) = Linked(kind, ProbeTarget<object>.Postpone);
        subject.FeedAll(items);
        Eventually.True(() => target.Ids.Length == 1 && subject.Has(items.Length));
        return (subject, target);
    }

    private static void Taken(Subject subject) => Eventually.True(() => subject.Take() is not null);
}
