namespace Weir.Lab.Suites.Workloads;

/// <summary>Items from 1 on, each of which takes some work to produce.</summary>
internal sealed class CostlySource(int count, int iterations)
{
    public IEnumerable<int> Lazy()
    {
        for (int item = 1; item <= count; item++)
        {
            Step(item);
            yield return item;
        }
    }

    // Many libraries return an iterator that never suspends for data that they already have.
    public async IAsyncEnumerable<int> Async()
    {
        for (int item = 1; item <= count; item++)
        {
            await Task.CompletedTask;
            Step(item);
            yield return item;
        }
    }

    public async IAsyncEnumerable<int> Suspending()
    {
        for (int item = 1; item <= count; item++)
        {
            await Task.Yield();
            Step(item);
            yield return item;
        }
    }

    /// <summary>A new channel, and a task that begins to write to it at once.</summary>
    public ChannelReader<int> Channel()
    {
        Channel<int> channel = System.Threading.Channels.Channel.CreateUnbounded<int>(new UnboundedChannelOptions { SingleWriter = true });
        ThreadPool.UnsafeQueueUserWorkItem(
            writer =>
            {
                foreach (int item in Lazy())
                {
                    writer.TryWrite(item);
                }

                writer.Complete();
            },
            channel.Writer,
            preferLocal: false);
        return channel.Reader;
    }

    private void Step(int item) => CalibratedSpin.Run(item, iterations);
}
