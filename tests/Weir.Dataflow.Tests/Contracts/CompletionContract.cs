using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>How does each block end, and what is left in it then?</summary>
public abstract class CompletionContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    public static TheoryData<BlockKind, EndingOf> QueueingEnded { get; } = Kinds.With(Kinds.Queues, EndingOf.Fault, EndingOf.Cancel);

    public static TheoryData<BlockKind, EndingOf> ExecutingEnded { get; } = Kinds.With(Kinds.Executes, EndingOf.Fault, EndingOf.Cancel);

    /// <summary>False where Complete, then Cancel, with messages left need not end the block (dotnet/runtime 27357, 52348).</summary>
    protected virtual bool CancelAfterCompleteEnds => true;

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public async Task Complete_Empty_RanToCompletion(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        subject.Block.Complete();
        Assert.Equal(TaskStatus.RanToCompletion, await Eventually.Status(subject.Completion));
        subject.Block.Complete();
        subject.Block.Fault(new FormatException());
        Assert.Equal(TaskStatus.RanToCompletion, subject.Completion.Status);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public async Task Fault_Empty_FaultsWithThatException(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var error = new FormatException("mine");
        subject.Block.Fault(error);
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(subject.Completion));
        Assert.Same(error, Assert.Single(subject.Completion.Exception!.InnerExceptions));
        Assert.Same(error, await Assert.ThrowsAsync<FormatException>(() => subject.Completion));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public async Task Fault_WithAnAggregate_KeepsItWhole(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var error = new AggregateException(new FormatException("a"), new InvalidOperationException("b"));
        subject.Block.Fault(error);
        await Eventually.Status(subject.Completion);
        Assert.Same(error, Assert.Single(subject.Completion.Exception!.InnerExceptions));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public async Task Fault_Twice_KeepsTheFirst(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        var error = new FormatException("first");
        subject.Block.Fault(error);
        subject.Block.Fault(new FormatException("second"));
        await Eventually.Status(subject.Completion);
        Assert.Same(error, Assert.Single(subject.Completion.Exception!.InnerExceptions));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public async Task Cancel_Empty_IsCancelledWithTheToken(BlockKind kind)
    {
        using var cancel = new CancellationTokenSource();
        Subject subject = Blocks.Create(kind, new BlockSettings { Token = cancel.Token });
        await cancel.CancelAsync();
        Assert.Equal(TaskStatus.Canceled, await Eventually.Status(subject.Completion));
        var thrown = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => subject.Completion);
        Assert.Equal(cancel.Token, thrown.CancellationToken);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public async Task Constructor_TokenCancelledAlready_IsCancelled(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind, new BlockSettings { Token = new CancellationToken(true) });
        Assert.Equal(TaskStatus.Canceled, await Eventually.Status(subject.Completion));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public async Task Cancel_AfterTheEnd_ChangesNothing(BlockKind kind)
    {
        using var cancel = new CancellationTokenSource();
        Subject subject = Blocks.Create(kind, new BlockSettings { Token = cancel.Token });
        subject.Block.Complete();
        await Eventually.Done(subject.Completion);
        await cancel.CancelAsync();
        Assert.Equal(TaskStatus.RanToCompletion, subject.Completion.Status);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public async Task Complete_MessagesLeft_EndsWhenTheyAreTaken(BlockKind kind)
    {
        Subject subject = Filled(kind, default, "a", "b");
        subject.Block.Complete();
        Never.True(() => subject.Completion.IsCompleted);
        Eventually.True(() => subject.Has(2));
        Eventually.True(() => subject.Take() is not null);
        Assert.False(subject.Completion.IsCompleted);
        Eventually.True(() => subject.Take() is not null);
        await Eventually.Done(subject.Completion);
        Emptied(subject);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(QueueingEnded))]
    public async Task End_MessagesLeft_DropsThem(BlockKind kind, EndingOf ending)
    {
        using var cancel = new CancellationTokenSource();
        Subject subject = Filled(kind, cancel.Token, "a", "b");
        subject.End(ending, cancel);
        Assert.Equal(ending.Status(), await Eventually.Status(subject.Completion));
        Emptied(subject);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public async Task Fault_CompletedWithMessagesLeft_IsTooLate(BlockKind kind)
    {
        Subject subject = Filled(kind, default, "a", "b");
        subject.Block.Complete();
        Never.True(() => subject.Completion.IsCompleted);
        subject.Block.Fault(new FormatException());
        Never.True(() => subject.Completion.IsCompleted);
        Drain(subject, 2);
        Assert.Equal(TaskStatus.RanToCompletion, await Eventually.Status(subject.Completion));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public async Task Cancel_CompletedWithMessagesLeft_EndsIt_27357_52348(BlockKind kind)
    {
        using var cancel = new CancellationTokenSource();
        Subject subject = Filled(kind, cancel.Token, "a", "b");
        subject.Block.Complete();
        Never.True(() => subject.Completion.IsCompleted);
        await cancel.CancelAsync();
        if (!CancelAfterCompleteEnds)
        {
            // As a rule it stays as it is. It ends all the same when its last call was still on the way out as the token was cancelled.
            Assert.False(subject.Completion.IsCompletedSuccessfully || subject.Completion.IsFaulted);
            return;
        }

        Assert.Equal(TaskStatus.Canceled, await Eventually.Status(subject.Completion));
        Emptied(subject);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task Complete_WorkLeft_IsDoneFirst(BlockKind kind)
    {
        using var gate = new Gate();
        var seen = new ConcurrentQueue<string>();
        Subject subject = Blocks.Create(kind, new BlockSettings { Body = s => { gate.Pass(); seen.Enqueue(s); } });
        subject.FeedAll("a", "b", "c");
        gate.AwaitArrivals();
        Assert.Equal(2, subject.InputCount);
        subject.Block.Complete();
        Assert.False(subject.Completion.IsCompleted);
        gate.Open();
        Eventually.Sequence(["a", "b", "c"], () => seen);
        Drain(subject, 3);
        await Eventually.Done(subject.Completion);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(ExecutingEnded))]
    public async Task End_WorkLeft_WaitsForTheDelegateAndDropsTheRest(BlockKind kind, EndingOf ending)
    {
        using var gate = new Gate();
        using var cancel = new CancellationTokenSource();
        Subject subject = Blocks.Create(kind, new BlockSettings { Body = _ => gate.Pass(), Token = cancel.Token });
        subject.FeedAll("a", "b", "c");
        gate.AwaitArrivals();
        subject.End(ending, cancel);
        Never.True(() => subject.Completion.IsCompleted);
        gate.Open();
        Assert.Equal(ending.Status(), await Eventually.Status(subject.Completion));
        Assert.Equal(1, gate.Arrived);
        Emptied(subject);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task Cancel_CompletedWithWorkLeft_IsCancelled(BlockKind kind)
    {
        using var gate = new Gate();
        using var cancel = new CancellationTokenSource();
        Subject subject = Blocks.Create(kind, new BlockSettings { Body = _ => gate.Pass(), Token = cancel.Token });
        subject.FeedAll("a", "b", "c");
        gate.AwaitArrivals();
        subject.Block.Complete();
        await cancel.CancelAsync();
        gate.Open();
        Assert.Equal(TaskStatus.Canceled, await Eventually.Status(subject.Completion));
        Assert.Equal(1, gate.Arrived);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task Fault_ThenCancelWhileBusy_IsFaulted(BlockKind kind)
    {
        using var gate = new Gate();
        using var cancel = new CancellationTokenSource();
        Subject subject = Blocks.Create(kind, new BlockSettings { Body = _ => gate.Pass(), Token = cancel.Token });
        subject.FeedAll("a");
        gate.AwaitArrivals();
        subject.Block.Fault(new FormatException());
        await cancel.CancelAsync();
        gate.Open();
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(subject.Completion));
    }

    private Subject Filled(BlockKind kind, CancellationToken token, params string[] items)
    {
        Subject subject = Blocks.Create(kind, new BlockSettings { Token = token });
        subject.FeedAll(items);
        Eventually.True(() => subject.Has(items.Length));
        return subject;
    }

    private static void Drain(Subject subject, int count)
    {
        for (int i = 0; i < count && Kinds.HasOutput(subject.Kind); i++)
        {
            Eventually.True(() => subject.Take() is not null);
        }
    }

    private static void Emptied(Subject subject)
    {
        Assert.Null(subject.Take());
        Assert.True(subject.InputCount is null or 0);
        Assert.True(subject.OutputCount is null or 0);
    }
}
