using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>Do the extensions of DataflowBlock work on the blocks?</summary>
public abstract class ExtensionsContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    [Fact(Timeout = Limit)]
    public async Task Encapsulate_TwoBlocks_IsOneBlock()
    {
        IPropagatorBlock<int, int> head = Blocks.Transform<int, int>(static i => i + 1);
        IPropagatorBlock<int, string> tail = Blocks.Transform<int, string>(static i => $"{i}");
        head.LinkTo(tail, Propagate);
        IPropagatorBlock<int, string> whole = DataflowBlock.Encapsulate(head, tail);
        var target = new ProbeTarget<string>();
        whole.LinkTo(target, Propagate);
        for (int i = 0; i < 10; i++)
        {
            Assert.True(await whole.SendAsync(i));
        }

        whole.Complete();
        await Eventually.Done(whole.Completion);
        await Eventually.Done(target.Completion);
        Assert.Equal(Enumerable.Range(1, 10).Select(static i => $"{i}"), target.Accepted);
        Assert.Same(tail.Completion, whole.Completion);
    }

    [Fact(Timeout = Limit)]
    public async Task Encapsulate_Fault_GoesToTheHead()
    {
        IPropagatorBlock<int, int> head = Blocks.Buffer<int>();
        IPropagatorBlock<int, int> tail = Blocks.Buffer<int>();
        DataflowBlock.Encapsulate(head, tail).Fault(new FormatException());
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(head.Completion));
        Assert.False(tail.Completion.IsCompleted);
    }

    [Fact(Timeout = Limit)]
    public async Task Choose_MessageInTheSecond_RunsItsActionOnly()
    {
        IPropagatorBlock<int, int> first = Blocks.Buffer<int>();
        IPropagatorBlock<string, string> second = Blocks.Buffer<string>();
        var ran = new ConcurrentQueue<string>();
        Task<int> chosen = DataflowBlock.Choose(first, i => ran.Enqueue($"{i}"), second, ran.Enqueue);
        second.Post("x");
        Assert.Equal(1, await Eventually.Result(chosen));
        first.Post(1);
        Assert.Equal(["x"], ran);
        Eventually.Equal(1, () => first.Output());
        Assert.Equal(0, second.Output());
    }

    [Fact(Timeout = Limit)]
    public async Task Choose_BothHaveAMessage_TakesExactlyOne()
    {
        IPropagatorBlock<int, int>[] sources = [Blocks.Buffer<int>(), Blocks.Buffer<int>(), Blocks.Buffer<int>()];
        Assert.All(sources, s => s.Post(5));
        int runs = 0;
        int index = await Eventually.Result(DataflowBlock.Choose(
            sources[0], _ => runs++, sources[1], _ => runs++, sources[2], _ => runs++));
        Assert.Equal(0, index);
        Assert.Equal(1, runs);
        Assert.Equal([0, 1, 1], sources.Select(static s => s.Output()));
    }

    [Fact(Timeout = Limit)]
    public async Task Choose_AllEnded_IsCancelled()
    {
        IPropagatorBlock<int, int> first = Blocks.Buffer<int>();
        IPropagatorBlock<int, int> second = Blocks.Buffer<int>();
        Task<int> chosen = DataflowBlock.Choose(first, static _ => { }, second, static _ => { });
        first.Complete();
        Never.True(() => chosen.IsCompleted);
        second.Complete();
        Assert.Equal(TaskStatus.Canceled, await Eventually.Status(chosen));
    }

    [Fact(Timeout = Limit)]
    public async Task AsObservable_Messages_ReachEveryObserver()
    {
        IPropagatorBlock<int, int> block = Blocks.Buffer<int>();
        IObservable<int> observable = block.AsObservable();
        (Watcher first, Watcher second) = (new(), new());
        using IDisposable one = observable.Subscribe(first);
        using IDisposable two = observable.Subscribe(second);
        block.PostAll(Enumerable.Range(0, 10));
        block.Complete();
        foreach (Watcher watcher in new[] { first, second })
        {
            await Eventually.Done(watcher.Done);
            Assert.Equal(Enumerable.Range(0, 10), watcher.Seen);
        }
    }

    [Fact(Timeout = Limit)]
    public async Task AsObservable_Fault_IsAnError()
    {
        IPropagatorBlock<int, int> block = Blocks.Buffer<int>();
        var watcher = new Watcher();
        block.AsObservable().Subscribe(watcher);
        block.Fault(new FormatException("mine"));
        var error = await Assert.ThrowsAnyAsync<Exception>(() => Eventually.Done(watcher.Done));
        Assert.IsType<FormatException>((error as AggregateException)?.Flatten().InnerException ?? error);
    }

    [Fact(Timeout = Limit)]
    public async Task AsObservable_Unsubscribed_SeesNoMore()
    {
        IPropagatorBlock<int, int> block = Blocks.Buffer<int>();
        var watcher = new Watcher();
        IDisposable subscription = block.AsObservable().Subscribe(watcher);
        block.Post(1);
        Eventually.Sequence([1], () => watcher.Seen);
        subscription.Dispose();
        block.Post(2);
        Assert.Equal(2, await Eventually.Result(block.ReceiveAsync()));
        Assert.Equal([1], watcher.Seen);
    }

    [Fact(Timeout = Limit)]
    public async Task AsObserver_NextAndCompleted_FeedAndEndTheBlock()
    {
        var seen = new ConcurrentQueue<int>();
        ITargetBlock<int> block = Blocks.Action<int>(seen.Enqueue, new ExecutionDataflowBlockOptions { BoundedCapacity = 1 });
        IObserver<int> observer = block.AsObserver();
        for (int i = 0; i < 20; i++)
        {
            observer.OnNext(i);
        }

        observer.OnCompleted();
        await Eventually.Done(block.Completion);
        Assert.Equal(Enumerable.Range(0, 20), seen);
    }

    [Fact(Timeout = Limit)]
    public async Task AsObserver_Error_FaultsTheBlock()
    {
        ITargetBlock<int> block = Blocks.Action<int>(static _ => { });
        var error = new FormatException("mine");
        block.AsObserver().OnError(error);
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(block.Completion));
        Assert.Same(error, Assert.Single(block.Completion.Exception!.InnerExceptions));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public async Task NullTarget_Linked_SwallowsEverything(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        subject.Output.LinkTo(DataflowBlock.NullTarget<object>());
        subject.FeedNumbers(20);
        subject.Block.Complete();
        await Eventually.Done(subject.Completion);
    }

    [Fact(Timeout = Limit)]
    public async Task LinkTo_Encapsulated_PassesMessages()
    {
        IPropagatorBlock<int, int> source = Blocks.Buffer<int>();
        IPropagatorBlock<int, int> head = Blocks.Buffer<int>();
        IPropagatorBlock<int, int> tail = Blocks.Buffer<int>();
        head.LinkTo(tail, Propagate);
        IPropagatorBlock<int, int> whole = DataflowBlock.Encapsulate(head, tail);
        source.LinkTo(whole, Propagate);
        source.Post(1);
        source.Complete();
        Assert.Equal(1, await Eventually.Result(whole.ReceiveAsync()));
        await Eventually.Done(whole.Completion);
        Assert.False(await whole.SendAsync(2));
    }

    private sealed class Watcher : IObserver<int>
    {
        private readonly TaskCompletionSource _done = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public ConcurrentQueue<int> Seen { get; } = new();

        public Task Done => _done.Task;

        public void OnNext(int value) => Seen.Enqueue(value);

        public void OnCompleted() => _done.TrySetResult();

        public void OnError(Exception error) => _done.TrySetException(error);
    }
}
