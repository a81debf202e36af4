using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;
using Weir.TestKit;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>On which scheduler, and in how large portions, does a block do its work?</summary>
public abstract class SchedulerContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    /// <summary>Whether a block queues a task for each burst of outputs, although nobody is linked who could get them.</summary>
    protected virtual bool AsksSchedulerWithoutLinks => true;

    [Theory]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public void Delegate_OwnScheduler_RunsThereOnly(BlockKind kind)
    {
        var scheduler = new ManualScheduler();
        var ran = new ConcurrentQueue<int>();
        Subject subject = Blocks.Create(kind, new BlockSettings { Scheduler = scheduler, Body = _ => ran.Enqueue(TaskScheduler.Current.Id) });
        subject.FeedNumbers(3);
        Never.True(() => !ran.IsEmpty);
        scheduler.RunAll();
        Eventually.True(() => { scheduler.RunAll(); return ran.Count == 3; });
        Assert.All(ran, id => Assert.Equal(scheduler.Id, id));
    }

    [Theory(Timeout = Limit)]
    [InlineData(1, true)]
    [InlineData(2, true)]
    [InlineData(2, false)]
    public async Task Sequence_OfATaskThatEndedElsewhere_IsReadOnTheOwnScheduler(int degree, bool ordered)
    {
        TaskScheduler scheduler = new ConcurrentExclusiveSchedulerPair(TaskScheduler.Default, 2).ConcurrentScheduler;
        var results = new ConcurrentQueue<TaskCompletionSource<IEnumerable<int>>>();
        var ran = new ConcurrentQueue<int>();
        IPropagatorBlock<int, int> block = Blocks.ManyAsync<int, int>(
            _ =>
            {
                var result = new TaskCompletionSource<IEnumerable<int>>();
                results.Enqueue(result);
                return result.Task;
            },
            new ExecutionDataflowBlockOptions { TaskScheduler = scheduler, MaxDegreeOfParallelism = degree, EnsureOrdered = ordered });
        block.PostAll(0, 1);
        block.Complete();
        for (int i = 0; i < 2; i++)
        {
            TaskCompletionSource<IEnumerable<int>>? result = null;
            Eventually.True(() => results.TryDequeue(out result));
            result!.SetResult(Enumerable.Range(2 * i, 2).Select(x =>
            {
                ran.Enqueue(TaskScheduler.Current.Id);
                return x;
            }));
            Assert.Equal(2 * i, await Eventually.Result(block.ReceiveAsync()));
            Assert.Equal((2 * i) + 1, await Eventually.Result(block.ReceiveAsync()));
        }

        await Eventually.Done(block.Completion);
        Assert.Equal(Enumerable.Repeat(scheduler.Id, 4), ran);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task Delegate_DefaultScheduler_SeesTheDefault(BlockKind kind)
    {
        var ran = new ConcurrentQueue<TaskScheduler>();
        Subject subject = Blocks.Create(kind, new BlockSettings { Body = _ => ran.Enqueue(TaskScheduler.Current) });
        await Task.Factory.StartNew(
            () => subject.FeedNumbers(1), CancellationToken.None, TaskCreationOptions.None, new ConcurrentExclusiveSchedulerPair().ExclusiveScheduler);
        Eventually.True(() => !ran.IsEmpty);
        Assert.Same(TaskScheduler.Default, Assert.Single(ran));
    }

    [Theory]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public void Delegate_DefaultScheduler_SeesNoSynchronizationContext(BlockKind kind)
    {
        SynchronizationContext? before = SynchronizationContext.Current;
        var ran = new ConcurrentQueue<bool>();
        try
        {
            SynchronizationContext.SetSynchronizationContext(new SynchronizationContext());
            Subject subject = Blocks.Create(kind, new BlockSettings { Body = _ => ran.Enqueue(SynchronizationContext.Current is null) });
            subject.FeedNumbers(1);
            Eventually.True(() => !ran.IsEmpty);
        }
        finally
        {
            SynchronizationContext.SetSynchronizationContext(before);
        }

        Assert.True(Assert.Single(ran));
    }

    [Theory]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public void Post_DelegateWaits_DoesNotRunItOnTheCallersThread(BlockKind kind)
    {
        var threads = new ConcurrentQueue<int>();
        Subject subject = Blocks.Create(kind, new BlockSettings { Body = _ => threads.Enqueue(Environment.CurrentManagedThreadId) });
        Exception? failure = null;
        var caller = new Thread(() =>
        {
            try
            {
                subject.FeedNumbers(20);
                Eventually.True(() => threads.Count == 20);
                Assert.DoesNotContain(Environment.CurrentManagedThreadId, threads);
            }
            catch (Exception e)
            {
                failure = e;
            }
        });
        caller.Start();
        Assert.True(caller.Join(Limit));
        Assert.Null(failure);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task Scheduler_Throws_FaultsTheBlockWithATaskSchedulerException(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind, new BlockSettings { Scheduler = new ThrowingScheduler() });
        subject.Feed("a");
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(subject.Completion));
        var error = Assert.IsType<TaskSchedulerException>(Assert.Single(subject.Completion.Exception!.InnerExceptions));
        Assert.IsType<NotSupportedException>(error.InnerException);
        Assert.False(subject.Feed("b"));
    }

    [Fact(Timeout = Limit)]
    public async Task Scheduler_ThrowsAndNobodyIsLinked_IsAskedByTheFirstLinkAtTheLatest()
    {
        IPropagatorBlock<string, string> block = Blocks.Buffer<string>(new DataflowBlockOptions { TaskScheduler = new ThrowingScheduler() });
        block.Post("a");
        if (AsksSchedulerWithoutLinks)
        {
            Assert.Equal(TaskStatus.Faulted, await Eventually.Status(block.Completion));
            return;
        }

        Never.True(() => block.Completion.IsCompleted);
        block.LinkTo(new ProbeTarget<string>(), new DataflowLinkOptions());
        block.Post("b");
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(block.Completion));
        Assert.IsType<TaskSchedulerException>(block.Completion.Exception!.InnerExceptions[0]);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public async Task Scheduler_ThrowsWhenOffering_FaultsTheBlock(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind, new BlockSettings { Scheduler = new ThrowingScheduler() });
        subject.Output.LinkTo(new ProbeTarget<object>());
        subject.Feed("a");
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(subject.Completion));
        Assert.IsType<TaskSchedulerException>(subject.Completion.Exception!.InnerExceptions[0]);
    }

    [Theory]
    [MemberData(nameof(Kinds.Queueing), MemberType = typeof(Kinds))]
    public void Offer_OwnScheduler_IsMadeThere(BlockKind kind)
    {
        var scheduler = new ManualScheduler();
        var ids = new ConcurrentQueue<int>();
        Subject subject = Blocks.Create(kind, new BlockSettings { Scheduler = scheduler });
        var target = new ProbeTarget<object>((_, _) => { ids.Enqueue(TaskScheduler.Current.Id); return DataflowMessageStatus.Accepted; });
        subject.Output.LinkTo(target);
        subject.FeedNumbers(2);
        Never.True(() => target.Ids.Length > 0);
        Eventually.True(() => { scheduler.RunAll(); return target.Ids.Length == 2; });
        Assert.All(ids, id => Assert.Equal(scheduler.Id, id));
    }

    [Theory]
    [InlineData(1, 10)]
    [InlineData(3, 4)]
    [InlineData(10, 1)]
    public void MaxMessagesPerTask_Action_QueuesATaskAfterSoMany(int perTask, int atLeast)
    {
        var scheduler = new ManualScheduler();
        int most = 0;
        int inTask = 0;
        ITargetBlock<int> block = Blocks.Action<int>(
            _ => most = Math.Max(most, ++inTask),
            new ExecutionDataflowBlockOptions { TaskScheduler = scheduler, MaxMessagesPerTask = perTask });
        block.PostAll(Enumerable.Range(0, 10));
        int tasks = 0;
        while (scheduler.RunOne())
        {
            tasks++;
            inTask = 0;
        }

        Assert.Equal(Math.Min(perTask, 10), most);
        Assert.InRange(tasks, atLeast, 11);
        Assert.Equal(0, block.Input());
    }

    [Theory]
    [MemberData(nameof(Kinds.Transforming), MemberType = typeof(Kinds))]
    public void MaxMessagesPerTask_One_StillHandlesAll(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Linked(kind, settings: new BlockSettings { PerTask = 1, Degree = 2 });
        subject.FeedNumbers(100);
        Eventually.Sequence(Enumerable.Range(0, 100).Select(static i => $"{i}"), () => target.Accepted.SelectMany(Subject.Strings));
    }

    [Fact]
    public void MaxMessagesPerTask_OfferingBlock_QueuesATaskAfterSoMany()
    {
        var scheduler = new ManualScheduler();
        IPropagatorBlock<int, int> block = Blocks.Buffer<int>(new DataflowBlockOptions { TaskScheduler = scheduler, MaxMessagesPerTask = 2 });
        var target = new ProbeTarget<int>();
        block.LinkTo(target);
        block.PostAll(Enumerable.Range(0, 6));
        int before = 0;
        while (scheduler.RunOne())
        {
            Assert.InRange(target.Ids.Length - before, 0, 2);
            before = target.Ids.Length;
        }

        Assert.Equal(Enumerable.Range(0, 6), target.Offered);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task Delegate_ExclusiveScheduler_IsAloneThoughTheDegreeIsTwo(BlockKind kind)
    {
        var pair = new ConcurrentExclusiveSchedulerPair();
        ConcurrencyProbe probe = new();
        Subject subject = Blocks.Create(kind, new BlockSettings
        {
            Scheduler = pair.ExclusiveScheduler,
            Degree = 2,
            Body = _ =>
            {
                using (probe.Enter())
                {
                    Thread.SpinWait(100);
                }
            },
        });
        subject.FeedNumbers(100);
        subject.Block.Complete();
        if (Kinds.HasOutput(kind))
        {
            subject.Output.LinkTo(DataflowBlock.NullTarget<object>());
        }

        await Eventually.Done(subject.Completion);
        Assert.Equal(1, probe.Most);
    }
}
