using Weir.Core.Threads;

namespace Weir.Core.Tests.Threads;

public class PooledArraysTests
{
    // The locks are those of the platform's own pool of arrays, which the explorer does not see.
    [Fact(Timeout = 90_000)]
    public async Task ThreadIsInterrupted_WhileOthersUseThePool_GetsItAtItsOwnWait()
    {
        // More than the pool keeps for one processor without a lock.
        const int Arrays = 16;
        int interrupted = 0;
        Task[] threads = [.. Enumerable.Range(0, 4).Select(_ => Task.Factory.StartNew(
            () =>
            {
                List<long[]> arrays = [];
                for (int round = 0; round < 20_000; round++)
                {
                    Thread.CurrentThread.Interrupt();
                    for (int i = 0; i < Arrays; i++)
                    {
                        arrays.Add(PooledArrays.Rent<long>(100));
                    }

                    arrays.ForEach(static array => PooledArrays.Return(array));
                    arrays.Clear();
                }

                using ManualResetEvent own = new(initialState: true);
                try
                {
                    own.WaitOne();
                }
                catch (ThreadInterruptedException)
                {
                    Interlocked.Increment(ref interrupted);
                }
            },
            CancellationToken.None,
            TaskCreationOptions.LongRunning,
            TaskScheduler.Default))];
        await Task.WhenAll(threads);
        Assert.Equal(threads.Length, interrupted);
    }
}
