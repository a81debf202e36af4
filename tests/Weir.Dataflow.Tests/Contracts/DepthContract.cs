using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>Does the stack stay the same however many messages, waits and blocks there are? If not, the process ends here.</summary>
public abstract class DepthContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Many_OneCallWithManyOutputs_PassesThemToAnActionWithoutLimit(bool ordered)
    {
        const int Outputs = 300_000;
        using var scheduler = new SmallStackScheduler();
        int seen = 0;
        IPropagatorBlock<int, int> block = Blocks.Many<int, int>(
            static i => Enumerable.Range(0, i).ToArray(),
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 2, EnsureOrdered = ordered, TaskScheduler = scheduler });
        ITargetBlock<int> action = Blocks.Action<int>(
            _ => Interlocked.Increment(ref seen), new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = DataflowBlockOptions.Unbounded });
        block.LinkTo(action, Propagate);
        block.Post(Outputs);
        block.Complete();
        await Eventually.Done(action.Completion);
        Assert.Equal(Outputs, seen);
    }

    [Fact(Timeout = Limit)]
    public async Task Transform_SlowHeadThenManyPendingReceives_GivesEachItsMessage()
    {
        const int Messages = 20_000;
        using var scheduler = new SmallStackScheduler();
        using var gate = new Probes.Gate();
        IPropagatorBlock<int, int> block = Blocks.Transform<int, int>(
            i =>
            {
                if (i == 0)
                {
                    gate.Pass();
                }

                return i;
            },
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 2, TaskScheduler = scheduler });
        Task<int>[] received = [.. Enumerable.Range(0, Messages).Select(_ => Receive(block))];
        block.PostAll(Enumerable.Range(0, Messages));
        Eventually.Equal(0, () => block.Input());
        gate.Open();
        Assert.Equal(Enumerable.Range(0, Messages), await Eventually.Result(Task.WhenAll(received)));
    }

    [Theory(Timeout = 3 * Limit)]
    [InlineData(BlockKind.Buffer)]
    [InlineData(BlockKind.Transform)]
    [InlineData(BlockKind.Broadcast)]
    [InlineData(BlockKind.WriteOnce)]
    [InlineData(BlockKind.Many)]
    public async Task Complete_LongChain_PassesTheMessageAndTheEnd(BlockKind kind)
    {
        const int Length = 5_000;
        using var scheduler = new SmallStackScheduler();
        var settings = new BlockSettings { Scheduler = scheduler };
        Subject[] chain = [.. Enumerable.Range(0, Length).Select(_ => Blocks.Create(kind, settings))];
        for (int i = 1; i < Length; i++)
        {
            ((ISourceBlock<string>)chain[i - 1].Block).LinkTo(chain[i].Input, Propagate);
        }

        Task<string> end = ((ISourceBlock<string>)chain[^1].Block).ReceiveAsync();
        SmallStackScheduler.Run(() =>
        {
            chain[0].Input.Post("a");
            chain[0].Block.Complete();
        });
        Assert.Equal("a", await end.WaitAsync(3 * Eventually.Patience));

        // One after the other, as each hop to another thread may take long on a machine that is busy.
        foreach (Subject subject in chain)
        {
            await Eventually.Done(subject.Completion);
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Release_ManyPendingSendsAndReceives_ServesThemAll()
    {
        const int Messages = 5_000;
        IPropagatorBlock<int, int> block = Blocks.Buffer<int>(new DataflowBlockOptions { BoundedCapacity = 1 });
        var target = new ProbeTarget<int>(ProbeTarget<int>.Postpone);
        IDisposable link = block.LinkTo(target);
        block.Post(-1);
        Eventually.Equal(1, () => target.Ids.Length);
        Assert.True(target.Reserve(target.Last));
        link.Dispose();
        Task<int>[] received = [.. Enumerable.Range(0, Messages).Select(_ => Receive(block))];
        Task<bool>[] sent = [.. Enumerable.Range(0, Messages).Select(i => Send(block, i))];
        SmallStackScheduler.Run(() => Assert.True(target.Consume(target.Last, out _)));
        Assert.Equal(Enumerable.Range(0, Messages), (await Eventually.Result(Task.WhenAll(received))).Order());
        Assert.All(await Eventually.Result(Task.WhenAll(sent)), Assert.True);
    }

    /// <summary>The block's own way to wait, if it has one.</summary>
    private static Task<int> Receive(ISourceBlock<int> block) => block switch
    {
        BufferBlock<int> own => own.ReceiveAsync(),
        TransformBlock<int, int> own => own.ReceiveAsync(),
        _ => block.ReceiveAsync(),
    };

    private static Task<bool> Send(ITargetBlock<int> block, int item) => block is BufferBlock<int> own ? own.SendAsync(item) : block.SendAsync(item);
}
