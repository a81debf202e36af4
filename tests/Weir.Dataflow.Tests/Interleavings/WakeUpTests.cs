#if DEBUG
using Weir.Dataflow.Sync;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Interleavings;

/// <summary>A writer that stores a message, and a worker that goes to rest, in every order of their steps.</summary>
[Collection(nameof(Steps))]
public class WakeUpTests
{
    private const int Limit = Eventually.Limit;

    /// <summary>S: the writer stores. L: it looks whether the worker is active. I: the worker says that it is idle. Q: it looks at the queue again.</summary>
    [Theory(Timeout = Limit)]
    [InlineData("SLIQ", 1)]
    [InlineData("SLIQ", 2)]
    [InlineData("SILQ", 1)]
    [InlineData("SILQ", 2)]
    [InlineData("SIQL", 1)]
    [InlineData("SIQL", 2)]
    [InlineData("ISLQ", 1)]
    [InlineData("ISLQ", 2)]
    [InlineData("ISQL", 1)]
    [InlineData("ISQL", 2)]
    [InlineData("IQSL", 1)]
    [InlineData("IQSL", 2)]
    public async Task PostWhileGoingIdle_EveryOrder_MessageIsProcessedOnce(string order, int degree)
    {
        using var worker = new Turns(Step.FoundNothing, Step.SaidIdle);
        using var writer = new Turns(Step.Stored);
        var seen = new ConcurrentQueue<int>();
        using var gate = new Probes.Gate();

        // Of two workers one is inside a call meanwhile.
        int calls = degree - 1;
        var block = new ActionBlock<int>(
            i =>
            {
                if (i == 0)
                {
                    gate.Pass();
                }
                else
                {
                    seen.Enqueue(i);
                }
            },
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = degree });
        int held = 0;
        Steps.Passing = (step, who) =>
        {
            if (ReferenceEquals(who, block))
            {
                (step == Step.Stored ? writer : worker).Pass(step);
            }
        };

        try
        {
            // One thread alone posts, so the gate is its own and the worker has to use the barrier.
            var posts = new BlockingCollection<int>();
            Task posting = Task.Factory.StartNew(
                () =>
                {
                    foreach (int post in posts.GetConsumingEnumerable())
                    {
                        block.Post(post);
                        Interlocked.Increment(ref held);
                    }
                },
                CancellationToken.None,
                TaskCreationOptions.LongRunning,
                TaskScheduler.Default);

            for (int i = 0; i < calls; i++)
            {
                posts.Add(0);
                writer.Await(Step.Stored);
                writer.Release();
                gate.AwaitArrivals();
            }

            posts.Add(1);
            writer.Await(Step.Stored);
            writer.Release();
            worker.Await(Step.FoundNothing);
            foreach (char step in order)
            {
                switch (step)
                {
                    case 'S':
                        posts.Add(2);
                        writer.Await(Step.Stored);
                        break;
                    case 'L':
                        writer.Release();
                        Eventually.Equal(calls + 2, () => Volatile.Read(ref held));
                        break;
                    case 'I':
                        worker.Release();
                        worker.Await(Step.SaidIdle);
                        break;
                    default:
                        worker.Release();
                        break;
                }
            }

            writer.Open();
            worker.Open();
            Eventually.Sequence([1, 2], () => seen);
            posts.CompleteAdding();
            await Eventually.Done(posting);
            gate.Open();
            block.Complete();
            await Eventually.Done(block.Completion);
            Assert.Equal([1, 2], seen);
        }
        finally
        {
            Steps.Passing = null;
            gate.Open();
            writer.Open();
            worker.Open();
        }
    }
}
#endif
