#if DEBUG
using Weir.Dataflow.Sync;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Interleavings;

/// <summary>A writer that stores a message, and a worker that goes to rest, in every order of their steps.</summary>
[Collection(nameof(Steps))]
public class WakeUpTests
{
    private const int Limit = 60_000;

    /// <summary>S: the writer stores. L: it looks whether the worker is active. I: the worker says that it is idle. Q: it looks at the queue again.</summary>
    [Theory(Timeout = Limit)]
    [InlineData("SLIQ")]
    [InlineData("SILQ")]
    [InlineData("SIQL")]
    [InlineData("ISLQ")]
    [InlineData("ISQL")]
    [InlineData("IQSL")]
    public async Task PostWhileGoingIdle_EveryOrder_MessageIsProcessedOnce(string order)
    {
        using var worker = new Turns(Step.FoundNothing, Step.SaidIdle);
        using var writer = new Turns(Step.Stored);
        var seen = new ConcurrentQueue<int>();
        var block = new ActionBlock<int>(seen.Enqueue);
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
                        Eventually.Equal(2, () => Volatile.Read(ref held));
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
            block.Complete();
            await Eventually.Done(block.Completion);
            Assert.Equal([1, 2], seen);
        }
        finally
        {
            Steps.Passing = null;
            writer.Open();
            worker.Open();
        }
    }
}
#endif
