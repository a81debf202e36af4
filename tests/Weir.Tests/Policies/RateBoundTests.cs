using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies;

/// <summary>In no stretch of time do more items of a run start than the burst and the rate of its limit allow.</summary>
public class RateBoundTests
{
    // The rounding of the bucket's arithmetic.
    private const double Rounding = 1e-3;

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(1_000, 1, 8, false, 60)]
    [InlineData(1_000, 10, 8, false, 100)]
    [InlineData(5_000, 40, 32, true, 300)]
    [InlineData(20_000, 5, 1, true, 300)]
    public async Task RateLimit_OfARunOnTheSystemsTimers_HoldsWhereItemsStart(int rate, int burst, int limit, bool suspends, int items)
    {
        // What a thread read last is the time at which it was let in; an item that reads the clock itself may be held up before.
        using LastReadTimeProvider clock = new(TimeProvider.System);
        ConcurrentQueue<long> starts = [];
        await Enumerable.Range(0, items).ForEachParallelAsync(
            async (_, token) =>
            {
                starts.Enqueue(clock.LastRead);
                if (suspends)
                {
                    await Task.Yield();
                }
            },
            new()
            {
                MaxDegreeOfParallelism = limit,
                RateLimit = new RateLimitOptions { TokensPerSecond = rate, BurstCapacity = burst, TimeProvider = clock },
            });
        Assert.Equal(items, starts.Count);
        Assert.InRange(RateBound.Excess(starts, clock.TimestampFrequency, rate, burst), -burst, Rounding);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(1, 1)]
    [InlineData(8, 1)]
    [InlineData(8, 6)]
    public async Task RateLimit_OnAClockThatJumps_HoldsWhereItemsStart(int limit, int burst)
    {
        ManualTimeProvider time = new();
        TickedTimeProvider ticked = new(time, TimeSpan.FromMilliseconds(15.6));
        using LastReadTimeProvider clock = new(ticked);
        TokenBucket bucket = new(new() { TokensPerSecond = 200, BurstCapacity = burst, TimeProvider = clock });
        ConcurrentQueue<long> starts = [];
        int failures = 0;
        Task<List<int>> run = Enumerable.Range(0, 60).SelectParallelAsync(
            (x, _) =>
            {
                // Each third item fails once: attempts are paid for as well.
                starts.Enqueue(clock.LastRead);
                return x % 3 == 0 && Interlocked.Increment(ref failures) <= 20 ? throw new FormatException() : new ValueTask<int>(x);
            },
            new()
            {
                MaxDegreeOfParallelism = limit,
                MaxRetries = 20,
                IsTransient = static _ => true,
                BaseDelay = TimeSpan.FromMilliseconds(1),
                TimeProvider = ticked,
                RateLimit = bucket,
            });
        await time.DriveAsync(run, TimeSpan.FromMilliseconds(5));
        Assert.Equal(Enumerable.Range(0, 60), await run);
        Assert.Equal(80, starts.Count);
        Assert.InRange(RateBound.Excess(starts, clock.TimestampFrequency, 200, burst), -burst, Rounding);
        await Guard.UntilAsync(() => time.ArmedTimers == 0, "the end of all timers");
    }
}
