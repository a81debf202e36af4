using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>What becomes of a message whose delegate throws, is cancelled, or gives nothing?</summary>
public abstract class ExecutionContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    [Theory(Timeout = Limit)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task Delegate_ContextOfThePost_IsSeen(int degree)
    {
        var local = new AsyncLocal<string?> { Value = "poster's" };
        var seen = new TaskCompletionSource<string?>();
        ITargetBlock<int> block =
            Blocks.Action<int>(_ => seen.TrySetResult(local.Value), new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = degree });
        block.Post(1);
        Assert.Equal("poster's", await Eventually.Result(seen.Task));
        block.Complete();
        await Eventually.Done(block.Completion);
    }

    [Theory(Timeout = Limit)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task Delegate_ChangesItsContext_TheNextTaskDoesNotSeeIt(int degree)
    {
        var local = new AsyncLocal<string?>();
        var seen = new ConcurrentQueue<string?>();
        ITargetBlock<int> block = Blocks.Action<int>(
            _ =>
            {
                seen.Enqueue(local.Value);
                local.Value = "left behind";
            },
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = degree });

        // From the pool's own context, of which there is nothing to put back. One message at a time, so that each has a task of its own, or may have one.
        var posted = new TaskCompletionSource();
        ThreadPool.UnsafeQueueUserWorkItem(
            _ =>
            {
                for (int i = 1; i <= 50; i++)
                {
                    block.Post(i);
                    SpinWait.SpinUntil(() => seen.Count == i, Eventually.Patience);
                }

                posted.SetResult();
            },
            null);
        await Eventually.Done(posted.Task);
        block.Complete();
        await Eventually.Done(block.Completion);
        var other = new TaskCompletionSource<string?>();
        ThreadPool.UnsafeQueueUserWorkItem(_ => other.SetResult(local.Value), null);
        Assert.Null(await Eventually.Result(other.Task));
        Assert.Equal(50, seen.Count);
        Assert.True(seen.TryPeek(out string? first));
        Assert.Null(first);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task Delegate_Throws_FaultsTheBlockWithItsException(BlockKind kind)
    {
        var error = new FormatException("delegate");
        Subject subject = Blocks.Create(kind, new BlockSettings { Body = _ => throw error });
        Assert.True(subject.Feed("culprit"));
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(subject.Completion));
        Assert.Same(error, Assert.Single(subject.Completion.Exception!.InnerExceptions));
        Assert.False(subject.Feed("more"));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task Delegate_Throws_NamesTheMessageInTheData(BlockKind kind)
    {
        var error = new FormatException("delegate");
        Subject subject = Blocks.Create(kind, new BlockSettings { Body = _ => throw error });
        Assert.True(subject.Feed("culprit"));
        await Eventually.Status(subject.Completion);
        if (kind != BlockKind.ActionAsync || error.Data["DataflowMessageValue"] is not null)
        {
            // Microsoft's ActionBlock with a task is alone in leaving it out.
            Assert.Equal("culprit", error.Data["DataflowMessageValue"]);
        }
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task Delegate_Throws_DropsWhatWaits(BlockKind kind)
    {
        using var gate = new Gate();
        Subject subject = Blocks.Create(kind, new BlockSettings { Body = _ => { gate.Pass(); throw new FormatException(); } });
        subject.FeedAll("a", "b", "c");
        gate.AwaitArrivals();
        gate.Open();
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(subject.Completion));
        Assert.Equal(1, gate.Arrived);
        Assert.Equal(0, subject.InputCount);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task Delegate_ThrowsAtDegreeTwo_CollectsBoth(BlockKind kind)
    {
        using var gate = new Gate();
        Subject subject = Blocks.Create(kind, new BlockSettings { Degree = 2, Body = s => { gate.Pass(); throw new FormatException(s); } });
        subject.FeedAll("a", "b");
        gate.AwaitArrivals(2);
        gate.Open();
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(subject.Completion));
        Assert.Equal(["a", "b"], subject.Completion.Exception!.InnerExceptions.Select(static e => e.Message).Order());
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task Delegate_ThrowsOperationCanceled_DropsThatMessageOnly(BlockKind kind)
    {
        var seen = new ConcurrentQueue<string>();
        Subject subject = Blocks.Create(kind, new BlockSettings
        {
            Body = s =>
            {
                seen.Enqueue(s);
                if (s == "b")
                {
                    throw new OperationCanceledException();
                }
            },
        });
        subject.FeedAll("a", "b", "c");
        subject.Block.Complete();
        Assert.Equal(Kinds.HasOutput(kind) ? ["a", "c"] : [], Output(subject, 2));
        Assert.Equal(TaskStatus.RanToCompletion, await Eventually.Status(subject.Completion));
        Assert.Equal(["a", "b", "c"], seen);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task Delegate_ThrowsOperationCanceledInParallel_LeavesNoHoleInTheOrder(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind, new BlockSettings
        {
            Degree = 4,
            Body = static s =>
            {
                if (int.Parse(s) % 3 == 0)
                {
                    throw new OperationCanceledException();
                }
            },
        });
        string[] items = [.. Enumerable.Range(0, 60).Select(static i => $"{i}")];
        subject.FeedAll(items);
        subject.Block.Complete();
        string[] expected = Kinds.HasOutput(kind) ? [.. items.Where(static s => int.Parse(s) % 3 != 0)] : [];
        Assert.Equal(expected, Output(subject, 40));
        Assert.Equal(TaskStatus.RanToCompletion, await Eventually.Status(subject.Completion));
    }

    [Fact(Timeout = Limit)]
    public async Task AsyncDelegate_NullTask_DropsTheMessage()
    {
        ITargetBlock<int> action = Blocks.ActionAsync<int>(static _ => null!);
        IPropagatorBlock<int, int> transform = Blocks.TransformAsync<int, int>(static i => i == 1 ? null! : Task.FromResult(i));
        IPropagatorBlock<int, int> many = Blocks.ManyAsync<int, int>(static i => i == 1 ? null! : Task.FromResult<IEnumerable<int>>([i]));
        foreach (ITargetBlock<int> block in new[] { action, transform, many })
        {
            Assert.True(block.Post(1));
            Assert.True(block.Post(2));
            block.Complete();
        }

        Assert.Equal(2, await Eventually.Result(transform.ReceiveAsync()));
        Assert.Equal(2, await Eventually.Result(many.ReceiveAsync()));
        await Eventually.Done(Task.WhenAll(action.Completion, transform.Completion, many.Completion));
    }

    [Fact(Timeout = Limit)]
    public async Task ManyDelegate_NullSequence_GivesNothing()
    {
        IPropagatorBlock<int, int>[] blocks =
        [
            Blocks.Many<int, int>(static i => i == 1 ? null! : [i]),
            Blocks.ManyAsync<int, int>(static i => Task.FromResult<IEnumerable<int>>(i == 1 ? null! : [i])),
            Blocks.ManyStream<int, int>(static i => i == 1 ? null! : One(i)),
        ];
        foreach (IPropagatorBlock<int, int> block in blocks)
        {
            block.Post(1);
            block.Post(2);
            block.Complete();
            Assert.Equal(2, await Eventually.Result(block.ReceiveAsync()));
            await Eventually.Done(block.Completion);
        }
    }

    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task AsyncDelegate_FaultedTask_FaultsTheBlock(bool late)
    {
        var error = new FormatException("task");
        async Task<int> Body(int _)
        {
            if (late)
            {
                await Task.Yield();
            }

            throw error;
        }

        IDataflowBlock[] blocks =
        [
            Fed(Blocks.ActionAsync<int>(Body)),
            Fed(Blocks.TransformAsync<int, int>(Body)),
            Fed(Blocks.ManyAsync<int, int>(async i => [await Body(i)])),
        ];
        foreach (IDataflowBlock block in blocks)
        {
            Assert.Equal(TaskStatus.Faulted, await Eventually.Status(block.Completion));
            Assert.Same(error, Assert.Single(block.Completion.Exception!.InnerExceptions));
        }

        Assert.Equal("7", error.Data["DataflowMessageValue"]);
    }

    [Fact(Timeout = Limit)]
    public async Task AsyncDelegate_TaskWithSeveralExceptions_KeepsThemAll()
    {
        IPropagatorBlock<int, int> transform = Blocks.TransformAsync<int, int>(static _ =>
        {
            var several = new TaskCompletionSource<int>();
            several.SetException([new FormatException("a"), new FormatException("b")]);
            return several.Task;
        });
        transform.Post(1);
        await Eventually.Status(transform.Completion);
        Assert.Equal(["a", "b"], transform.Completion.Exception!.InnerExceptions.Select(static e => e.Message));
    }

    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task AsyncDelegate_CancelledTask_DropsTheMessage(bool late)
    {
        async Task<int> Body(int item)
        {
            if (late)
            {
                await Task.Yield();
            }

            return item == 7 ? throw new OperationCanceledException() : item;
        }

        IPropagatorBlock<int, int>[] blocks = [Blocks.TransformAsync<int, int>(Body), Blocks.ManyAsync<int, int>(async i => [await Body(i)])];
        foreach (IPropagatorBlock<int, int> block in blocks)
        {
            block.Post(7);
            block.Post(8);
            block.Complete();
            Assert.Equal(8, await Eventually.Result(block.ReceiveAsync()));
            await Eventually.Done(block.Completion);
        }
    }

    [Fact(Timeout = Limit)]
    public async Task AsyncDelegate_Pending_HoldsTheNextBack()
    {
        var first = new TaskCompletionSource();
        var started = new ConcurrentQueue<int>();
        ITargetBlock<int> action = Blocks.ActionAsync<int>(i => { started.Enqueue(i); return i == 1 ? first.Task : Task.CompletedTask; });
        action.Post(1);
        action.Post(2);
        Eventually.Sequence([1], () => started);
        Never.True(() => started.Count > 1);
        action.Complete();
        Assert.False(action.Completion.IsCompleted);
        first.SetResult();
        await Eventually.Done(action.Completion);
        Assert.Equal([1, 2], started);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task Delegate_PostsToItsOwnBlock_IsHeard(BlockKind kind)
    {
        Subject? self = null;
        var seen = new ConcurrentQueue<string>();
        Subject subject = Blocks.Create(kind, new BlockSettings
        {
            Body = s =>
            {
                seen.Enqueue(s);
                if (s.Length < 5)
                {
                    Assert.True(self!.Input.Post(s + "+"));
                }
                else
                {
                    self!.Block.Complete();
                }
            },
        });
        self = subject;
        Assert.True(subject.Feed("a"));
        Eventually.Sequence(["a", "a+", "a++", "a+++", "a++++"], () => seen);
        Output(subject, 5);
        await Eventually.Done(subject.Completion);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task Delegate_FaultsItsOwnBlock_EndsIt(BlockKind kind)
    {
        Subject? self = null;
        Subject subject = Blocks.Create(kind, new BlockSettings { Body = _ => self!.Block.Fault(new FormatException("self")) });
        self = subject;
        subject.FeedAll("a");
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(subject.Completion));
        Assert.Equal("self", Assert.Single(subject.Completion.Exception!.InnerExceptions).Message);
        Assert.Null(subject.Take());
    }

    private static IDataflowBlock Fed(ITargetBlock<int> block)
    {
        Assert.True(block.Post(7));
        return block;
    }

    private static string[] Output(Subject subject, int count)
    {
        var taken = new List<string>();
        for (int i = 0; i < count && Kinds.HasOutput(subject.Kind); i++)
        {
            object? item = null;
            Eventually.True(() => (item = subject.Take()) is not null);
            taken.AddRange(Subject.Strings(item));
        }

        return [.. taken];
    }

    private static async IAsyncEnumerable<int> One(int item)
    {
        await Task.Yield();
        yield return item;
    }
}
