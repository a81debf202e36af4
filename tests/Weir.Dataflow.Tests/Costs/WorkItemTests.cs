using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Costs;

/// <summary>How many work items blocks queue where messages are dense. Each may wake a thread, which costs as much as thousands of messages.</summary>
public class WorkItemTests
{
    private const int Messages = 1000;

    [Fact]
    public void NonGreedyJoin_OfFullSources_FetchesAllInOneWorkItem()
    {
        ManualScheduler scheduler = new();
        JoinBlock<int, int> join = new(NonGreedy(scheduler));
        Full(scheduler).LinkTo(join.Target1);
        Full(scheduler).LinkTo(join.Target2);
        scheduler.RunAll();
        Assert.True(join.TryReceiveAll(out IList<Tuple<int, int>>? tuples));
        Assert.Equal(Enumerable.Range(0, Messages).Select(static i => Tuple.Create(i, i)), tuples);
        Assert.Equal(1, scheduler.Queued);
    }

    [Fact]
    public void NonGreedyBatch_OfFullSources_FetchesAllInOneWorkItem()
    {
        ManualScheduler scheduler = new();
        BatchBlock<int> batch = new(2, NonGreedy(scheduler));
        Full(scheduler).LinkTo(batch);
        Full(scheduler).LinkTo(batch);
        scheduler.RunAll();
        Assert.True(batch.TryReceiveAll(out IList<int[]>? batches));
        Assert.Equal(Enumerable.Range(0, Messages).Select(static i => new[] { i, i }), batches);
        Assert.Equal(1, scheduler.Queued);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(10)]
    public void NonGreedyJoin_WithMaxMessagesPerTask_GivesItsThreadToOthers(int most)
    {
        ManualScheduler scheduler = new();
        GroupingDataflowBlockOptions options = NonGreedy(scheduler);
        options.MaxMessagesPerTask = most;
        JoinBlock<int, int> join = new(options);
        Full(scheduler).LinkTo(join.Target1);
        Full(scheduler).LinkTo(join.Target2);
        scheduler.RunAll();
        Assert.Equal(Messages, join.OutputCount);
        Assert.InRange(scheduler.Queued, Messages / most, (Messages / most) + 1);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(10)]
    public void NonGreedyBatch_WithMaxMessagesPerTask_GivesItsThreadToOthers(int most)
    {
        ManualScheduler scheduler = new();
        GroupingDataflowBlockOptions options = NonGreedy(scheduler);
        options.MaxMessagesPerTask = most;
        BatchBlock<int> batch = new(2, options);
        Full(scheduler).LinkTo(batch);
        Full(scheduler).LinkTo(batch);
        scheduler.RunAll();
        Assert.Equal(Messages, batch.OutputCount);
        Assert.InRange(scheduler.Queued, Messages / most, (Messages / most) + 1);
    }

    private static GroupingDataflowBlockOptions NonGreedy(TaskScheduler scheduler) => new() { Greedy = false, TaskScheduler = scheduler };

    private static BufferBlock<int> Full(TaskScheduler scheduler)
    {
        BufferBlock<int> source = new(new DataflowBlockOptions { TaskScheduler = scheduler });
        for (int i = 0; i < Messages; i++)
        {
            source.Post(i);
        }

        return source;
    }
}
