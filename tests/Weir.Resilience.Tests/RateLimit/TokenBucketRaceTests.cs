using System.Collections.Concurrent;

namespace Weir.Resilience.Tests.RateLimit;

/// <summary>
/// The promises of a bucket that many threads use at once, where not each call reads the clock. That begins at a burst of some thousand calls, so that it has
/// too many steps for a scenario of the explorer, which has the rest. None of them depends on how fast a thread is.
/// </summary>
public class TokenBucketRaceTests
{
    private const double Rounding = 1e-3;

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
