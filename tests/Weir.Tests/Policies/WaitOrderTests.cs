using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies;

/// <summary>Items that waited go on in the order in which they came, also when many come back at once.</summary>
public sealed class WaitOrderTests
{
    private const int Items = 20;
    private const int Burst = 5;

    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _clock = new();
    private readonly RunControl _control = new();
    private readonly ConcurrentQueue<int> _started = [];

    [Fact(Timeout = Selectors.Timeout)]
    public async Task RateLimitByKey_TokensOfManyItemsAtOnce_StartTheOldestFirst()
    {
        RateLimits rates = RateLimits.ByKey<int, int>(
            static _ => 0, new RateLimitOptions { TokensPerSecond = Burst, BurstCapacity = Burst, TimeProvider = _clock });
        ParallelRunOptions options = Options() with { RateLimit = rates };

        // Another run has taken the burst.
        await Enumerable.Range(0, Burst).ForEachParallelAsync(static (_, _) => default, options with { Control = null }).WithinAsync("the burst");
        Task run = Enumerable.Range(0, Items).ForEachParallelAsync(StartAsync, options);
        await Guard.UntilAsync(() => _control.Snapshot().Waiting == Items, "all items in the queue");
        for (int started = Burst; started <= Items; started += Burst)
        {
            _clock.Advance(Second);
            await Guard.UntilAsync(() => _started.Count == started, $"{started} starts");
            Assert.Equal(Enumerable.Range(0, started), _started);
        }

        await run.WithinAsync();
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task MaxRetries_ItemsDueTogether_StartTheOldestFirst()
    {
        int failures = 0;
        Task run = Enumerable.Range(0, Items).ForEachParallelAsync(
            (item, token) => Interlocked.Increment(ref failures) <= Items ? throw new TestException("once") : StartAsync(item, token),
            Options() with { MaxRetries = 1, BaseDelay = Second, BackoffStrategy = BackoffStrategy.Linear, IsTransient = static _ => true });
        await Guard.UntilAsync(() => _control.Snapshot().Waiting == Items, "all items in the queue");

        // On, as long as it takes: an item counts as waiting a moment before a timer is set for it.
        await _clock.DriveAsync(run, Second);
        await run;
        Assert.Equal(Enumerable.Range(0, Items), _started);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task OpenCircuit_ThatCloses_LetsTheOldestStartFirst()
    {
        CircuitBreaker breaker = new(new CircuitBreakerOptions
        {
            FailureThreshold = 1,
            SuccessThreshold = 1,
            OpenTimeout = Second,
            TimeProvider = _clock,
        });
        ParallelRunOptions options = Options() with { CircuitBreaker = breaker, OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen };
        await new[] { 0 }.ForEachParallelAsync(
            static (_, _) => throw new TestException("opens"), options with { Control = null, ErrorMode = ErrorMode.BestEffort }).WithinAsync("the failure");
        Task run = Enumerable.Range(0, Items).ForEachParallelAsync(StartAsync, options);
        await Guard.UntilAsync(() => _control.Snapshot().Waiting == Items, "all items in the queue");
        _clock.Advance(Second);
        await run.WithinAsync();
        Assert.Equal(Enumerable.Range(0, Items), _started);
    }

    private ParallelRunOptions Options() => new() { MaxDegreeOfParallelism = 1, TimeProvider = _clock, Control = _control };

    private ValueTask StartAsync(int item, CancellationToken token)
    {
        _started.Enqueue(item);
        return default;
    }
}
