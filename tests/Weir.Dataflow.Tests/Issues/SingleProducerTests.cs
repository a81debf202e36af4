using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Issues;

/// <summary>
/// Complete that meets the worker as it stops being active. Microsoft's block with SingleProducerConstrained writes that it declines and reads whether its
/// worker is active without a fence between, and once in some hundreds to thousands of times never completes.
/// </summary>
public class SingleProducerTests
{
    [Theory(Timeout = Eventually.Limit)]
    [InlineData(true, 1)]
    [InlineData(false, 1)]
    [InlineData(false, 2)]
    public async Task Complete_WhileTheWorkerGoesToRest_Completes(bool singleProducer, int degree)
    {
        var options = new ExecutionDataflowBlockOptions { SingleProducerConstrained = singleProducer, MaxDegreeOfParallelism = degree };
        foreach (int round in Rounds.UpTo(20_000))
        {
            int seen = 0;
            var block = new ActionBlock<int>(_ => Interlocked.Increment(ref seen), options);
            block.Post(1);
            block.Post(2);
            Thread.SpinWait(round % 60);
            block.Complete();
            await Eventually.Done(block.Completion);
            Assert.Equal(2, seen);
        }
    }
}
