using Weir.Dataflow.Tests.Probes;
using Weir.TestKit;

namespace Weir.Dataflow.Tests.Interleavings;

/// <summary>Most calls are short, and some last. As many of those run at once as may.</summary>
public class LastingCallTests
{
    private const int Limit = Eventually.Limit;
    private const int Every = 37;

    public static TheoryData<string, int, int, bool> Cases
    {
        get
        {
            // Any two of these together; any mixture is drawn below.
            string[] kinds = ["action", "transform", "many"];
            int[] messagesPerTask = [DataflowBlockOptions.Unbounded, 1, 50];
            (int Degree, bool Ordered)[] degrees = [(2, true), (8, true), (8, false)];
            TheoryData<string, int, int, bool> data = [];
            foreach (int[] row in Pairs.Rows(kinds.Length, messagesPerTask.Length, degrees.Length))
            {
                data.Add(kinds[row[0]], degrees[row[2]].Degree, messagesPerTask[row[1]], degrees[row[2]].Ordered);
            }

            return data;
        }
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Cases))]
    public async Task Calls_SomeBlock_RunAsManyAtOnceAsMay(string kind, int degree, int messagesPerTask, bool ordered)
    {
        using var gate = new Probes.Gate();
        int count = Every * degree * 3;
        List<int> seen = [];
        (ITargetBlock<int> block, Task end) = Create(kind, Options(degree, messagesPerTask, ordered), seen, i =>
        {
            if (i % Every == Every - 1)
            {
                gate.Pass();
            }

            return Task.CompletedTask;
        });
        block.PostAll(Enumerable.Range(0, count));
        gate.AwaitArrivals(degree);
        Never.True(() => gate.Arrived > degree);
        gate.Open();
        block.Complete();
        await Eventually.Done(end);
        Check(kind, seen, count, ordered);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Cases))]
    public async Task Calls_SomeArePending_RunAsManyAtOnceAsMay(string kind, int degree, int messagesPerTask, bool ordered)
    {
        var release = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        int started = 0;
        int count = Every * degree * 3;
        List<int> seen = [];
        (ITargetBlock<int> block, Task end) = Create(
            kind,
            Options(degree, messagesPerTask, ordered),
            seen,
            i => i % Every != Every - 1 || Interlocked.Increment(ref started) < 0 ? Task.CompletedTask : release.Task,
            isAsync: true);
        block.PostAll(Enumerable.Range(0, count));
        Eventually.Equal(degree, () => Volatile.Read(ref started));
        Never.True(() => Volatile.Read(ref started) > degree);
        release.SetResult();
        block.Complete();
        await Eventually.Done(end);
        Assert.Equal(degree * 3, started);
        Check(kind, seen, count, ordered);
    }

    [Theory(Timeout = Limit)]
    [InlineData(DataflowBlockOptions.Unbounded)]
    [InlineData(1)]
    [InlineData(50)]
    public async Task Calls_OneBlocksOrIsPending_HoldsNothingUp(int messagesPerTask)
    {
        using var gate = new Probes.Gate();
        var release = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        const int count = 4_000;
        int done = 0;
        var block = new ActionBlock<int>(
            i =>
            {
                if (i == Every)
                {
                    gate.Pass();
                }
                else if (i == 2 * Every)
                {
                    return release.Task;
                }

                Interlocked.Increment(ref done);
                return Task.CompletedTask;
            },
            Options(4, messagesPerTask, ordered: true));
        block.PostAll(Enumerable.Range(0, count));
        Eventually.Equal(count - 2, () => Volatile.Read(ref done));
        gate.Open();
        release.SetResult();
        block.Complete();
        await Eventually.Done(block.Completion);
    }

    private static ExecutionDataflowBlockOptions Options(int degree, int messagesPerTask, bool ordered) => new()
    {
        MaxDegreeOfParallelism = degree,
        MaxMessagesPerTask = messagesPerTask,
        EnsureOrdered = ordered,
        TaskScheduler = new ThreadScheduler(),
    };

    private static (ITargetBlock<int> Block, Task End) Create(
        string kind, ExecutionDataflowBlockOptions options, List<int> seen, Func<int, Task> body, bool isAsync = false)
    {
        ITargetBlock<int> block = Calling.Block(kind, isAsync, options, body);
        if (block is not ISourceBlock<int> source)
        {
            return (block, block.Completion);
        }

        var sink = new ActionBlock<int>(seen.Add);
        source.LinkTo(sink, new DataflowLinkOptions { PropagateCompletion = true });
        return (block, sink.Completion);
    }

    private static void Check(string kind, List<int> seen, int count, bool ordered)
    {
        if (kind != "action")
        {
            Assert.Equal(Enumerable.Range(0, count), ordered ? seen : seen.Order());
        }
    }
}
