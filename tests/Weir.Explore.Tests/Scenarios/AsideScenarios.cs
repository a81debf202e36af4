using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Resilience;

namespace Weir.Explore.Tests.Scenarios;

/// <summary>
/// An item is put aside for any worker, by the end of another one of its key, by a delay, by a circuit or by a shared limit, while the reader waits for a source
/// that goes on only when that item has run; and a control pauses the run, resumes it and moves its limit meanwhile.
/// </summary>
public class AsideScenarios(ITestOutputHelper output)
{
    private const int Items = 4;

    public static TheoryData<string, string, int, string> Pairs()
    {
        TheoryData<string, string, int, string> pairs = [];
        foreach (string source in (string[])["queue", "channel", "sequence", "lazy"])
        {
            foreach (string aside in (string[])["lane", "delay", "lane and delay", "circuit", "shared limit"])
            {
                foreach (string order in (string[])["pause", "limit"])
                {
                    pairs.Add(source, aside, 1, order);
                    pairs.Add(source, aside, 2, order);
                }
            }
        }

        return pairs;
    }

    [Theory]
    [MemberData(nameof(Pairs))]
    public void Item_PutAsideWhileTheReaderWaits_Runs(string source, string aside, int limit, string order) => output.Explored(async () =>
    {
        RunControl control = new();
        TaskCompletionSource allDone = new(TaskCreationOptions.RunContinuationsAsynchronously);
        using ManualResetEventSlim allDoneEvent = new();
        Channel<int> channel = Channel.CreateUnbounded<int>();
        ParallelRunOptions options = Options(aside) with { MaxDegreeOfParallelism = limit, Control = control };
        bool hasKeys = aside.Contains("lane", StringComparison.Ordinal);
        bool fails = aside.Contains("delay", StringComparison.Ordinal) || aside == "circuit";
        int attempts = 0;
        int done = 0;
        int inside = 0;
        int most = 0;
        Task disturbing = Task.Run(async () =>
        {
            // The reader waits by now, and delayed items come back after 10 ms.
            await PassAsync(5);
            if (order == "pause")
            {
                control.Pause();
                await PassAsync(20);
                control.Resume();
            }
            else
            {
                control.MaxDegreeOfParallelism = 3 - limit;
                await PassAsync(5);
                control.MaxDegreeOfParallelism = limit;
            }
        });
        await RunAsync();
        await disturbing;
        Assert.Equal(Items, done);
        Assert.InRange(most, 1, 2);

        async ValueTask CallAsync(int item, CancellationToken token)
        {
            int now = Interlocked.Increment(ref inside);
            most = Math.Max(most, now);
            try
            {
                if (item % 2 == 1)
                {
                    await Task.Yield();
                }

                if (item == 0 && fails && Interlocked.Increment(ref attempts) == 1)
                {
                    throw new InvalidOperationException();
                }
            }
            finally
            {
                Interlocked.Decrement(ref inside);
            }

            if (Interlocked.Increment(ref done) == Items)
            {
                channel.Writer.Complete();
                allDone.SetResult();
                allDoneEvent.Set();
            }
        }

        Task RunAsync()
        {
            switch (source)
            {
                case "queue":
                    WorkQueue<int> queue = new();
                    queue.AddRange(Enumerable.Range(0, Items));
                    return hasKeys
                        ? queue.PartitionBy(static item => item % 3).ForEachParallelAsync(CallAsync, options)
                        : queue.ForEachParallelAsync(CallAsync, options);
                case "channel":
                    for (int i = 0; i < Items; i++)
                    {
                        channel.Writer.TryWrite(i);
                    }

                    return hasKeys
                        ? channel.Reader.PartitionBy(static item => item % 3).ForEachParallelAsync(CallAsync, options)
                        : channel.Reader.ForEachParallelAsync(CallAsync, options);
                case "sequence":
                    return hasKeys
                        ? SequenceAsync().PartitionBy(static item => item % 3).ForEachParallelAsync(CallAsync, options)
                        : SequenceAsync().ForEachParallelAsync(CallAsync, options);
                default:
                    return hasKeys
                        ? Lazy().PartitionBy(static item => item % 3).ForEachParallelAsync(CallAsync, options)
                        : Lazy().ForEachParallelAsync(CallAsync, options);
            }
        }

        async IAsyncEnumerable<int> SequenceAsync([EnumeratorCancellation] CancellationToken token = default)
        {
            for (int i = 0; i < Items; i++)
            {
                yield return i;
            }

            await allDone.Task.WaitAsync(token);
        }

        IEnumerable<int> Lazy()
        {
            for (int i = 0; i < Items; i++)
            {
                yield return i;
            }

            // On the reader's thread.
            allDoneEvent.Wait(CancellationToken.None);
        }
    });

    private static Task PassAsync(int milliseconds) => Task.Delay(TimeSpan.FromMilliseconds(milliseconds), TimeProvider.System, CancellationToken.None);

    private static ParallelRunOptions Options(string aside) => aside switch
    {
        "delay" or "lane and delay" => new()
        {
            Retry = new RetryOptions
            {
                MaxRetries = 1,
                IsTransient = static _ => true,
                BaseDelay = TimeSpan.FromMilliseconds(10),
                BackoffStrategy = BackoffStrategy.Linear,
            },
        },
        "circuit" => new()
        {
            Retry = new RetryOptions { MaxRetries = 1, IsTransient = static _ => true, BaseDelay = TimeSpan.Zero },
            OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen,
            CircuitBreaker = new CircuitBreaker(
                new CircuitBreakerOptions { FailureThreshold = 1, SuccessThreshold = 1, OpenTimeout = TimeSpan.FromMilliseconds(10) }),
        },
        "shared limit" => new() { ConcurrencyLimit = new SharedConcurrencyLimit(1) },
        _ => new(),
    };
}
