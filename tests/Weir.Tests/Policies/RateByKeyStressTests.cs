using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies;

/// <summary>Runs that share the rate limits of their keys, on the system's timers: every item ends once, no rate is exceeded, and no queue is stuck.</summary>
public sealed class RateByKeyStressTests : IDisposable
{
    private const int Keys = 5;
    private const int Items = 60;
    private const double Rate = 2_000;
    private const double Burst = 4;

    private readonly LastReadTimeProvider _clock = new(TimeProvider.System);
    private readonly Gate _gate = new();
    private readonly ConcurrentQueue<(int Key, long At)> _starts = [];

    public void Dispose()
    {
        _gate.Dispose();
        _clock.Dispose();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    [InlineData(5)]
    [InlineData(6)]
    public async Task Runs_OfAllKinds_EndEveryItemOnce_AndLeaveNothing(int seed)
    {
        Random random = new(seed);
        RateLimits rates = RateLimits.ByKey<int, int>(
            static item => item % Keys, new RateLimitOptions { TokensPerSecond = Rate, BurstCapacity = Burst, TimeProvider = _clock });
        SharedConcurrencyLimit shared = new(3);
        ConcurrencyLimits byKey = ConcurrencyLimits.ByKey<int, int>(static item => item % Keys, 2);
        for (int round = 0; round < 4; round++)
        {
            await Task.WhenAll(Enumerable.Range(0, 5).Select(i => RunAsync(new Random(random.Next()), Options(random, rates, shared, byKey), i)));
        }

        // A turn that was left behind would be called before these, and with nobody to come they would start late, or never.
        int[] last = [.. Enumerable.Range(0, Keys * 10)];
        Assert.Equal(last, await last.SelectParallelAsync(
            StartAsync, new ParallelRunOptions { MaxDegreeOfParallelism = 2, RateLimitByKey = rates, SharedConcurrencyLimit = shared }).WithinAsync());
        Assert.Equal((0, 0), (shared.InUse, shared.Waiting));
        Assert.All(_starts.GroupBy(static s => s.Key), key => Assert.True(
            RateBound.Excess(key.Select(static s => s.At), _clock.TimestampFrequency, Rate, Burst) < 1e-3, $"Key {key.Key} had more than its rate."));
    }

    private static ParallelRunOptions Options(Random random, RateLimits rates, SharedConcurrencyLimit shared, ConcurrencyLimits byKey)
    {
        int limits = random.Next(3);
        bool retries = random.Next(2) == 0;
        return new ParallelRunOptions
        {
            MaxDegreeOfParallelism = random.Next(1, 5),
            RateLimitByKey = rates,
            SharedConcurrencyLimit = limits == 1 ? shared : null,
            ConcurrencyLimitByKey = limits == 2 ? byKey : null,
            PerItemTimeout = random.Next(2) == 0 ? TimeSpan.FromMilliseconds(5) : null,
            MaxRetries = retries ? 2 : 0,
            IsTransient = retries ? static e => e is TestException : null,
            BaseDelay = TimeSpan.FromMilliseconds(1),
            OnStartItemAsync = random.Next(3) == 0 ? static _ => default : null,
            ErrorMode = ErrorMode.CollectAndContinue,
        };
    }

    /// <summary>One run, which is cancelled at some moment or not. Calls succeed, fail, suspend, or outlast the limit of their item.</summary>
    private async Task RunAsync(Random random, ParallelRunOptions options, int kind)
    {
        int[] items = [.. Enumerable.Range(0, Items).Select(_ => random.Next(1_000))];
        int cancelAt = kind == 0 ? random.Next(Items) : int.MaxValue;
        int leaveAt = random.Next(1, Items);
        int begun = 0;
        using CancellationTokenSource cancelling = new();
        ConcurrentDictionary<int, int> ended = [];
        try
        {
            await foreach ((int index, ItemOutcome<int, int> outcome) in items.SelectParallelOutcomesStreamAsync(
                async (x, token) =>
                {
                    _starts.Enqueue((x % Keys, _clock.LastRead));
                    if (Interlocked.Increment(ref begun) == cancelAt)
                    {
                        await cancelling.CancelAsync();
                    }

                    switch (x % 11)
                    {
                        case 0 when options.PerItemTimeout is not null:
                            await _gate.WaitAsync(CancellationToken.None);
                            break;
                        case 1 or 2:
                            throw new TestException("item");
                        case < 6:
                            await Task.Yield();
                            break;
                    }

                    return x;
                },
                options with { ChannelCapacity = Items },
                cancelling.Token))
            {
                Assert.Equal(1, ended.AddOrUpdate(index, 1, static (_, n) => n + 1));
                Assert.True(!outcome.IsSuccess || outcome.Value == items[index]);
                if (kind == 1 && ended.Count == leaveAt)
                {
                    return;
                }
            }

            Assert.Equal(Items, ended.Count);
        }
        catch (OperationCanceledException) when (cancelling.IsCancellationRequested)
        {
            Assert.InRange(ended.Count, 0, Items);
        }
    }

    private ValueTask<int> StartAsync(int item, CancellationToken token)
    {
        _starts.Enqueue((item % Keys, _clock.LastRead));
        return new ValueTask<int>(item);
    }
}
