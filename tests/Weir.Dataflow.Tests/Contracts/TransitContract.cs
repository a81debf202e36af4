using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>What becomes of messages that a block is taking from their sources at the moment that it, or one of its targets, ends?</summary>
public abstract class TransitContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    private static readonly BlockKind[] Grouping = [BlockKind.Join2, BlockKind.Join3, BlockKind.Batch];

    /// <summary>A non-greedy block, where its fetch is held, at which of its sources, what ends meanwhile, and how many groups it makes at most.</summary>
    public static TheoryData<BlockKind, TransitStep, int, EndingOf, int> Fetches { get; } =
    [
        .. from kind in Grouping
           from step in Enum.GetValues<TransitStep>()
           from held in Enumerable.Range(0, SourcesOf(kind) - (step == TransitStep.Release ? 1 : 0))
           from ending in Enum.GetValues<EndingOf>()
           where Has(kind, ending)
           from groups in new[] { -1, 1 }
           select (kind, step, held, ending, groups),
    ];

    /// <summary>A greedy block, what ends, whether the block is bounded, and whether the other targets have a message.</summary>
    public static TheoryData<BlockKind, EndingOf, bool, bool> Offers { get; } =
    [
        .. from kind in Kinds.Everything
           where kind != BlockKind.WriteOnce
           from ending in Enum.GetValues<EndingOf>()
           where Has(kind, ending)
           from bounded in new[] { false, true }
           where !bounded || Kinds.Bounds(kind)
           from partners in new[] { false, true }
           where !partners || Kinds.Joins(kind)
           select (kind, ending, bounded, partners),
    ];

    public static TheoryData<BlockKind, EndingOf> Pulls { get; } =
    [
        .. from kind in Kinds.Everything
           where Kinds.Bounds(kind) && kind != BlockKind.Broadcast
           from ending in Enum.GetValues<EndingOf>()
           where Has(kind, ending)
           select (kind, ending),
    ];

    /// <summary>Whether a block calls its source back from within an offer while it holds the lock that its end needs.</summary>
    protected virtual bool EndWaitsForOffer => true;

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Fetches))]
    public async Task NonGreedy_EndsInTheMiddleOfAFetch_LosesNothing(BlockKind kind, TransitStep step, int held, EndingOf ending, int groups)
    {
        using var gate = new Gate();
        using var cancel = new CancellationTokenSource();
        int count = SourcesOf(kind);
        Subject subject = Blocks.Create(kind, new BlockSettings { Greedy = false, BatchSize = count, Groups = groups, Token = cancel.Token });
        ProbeSource<string>[] sources = [.. Enumerable.Range(0, count).Select(static _ => new ProbeSource<string>())];
        Hold(sources[held], step, gate);
        if (step == TransitStep.Release)
        {
            sources[^1].GrantsReservation = false;
        }

        for (int i = 0; i < count; i++)
        {
            Assert.Equal(DataflowMessageStatus.Postponed, sources[i].OfferTo(subject.Inputs[i % subject.Inputs.Length], 1, $"m{i}"));
        }

        gate.AwaitArrivals();
        subject.End(ending, cancel);
        Never.True(() => subject.Completion.IsCompleted, "It is complete, and has a message that it neither gave out nor gave back.");
        gate.Open();
        string[] seen = await TakeAll(subject);
        Assert.Equal(ending.Status(), subject.Completion.Status);
        foreach (ProbeSource<string> source in sources)
        {
            // One that refused has no reservation to end.
            string[] calls = source.Calls;
            int ended = calls.Count(static c => c is "consume 1" or "release 1");
            Assert.Equal(source.GrantsReservation ? calls.Count(static c => c == "reserve 1") : 0, ended);
        }

        if (ending is not (EndingOf.Fault or EndingOf.Cancel))
        {
            Assert.Equal(sources.SelectMany(static (s, i) => s.Calls.Contains("consume 1") ? new[] { $"m{i}" } : []), seen);
            Assert.True(step != TransitStep.Consume || seen.Length == count, "All were reserved, and so all are one group.");
        }
    }

    [Theory(Timeout = Limit)]
    [InlineData(BlockKind.Join2)]
    [InlineData(BlockKind.Join3)]
    public async Task NonGreedy_SourceEndsWithTheMessageThatWasConsumed_TheOthersAreStillJoined(BlockKind kind)
    {
        using var gate = new Gate();
        Subject subject = Blocks.Create(kind, new BlockSettings { Greedy = false });
        IPropagatorBlock<string, string>[] buffers = [.. subject.Inputs.SkipLast(1).Select(_ => Blocks.Buffer<string>())];
        for (int i = 0; i < buffers.Length; i++)
        {
            buffers[i].LinkTo(subject.Inputs[i], Propagate);
            buffers[i].Post($"m{i}");
            buffers[i].Complete();
        }

        var last = new ProbeSource<string> { OnConsume = gate.Pass };
        last.OfferTo(subject.Inputs[^1], 1, "last");
        gate.AwaitArrivals();
        foreach (IPropagatorBlock<string, string> buffer in buffers)
        {
            await Eventually.Done(buffer.Completion);
        }

        Never.True(() => subject.Completion.IsCompleted);
        gate.Open();
        string[] seen = await TakeAll(subject);
        Assert.Equal([.. buffers.Select(static (_, i) => $"m{i}"), "last"], seen);
        Assert.Equal(TaskStatus.RanToCompletion, subject.Completion.Status);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Offers))]
    public async Task OfferMessage_EndsWhileTheOfferedIsConsumed_LosesNothing(BlockKind kind, EndingOf ending, bool bounded, bool partners)
    {
        using var gate = new Gate();
        using var cancel = new CancellationTokenSource();
        var processed = new ConcurrentQueue<string>();
        Subject subject = Blocks.Create(kind, new BlockSettings
        {
            Bound = bounded ? 4 : DataflowBlockOptions.Unbounded, BatchSize = 4, Token = cancel.Token, Body = processed.Enqueue,
        });
        foreach (ITargetBlock<string> input in partners ? subject.Inputs.Skip(1) : [])
        {
            Assert.True(input.Post("partner"));
        }

        var source = new ProbeSource<string> { OnConsume = gate.Pass };
        Task<DataflowMessageStatus> offered = Task.Run(() => source.OfferTo(subject.Input, 1, "m", consumeToAccept: true));
        gate.AwaitArrivals();
        Task ended = Task.Run(() => subject.End(ending, cancel));
        if (!EndWaitsForOffer)
        {
            await Eventually.Done(ended);
        }

        Never.True(() => subject.Completion.IsCompleted);
        gate.Open();
        Assert.Equal(DataflowMessageStatus.Accepted, await Eventually.Result(offered));
        await Eventually.Done(ended);
        bool isJoin = kind is BlockKind.Join2 or BlockKind.Join3;
        if (ending == EndingOf.FirstTarget || (ending <= EndingOf.ThirdTarget && !isJoin))
        {
            // The end of this target need not be the end of the block: the others may have what the message waits for.
            Never.True(() => subject.Completion.IsCompleted && (!isJoin || !partners));
            subject.Block.Complete();
        }

        string[] seen = await TakeAll(subject);
        Assert.Equal(ending.Status(), subject.Completion.Status);
        if (ending is not (EndingOf.Fault or EndingOf.Cancel))
        {
            Assert.Equal(isJoin && !partners ? 0 : 1, (Kinds.HasOutput(kind) ? seen : [.. processed]).Count(static s => s == "m"));
        }
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Pulls))]
    public async Task Room_EndsWhileThePostponedIsConsumed_LosesNothing(BlockKind kind, EndingOf ending)
    {
        using var gate = new Gate();
        using var hold = new Gate();
        using var cancel = new CancellationTokenSource();
        var processed = new ConcurrentQueue<string>();
        Subject subject = Blocks.Create(kind, new BlockSettings
        {
            Bound = 1,
            Token = cancel.Token,
            Body = s =>
            {
                processed.Enqueue(s);
                if (!Kinds.HasOutput(kind))
                {
                    hold.Pass();
                }
            },
        });
        subject.Feed("a");
        ProbeSource<string>[] sources = [.. subject.Inputs.Select(static _ => new ProbeSource<string>())];
        // The last one, because a block may take from its sources one after the other.
        sources[^1].OnConsume = gate.Pass;
        for (int i = 0; i < sources.Length; i++)
        {
            Eventually.Equal(DataflowMessageStatus.Postponed, () => sources[i].OfferTo(subject.Inputs[i], 1, "m"));
        }

        hold.Open();
        if (Kinds.HasOutput(kind))
        {
            Eventually.True(() => subject.Take() is not null);
        }

        gate.AwaitArrivals();
        Eventually.True(() => sources.All(static s => s.Calls.Contains("consume 1")));
        subject.End(ending, cancel);
        Never.True(() => subject.Completion.IsCompleted);
        gate.Open();
        string[] seen = await TakeAll(subject);
        Assert.Equal(ending.Status(), subject.Completion.Status);
        if (ending is not (EndingOf.Fault or EndingOf.Cancel))
        {
            Assert.Equal(sources.Length, (Kinds.HasOutput(kind) ? seen : [.. processed]).Count(static s => s == "m"));
        }
    }

    private static int SourcesOf(BlockKind kind) => kind == BlockKind.Join2 ? 2 : 3;

    private static bool Has(BlockKind kind, EndingOf ending) => ending switch
    {
        EndingOf.FirstTarget or EndingOf.SecondTarget => Kinds.Joins(kind),
        EndingOf.ThirdTarget => kind is BlockKind.Join3 or BlockKind.BatchedJoin3,
        _ => true,
    };

    private static void Hold(ProbeSource<string> source, TransitStep step, Gate gate)
    {
        switch (step)
        {
            case TransitStep.Reserve:
                source.OnReserve = gate.Pass;
                break;
            case TransitStep.Consume:
                source.OnConsume = gate.Pass;
                break;
            default:
                source.OnRelease = gate.Pass;
                break;
        }
    }

    /// <summary>Takes whatever comes out until the block is complete.</summary>
    private static async Task<string[]> TakeAll(Subject subject)
    {
        List<string> seen = [];
        Eventually.True(
            () =>
            {
                // Looked at first: a broadcast may get its message, and end, after a look in vain. What it has can still be taken then.
                bool isLast = subject.Completion.IsCompleted;
                while (subject.Take() is { } message)
                {
                    seen.AddRange(Subject.Strings(message));
                    if (subject.Kind == BlockKind.Broadcast)
                    {
                        break;
                    }
                }

                return isLast;
            },
            "The block never ends.");
        await Eventually.Status(subject.Completion);
        return subject.Kind == BlockKind.Broadcast ? [.. seen.Distinct()] : [.. seen];
    }
}
