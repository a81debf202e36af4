using System.Collections.Concurrent;
using Weir.TestKit;

namespace Weir.Resilience.Tests.RateLimit;

/// <summary>The promises of a bucket that many threads use at once. None of them depends on how fast a thread is.</summary>
public class TokenBucketRaceTests
{
    private const double Rounding = 1e-3;

    [Theory(Timeout = 120_000)]
    [InlineData(1_000, 1, 1, 120)]
    [InlineData(20_000, 50, 1, 3_000)]
    [InlineData(100_000, 700, 2.5, 6_000)]
    public async Task Calls_ManyThreads_NoWindowHoldsMoreThanRateAndBurst(int rate, int burst, double cost, int calls)
    {
        // What a thread read last is when it was let in: whoever awaits the gate goes on on the thread that has taken his tokens.
        using var clock = new LastReadTimeProvider(TimeProvider.System);
        var bucket = new TokenBucket(new RateLimitOptions { TokensPerSecond = rate, BurstCapacity = burst, TokensPerOperation = cost, TimeProvider = clock });
        IRateLimit gate = bucket;
        ConcurrentQueue<long> starts = [];
        int left = calls;
        await Task.WhenAll(Enumerable.Range(0, 8).Select(seed => Task.Run(async () =>
        {
            var random = new SeededRandom(seed);
            while (Interlocked.Decrement(ref left) >= 0)
            {
                double kind = random.NextDouble();
                if (kind < 0.3)
                {
                    if (bucket.TryEnter())
                    {
                        starts.Enqueue(clock.LastRead);
                    }
                }
                else if (kind < 0.8)
                {
                    await gate.EnterAsync(CancellationToken.None).ConfigureAwait(false);
                    starts.Enqueue(clock.LastRead);
                }
                else
                {
                    // Some are let in and some are not; whoever is not must call the one behind him.
                    using var cancel = new CancellationTokenSource();
                    ValueTask<IDisposable?> wait = gate.EnterAsync(cancel.Token);
                    Task cancelling = Task.Run(cancel.Cancel);
                    try
                    {
                        await wait.ConfigureAwait(false);
                        starts.Enqueue(clock.LastRead);
                    }
                    catch (OperationCanceledException)
                    {
                    }

                    await cancelling.ConfigureAwait(false);
                }
            }
        })));
        Assert.NotEmpty(starts);
        Assert.Equal(0, bucket.Waiting);
        double excess = RateBound.Excess(starts, clock.TimestampFrequency, rate, burst, cost);
        Assert.True(excess < Rounding, $"{excess} tokens too many.");
    }

    // Where not each call reads the clock, a call started somewhere between two readings around it. So a stretch of time certainly holds those that lie in it
    // with both.
    [Fact(Timeout = 120_000)]
    public async Task TryEnter_ManyThatDoNotLookAtTheClock_NoWindowHoldsMoreThanRateAndBurst()
    {
        const double rate = 2e6;
        const int burst = 8_000;
        TimeProvider clock = TimeProvider.System;
        var bucket = new TokenBucket(new RateLimitOptions { TokensPerSecond = rate, BurstCapacity = burst, TimeProvider = clock });
        (long Before, long After)[][] calls = await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Run(async () =>
        {
            List<(long Before, long After)> mine = [];
            for (int i = 0; i < 8_000; i++)
            {
                long before = clock.GetTimestamp();
                if (i % 500 == 0)
                {
                    await bucket.WaitAsync();
                }
                else if (bucket.TryEnter())
                {
                    mine.Add((before, clock.GetTimestamp()));
                }
            }

            return mine.ToArray();
        })));
        (long Before, long After)[] all = [.. calls.SelectMany(static c => c).OrderBy(static c => c.After)];
        foreach (long begin in all.Select(static c => c.Before).Order().Where(static (_, i) => i % 100 == 0))
        {
            int inside = 0;
            foreach ((long before, long after) in all)
            {
                inside += before >= begin ? 1 : 0;
                Assert.True(before < begin || inside <= burst + (rate * (after - begin) / clock.TimestampFrequency) + Rounding, "Too many.");
            }
        }
    }
}
