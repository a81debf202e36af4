using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>Which of several links gets a message, and for how long does a link last?</summary>
public abstract class LinkContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    private static readonly DataflowLinkOptions Prepend = new() { Append = false };

    public static TheoryData<BlockKind, bool> QueueingAtEachEnd { get; } = Kinds.With(Kinds.Queues, true, false);

    /// <summary>Whether a block whose head went to a link that was made within the head's offer goes on with the next.</summary>
    protected virtual bool GoesOnAfterLinkInOffer => true;

    /// <summary>Whether a block asks a predicate that throws only once. If not, it goes on asking until the block has ended.</summary>
    protected virtual bool AsksOnceIfAPredicateThrows => true;

    [Theory]
    [MemberData(nameof(QueueingAtEachEnd))]
    public void LinkTo_TwoTargets_TheFirstGetsAll(BlockKind kind, bool append)
    {
        Subject subject = Blocks.Create(kind);
        (ProbeTarget<object> old, ProbeTarget<object> added) = (new(), new());
        subject.Output.LinkTo(old);
        subject.Output.LinkTo(added, new DataflowLinkOptions { Append = append });
        subject.FeedNumbers(3);
        Eventually.Sequence([1L, 2, 3], () => (append ? old : added).Ids);
        Assert.Empty((append ? added : old).Ids);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void LinkTo_AppendFalseFromWithinAnOffer_GetsTheHead(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        ProbeTarget<object>[] added = [new(ProbeTarget<object>.Decline), new()];
        int next = 0;
        var target = new ProbeTarget<object>((_, _) =>
        {
            if (next < added.Length)
            {
                subject.Output.LinkTo(added[next++], Prepend);
            }

            return DataflowMessageStatus.Declined;
        });
        added[0].Answer = target.Answer;
        subject.Output.LinkTo(target);
        subject.FeedNumbers(2);
        Eventually.Sequence(GoesOnAfterLinkInOffer ? [1L, 2] : [1L], () => added[1].Ids);
    }

    [Theory]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public void LinkTo_ManyTargets_EachIsFoundAgain(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        ProbeTarget<object>[] targets = [.. Enumerable.Range(0, 30).Select(static _ => new ProbeTarget<object>(ProbeTarget<object>.Decline))];
        IDisposable[] links = [.. targets.Select(t => subject.Output.LinkTo(t))];
        subject.Output.LinkTo(targets[20]);
        links[10].Dispose();
        links[25].Dispose();
        subject.Output.LinkTo(targets[25]);
        subject.FeedNumbers(1);
        Eventually.Equal(1, () => targets[25].Ids.Length);
        Assert.Empty(targets[10].Ids);

        // Linked twice: the second link comes as a source of its own.
        Assert.Equal(2, targets[20].Offers.Select(static o => o.Source).Distinct().Count());
        Assert.Same(targets[0].Last.Source, targets[25].Last.Source);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void LinkTo_ThirdAppendFalse_ComesBeforeAllOthers(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var order = new ConcurrentQueue<int>();
        ProbeTarget<object>[] targets =
            [.. Enumerable.Range(0, 4).Select(i => new ProbeTarget<object>((_, _) => { order.Enqueue(i); return DataflowMessageStatus.Declined; }))];
        subject.Output.LinkTo(targets[0]);
        subject.Output.LinkTo(targets[1], Prepend);
        subject.Output.LinkTo(targets[2]);
        subject.Output.LinkTo(targets[3], Prepend);
        subject.FeedNumbers(1);
        Eventually.Sequence([3, 1, 0, 2], () => order);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void LinkTo_MaxMessages_UnlinksAfterSoMany(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        (ProbeTarget<object> first, ProbeTarget<object> second) = (new(), new());
        subject.Output.LinkTo(first, new DataflowLinkOptions { MaxMessages = 2 });
        subject.Output.LinkTo(second);
        subject.FeedNumbers(5);
        Eventually.Sequence([3L, 4, 5], () => second.Ids);
        Assert.Equal([1L, 2], first.Ids);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void LinkTo_MaxMessages_CountsConsumedOnesToo(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> first) = Linked(kind, ProbeTarget<object>.Postpone, new DataflowLinkOptions { MaxMessages = 1 });
        subject.FeedNumbers(2);
        Eventually.Sequence([1L], () => first.Ids);
        Assert.True(first.Consume(first.Last, out _));
        Never.True(() => first.Ids.Length > 1);
        var second = new ProbeTarget<object>();
        subject.Output.LinkTo(second);
        Eventually.Sequence([2L], () => second.Ids);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void LinkTo_MaxMessages_DoesNotCountWhatWasDeclined(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var target = new ProbeTarget<object>(static (_, offer) => offer.Id == 1 ? DataflowMessageStatus.Declined : DataflowMessageStatus.Accepted);
        subject.Output.LinkTo(target, new DataflowLinkOptions { MaxMessages = 1 });
        subject.FeedNumbers(3);
        Eventually.Sequence([1L], () => target.Ids);
        Eventually.True(() => subject.Take() is not null);
        Eventually.Sequence([1L, 2], () => target.Ids);
        Never.True(() => target.Ids.Length > 2);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void LinkTo_MaxMessagesReached_DoesNotPropagateCompletion(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Linked(kind, options: new DataflowLinkOptions { MaxMessages = 1, PropagateCompletion = true });
        subject.FeedNumbers(1);
        Eventually.Sequence([1L], () => target.Ids);
        Eventually.True(() => subject.Has(0));
        subject.Block.Complete();
        Eventually.True(() => subject.Completion.IsCompleted);
        Never.True(() => target.Completes > 0);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void LinkTo_Predicate_PassesOnWhatItLikes(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        (ProbeTarget<object> chosen, ProbeTarget<object> rest) = (new(), new());
        subject.Output.LinkTo(chosen, static o => Subject.Strings(o)[0] is "0" or "2");
        subject.Output.LinkTo(rest);
        subject.FeedNumbers(4);
        Eventually.Sequence([2L, 4], () => rest.Ids);
        Assert.Equal([1L, 3], chosen.Ids);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void LinkTo_PredicateRefusesTheHead_BlocksWhatFollows(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var target = new ProbeTarget<object>();
        subject.Output.LinkTo(target, static o => Subject.Strings(o)[0] != "0");
        subject.FeedNumbers(3);
        Never.True(() => target.Ids.Length > 0);
        Eventually.True(() => subject.Take() is not null);
        Eventually.Sequence([2L, 3], () => target.Ids);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public async Task LinkTo_PredicateThrows_FaultsTheSource(BlockKind kind)
    {
        int asked = 0;
        Subject subject = Blocks.Create(kind);
        subject.Output.LinkTo(
            new ProbeTarget<object>(),
            _ =>
            {
                Interlocked.Increment(ref asked);
                throw new FormatException("predicate");
            });
        subject.FeedNumbers(1);
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(subject.Completion));
        Assert.All(subject.Completion.Exception!.InnerExceptions, static e => Assert.Equal("predicate", Assert.IsType<FormatException>(e).Message));
        Assert.Equal(asked, subject.Completion.Exception.InnerExceptions.Count);
        Assert.InRange(asked, 1, AsksOnceIfAPredicateThrows ? 1 : int.MaxValue);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void LinkTo_PredicateThrowsAtTheHead_ThrowsToTheCallerAndTheHeadStays(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        subject.FeedNumbers(1);
        Eventually.True(() => subject.OutputCount > 0);

        // Microsoft's blocks make a work item for an output that nobody is linked to. It ends before the link is made.
        Never.True(() => subject.Completion.IsCompleted);
        Assert.Throws<FormatException>(
            () => subject.Output.LinkTo(new ProbeTarget<object>(), static _ => throw new FormatException("predicate")));
        Never.True(() => subject.Completion.IsFaulted);
        Assert.NotNull(subject.Take());
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void Dispose_OfALink_EndsTheOffersAndPropagation(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var target = new ProbeTarget<object>();
        IDisposable link = subject.Output.LinkTo(target, Propagate);
        subject.FeedNumbers(1);
        Eventually.Sequence([1L], () => target.Ids);
        link.Dispose();
        link.Dispose();
        subject.FeedNumbers(1);
        Eventually.True(() => subject.Take() is not null);
        subject.Block.Complete();
        Eventually.True(() => subject.Completion.IsCompleted);
        Never.True(() => target.Completes > 0);
        Assert.Equal([1L], target.Ids);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void Dispose_OfALinkWithAPostponedMessage_LetsItBeConsumedStill(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var target = new ProbeTarget<object>(ProbeTarget<object>.Postpone);
        IDisposable link = subject.Output.LinkTo(target);
        subject.FeedNumbers(2);
        Eventually.Sequence([1L], () => target.Ids);
        link.Dispose();
        Assert.True(target.Consume(target.Last, out _));
        Never.True(() => target.Ids.Length > 1);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void LinkTo_MessageWaiting_IsOfferedBeforeLinkToReturns(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        subject.FeedNumbers(1);
        Eventually.True(() => subject.Has(1));
        if (kind is BlockKind.BatchedJoin2 or BlockKind.BatchedJoin3 or BlockKind.Join2 or BlockKind.Join3)
        {
            Assert.True(subject.Has(1));
        }

        var target = new ProbeTarget<object>(ProbeTarget<object>.Postpone);
        subject.Output.LinkTo(target);
        Eventually.Sequence([1L], () => target.Ids);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void LinkTo_HeadDeclinedByOthers_OffersItToTheNewcomerOnly(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> first) = Linked(kind, ProbeTarget<object>.Decline);
        subject.FeedNumbers(1);
        Eventually.Sequence([1L], () => first.Ids);
        var second = new ProbeTarget<object>(ProbeTarget<object>.Decline);
        subject.Output.LinkTo(second);
        Eventually.Sequence([1L], () => second.Ids);
        Never.True(() => first.Ids.Length > 1);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void LinkTo_SameTargetTwice_OffersEachMessageOnceAndUnderAnotherSource(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var target = new ProbeTarget<object>();
        IDisposable first = subject.Output.LinkTo(target);
        subject.Output.LinkTo(target);
        subject.FeedNumbers(1);
        Eventually.Sequence([1L], () => target.Ids);
        first.Dispose();
        subject.FeedNumbers(1);
        Eventually.Sequence([1L, 2], () => target.Ids);
        Assert.NotSame(target.Offers[0].Source, target.Offers[1].Source);
        Assert.Same(subject.Block, Assert.Single(target.Offers, o => ReferenceEquals(o.Source, subject.Block)).Source);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void LinkTo_SameTargetTwice_TheStandInPassesTheProtocolOn(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Linked(kind, ProbeTarget<object>.Postpone);
        subject.Output.LinkTo(target);
        subject.FeedNumbers(1);
        Eventually.True(() => target.Ids.Length == 2);
        Offer<object> standIn = target.Offers.Single(o => !ReferenceEquals(o.Source, subject.Block));
        Assert.Same(subject.Completion, standIn.Source!.Completion);
        Assert.Throws<NotSupportedException>(() => standIn.Source.LinkTo(target, new DataflowLinkOptions()));
        Assert.True(target.Reserve(standIn));
        target.Release(standIn);
        Eventually.True(() => target.Ids.Length == 4);
        Assert.True(target.Consume(standIn, out object? value));
        Assert.Equal(["0"], Subject.Strings(value).Distinct());
    }}
