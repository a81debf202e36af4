using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>What do the ways of taking a message answer, before, at and after the end?</summary>
public abstract class ReceiveContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    public static TheoryData<BlockKind, EndingOf> SourcesEnded { get; } = Kinds.With(Kinds.HasOutput, EndingOf.Block, EndingOf.Fault, EndingOf.Cancel);

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public async Task ReceiveAsync_MessageThere_IsIt(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        subject.Feed("a");
        Assert.Equal(["a"], Subject.Strings(await Eventually.Result(subject.Output.ReceiveAsync())).Distinct());
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public async Task ReceiveAsync_BeforeTheMessage_GetsIt(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        Task<object> received = subject.Output.ReceiveAsync();
        Assert.False(received.IsCompleted);
        subject.Feed("a");
        Assert.Equal(["a"], Subject.Strings(await Eventually.Result(received)).Distinct());
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public async Task ReceiveAsync_SeveralWaiting_GetTheMessagesInTurn(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        Task<object>[] received = [.. Enumerable.Range(0, 5).Select(_ => subject.Output.ReceiveAsync())];
        subject.FeedNumbers(5);
        object[] all = await Eventually.Result(Task.WhenAll(received));
        Assert.Equal(["0", "1", "2", "3", "4"], all.Select(static o => Subject.Strings(o)[0]));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(SourcesEnded))]
    public async Task ReceiveAsync_EndedEmpty_Throws(BlockKind kind, EndingOf ending)
    {
        using var cancel = new CancellationTokenSource();
        Subject subject = Blocks.Create(kind, new BlockSettings { Token = cancel.Token });
        Task<object> early = subject.Output.ReceiveAsync();
        subject.End(ending, cancel);
        await Assert.ThrowsAsync<InvalidOperationException>(() => Eventually.Result(early));
        await Eventually.Status(subject.Completion);
        await Assert.ThrowsAsync<InvalidOperationException>(() => Eventually.Result(subject.Output.ReceiveAsync()));
        Assert.Throws<InvalidOperationException>(() => subject.Output.Receive());
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public async Task ReceiveAsync_CancelledWait_TakesNothing(BlockKind kind)
    {
        using var cancel = new CancellationTokenSource();
        Subject subject = Blocks.Create(kind);
        Task<object> received = subject.Output.ReceiveAsync(cancel.Token);
        await cancel.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Eventually.Result(received));
        Assert.True(received.IsCanceled);
        subject.Feed("a");
        Eventually.True(() => subject.Take() is not null);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public async Task ReceiveAsync_TokenCancelledAlready_IsCancelledThoughAMessageIsThere(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        subject.Feed("a");
        Eventually.True(() => subject.Has(1));
        Task<object> received = subject.Output.ReceiveAsync(new CancellationToken(true));
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Eventually.Result(received));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public async Task ReceiveAsync_TimeRunsOut_ThrowsATimeout(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        await Assert.ThrowsAsync<TimeoutException>(() => Eventually.Result(subject.Output.ReceiveAsync(TimeSpan.Zero)));
        await Assert.ThrowsAsync<TimeoutException>(() => Eventually.Result(subject.Output.ReceiveAsync(TimeSpan.FromMilliseconds(1))));
        Assert.Throws<TimeoutException>(() => subject.Output.Receive(TimeSpan.FromMilliseconds(1)));
    }

    [Theory]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public void ReceiveAsync_TimeoutOutOfRange_NamesTheParameter(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        Assert.Equal("timeout", Assert.Throws<ArgumentOutOfRangeException>(() => { _ = subject.Output.ReceiveAsync(TimeSpan.FromSeconds(-3)); }).ParamName);
        Assert.Equal("timeout", Assert.Throws<ArgumentOutOfRangeException>(() => { _ = subject.Output.Receive(TimeSpan.FromSeconds(-3)); }).ParamName);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public async Task Receive_BeforeTheMessage_BlocksUntilItComes(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        Task<object> received = Task.Factory.StartNew(() => subject.Output.Receive(), TaskCreationOptions.LongRunning);
        Never.True(() => received.IsCompleted);
        subject.Feed("a");
        Assert.Equal(["a"], Subject.Strings(await Eventually.Result(received)).Distinct());
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public async Task OutputAvailableAsync_MessageThere_IsTrueAndTakesNothing(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        Task<bool> early = subject.Output.OutputAvailableAsync();
        Assert.False(early.IsCompleted);
        subject.Feed("a");
        Assert.True(await Eventually.Result(early));
        Assert.True(await Eventually.Result(subject.Output.OutputAvailableAsync()));
        Assert.NotNull(subject.Take());
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public async Task OutputAvailableAsync_Ended_IsFalse(BlockKind kind)
    {
        Subject completed = Blocks.Create(kind);
        Task<bool> early = completed.Output.OutputAvailableAsync();
        completed.Block.Complete();
        Assert.False(await Eventually.Result(early));
        Assert.False(await Eventually.Result(completed.Output.OutputAvailableAsync()));

        Subject faulted = Blocks.Create(kind);
        early = faulted.Output.OutputAvailableAsync();
        faulted.Block.Fault(new FormatException());
        Assert.False(await Eventually.Result(early));
        Assert.False(await Eventually.Result(faulted.Output.OutputAvailableAsync()));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public async Task OutputAvailableAsync_CancelledWait_IsCancelled(BlockKind kind)
    {
        using var cancel = new CancellationTokenSource();
        Subject subject = Blocks.Create(kind);
        Task<bool> available = subject.Output.OutputAvailableAsync(cancel.Token);
        await cancel.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Eventually.Result(available));
        Task<bool> late = subject.Output.OutputAvailableAsync(new CancellationToken(true));
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Eventually.Result(late));
    }

    [Theory]
    [MemberData(nameof(Kinds.Sources), MemberType = typeof(Kinds))]
    public void TryReceive_Empty_IsFalse(BlockKind kind) => Assert.Null(Blocks.Create(kind).Take());

    [Fact]
    public void TryReceive_Filter_LooksAtTheHeadOnly()
    {
        IReceivableSourceBlock<int> block = Filled(1, 2);
        Assert.False(block.TryReceive(static i => i == 2, out int item));
        Assert.Equal(0, item);
        Assert.True(block.TryReceive(static i => i == 1, out item));
        Assert.Equal(1, item);
        Assert.True(block.TryReceive(static i => i == 2, out item));
    }

    [Fact]
    public void TryReceive_FilterThrows_LetsItThroughAndKeepsTheMessage()
    {
        IReceivableSourceBlock<int> block = Filled(1);
        Assert.Throws<FormatException>(() => block.TryReceive(static _ => throw new FormatException(), out _));
        Assert.True(block.TryReceive(out int item));
        Assert.Equal(1, item);
    }

    [Fact]
    public void TryReceiveAll_SeveralMessages_TakesThemInOrder()
    {
        IReceivableSourceBlock<int> block = Filled(1, 2, 3);
        Assert.True(block.TryReceiveAll(out IList<int>? items));
        Assert.Equal([1, 2, 3], items);
        Assert.False(block.TryReceiveAll(out items));
        Assert.Null(items);
    }

    [Fact]
    public void TryReceiveAll_TheList_IsTheCallersToChange()
    {
        IPropagatorBlock<int, int> block = Blocks.Buffer<int>();
        block.Post(1);
        Assert.True(block.Receivable().TryReceiveAll(out IList<int>? items));
        items.Add(2);
        items.RemoveAt(0);
        Assert.Equal([2], items);
    }

    [Fact]
    public void TryReceiveAll_Reserved_TakesNothing()
    {
        IReceivableSourceBlock<int> block = Filled(1, 2);
        var target = new ProbeTarget<int>(ProbeTarget<int>.Postpone);
        block.LinkTo(target);
        Eventually.Sequence([1L], () => target.Ids);
        Assert.True(target.Reserve(target.Last));
        Assert.False(block.TryReceiveAll(out _));
        Assert.False(block.TryReceive(out _));
        target.Release(target.Last);
        Eventually.True(() => block.TryReceiveAll(out _));
    }

    [Fact(Timeout = Limit)]
    public async Task ReceiveAllAsync_UntilTheEnd_GivesEverything()
    {
        IReceivableSourceBlock<int> block = Filled(1, 2, 3);
        block.Complete();
        int[] all = await Eventually.Result(block.ReceiveAllAsync().ToArrayAsync().AsTask());
        Assert.Equal([1, 2, 3], all);
        await Eventually.Done(block.Completion);
        Assert.Empty(await Eventually.Result(block.ReceiveAllAsync().ToArrayAsync().AsTask()));
    }

    [Fact(Timeout = Limit)]
    public async Task ReceiveAllAsync_Cancelled_Throws()
    {
        using var cancel = new CancellationTokenSource();
        IReceivableSourceBlock<int> block = Filled(1);
        var seen = new List<int>();
        async Task Read()
        {
            await foreach (int item in block.ReceiveAllAsync(cancel.Token))
            {
                seen.Add(item);
            }
        }

        Task reading = Read();
        await cancel.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Eventually.Done(reading));
        Assert.Equal([1], seen);
    }

    private IReceivableSourceBlock<int> Filled(params int[] items)
    {
        IPropagatorBlock<int, int> block = Blocks.Buffer<int>();
        block.PostAll(items);
        return block.Receivable();
    }
}
