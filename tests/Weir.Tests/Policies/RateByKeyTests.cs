using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.Runtimes;
using Weir.Tests.Operators.Support;
using Weir.Tests.Runtimes;

namespace Weir.Tests.Policies;

/// <summary>An item that waits at the rate limit of its key holds no worker and no place, and leaves nothing behind.</summary>
public sealed class RateByKeyTests : IDisposable
{
    private const int Keys = 20;
    private const int Slow = 3;
    private const int Burst = 10;

    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _time = new();
    private readonly Gate _gate = new();
    private readonly RunControl _control = new();
    private readonly ConcurrentQueue<(int Item, long At)> _starts = [];
    private readonly RateLimits _rates;

    public RateByKeyTests() => _rates = Rates();

    public static MatrixTheoryData<OperatorFamily, bool> Families { get; } = new(
        Enum.GetValues<OperatorFamily>().Where(static f => f is not (OperatorFamily.BatchList or OperatorFamily.BatchStream)), [false, true]);

    public void Dispose() => _gate.Dispose();

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Families))]
    public async Task OneKeyIsExhausted_TheOthersGoOn_AndItsOwnStartInOrderAtTheRate(OperatorFamily family, bool timed)
    {
        // Ten items of each key are its burst; the slow key has ten more, in between.
        int[] items = [.. Enumerable.Range(0, Burst).SelectMany(static i =>
            Enumerable.Range(0, Keys).Select(k => (i * Keys) + k).Append(Slow + ((Burst + i) * Keys)))];
        ParallelRunOptions options = Options() with
        {
            MaxDegreeOfParallelism = 1, PerItemTimeout = timed ? Second : null, ChannelCapacity = 1_000, Control = _control,
        };
        Task<List<int>> run = family.RunAsync(TestSource.Over(items.Select(static i => i)), Start, options);
        await Guard.UntilAsync(() => _starts.Count == Keys * Burst, "all items of the other keys, and the burst of the slow one");
        for (int more = 1; more <= Burst; more++)
        {
            // The time of an item that is with a worker counts.
            int left = Burst - more + 1;
            await Guard.UntilAsync(() => _control.Snapshot() is { InFlight: 0 } now && now.Waiting == left, "the others in the queue");
            await Guard.SettleAsync();
            Assert.Equal((Keys * Burst) + more - 1, _starts.Count);
            _time.Advance(Second);
            await Guard.UntilAsync(() => _starts.Count == (Keys * Burst) + more, "the next item of the slow key");
        }

        List<int> results = await run.WithinAsync();
        Assert.Equal(items.Order(), results.Order());
        AssertStarts();
        int[] slow = [.. _starts.Select(static s => s.Item).Where(static i => i % Keys == Slow)];
        Assert.Equal(items.Where(static i => i % Keys == Slow), slow);
        await Guard.UntilAsync(() => _time.LiveTimers == 0, "the end of all timers");
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData("direct")]
    [InlineData("concurrent 2")]
    [InlineData("parallel 2")]
    [InlineData("auto 2")]
    public async Task Runtimes_OneKeyIsExhausted_TheOthersGoOn(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, new RuntimeOptions { Policies = Options() });
        int[] items = [.. Enumerable.Range(0, Burst * 2).Select(static i => Slow + (i * Keys)), .. Enumerable.Range(0, Keys).Where(static k => k != Slow)];
        Task<ItemOutcome<int, int>[]> run = runtime.ProcessManyAsync(items, Start);
        await Guard.UntilAsync(() => _starts.Count == Burst + Keys - 1 && _time.ArmedTimers > 0, "the burst of the slow key, and all others");
        await _time.DriveAsync(run, Second / 4);
        Assert.Equal(items, (await run).Select(static o => o.Value));
        AssertStarts();
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Wait_HoldsNoPlaceOfASharedLimit_AndDoesNotCountAsTimeOfTheItem()
    {
        SharedConcurrencyLimit shared = new(1);
        int[] items = [.. Enumerable.Range(0, Burst + 5).Select(static i => Slow + (i * Keys)), 0, 1, 2];
        Task<ItemOutcome<int, int>[]> run = items.SelectParallelOutcomesAsync(Start, Options() with
        {
            MaxDegreeOfParallelism = 2, ConcurrencyLimit = shared, PerItemTimeout = TimeSpan.FromMinutes(1), Control = _control,
        });
        await Guard.UntilAsync(() => _starts.Count == Burst + 3 && _control.Snapshot() is { Waiting: 5, InFlight: 0 }, "all that need not wait");
        Assert.Equal((0, 0), (shared.InUse, shared.Waiting));
        Assert.True(shared.TryEnter());
        for (int i = 1; i <= 5; i++)
        {
            // The time of an item that is with a worker counts.
            _time.Advance(Second);
            await Guard.UntilAsync(() => shared.Waiting == i && _control.Snapshot() is { Waiting: 5, InFlight: 0 }, "the next item at the shared limit");
        }

        _time.Advance(TimeSpan.FromHours(1));
        await Guard.SettleAsync();
        Assert.False(run.IsCompleted);
        shared.Leave();
        Assert.All(await run.WithinAsync(), static o => Assert.True(o.IsSuccess));
        Assert.Equal((0, 0), (shared.InUse, shared.Waiting));
        Assert.Equal(0, _time.LiveTimers);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Families))]
    public async Task Run_Cancelled_LeavesNoTurnAndTakesNoTokens(OperatorFamily family, bool timed)
    {
        using CancellationTokenSource cancelling = new();
        ParallelRunOptions options = Options() with { MaxDegreeOfParallelism = 2, PerItemTimeout = timed ? TimeSpan.FromMinutes(5) : null };
        int[] items = [.. Enumerable.Range(0, 30).Select(static i => i * Keys)];
        Task<List<int>> run = family.RunAsync(
            TestSource.Over(items.Select(static i => i)), Start, options with { ChannelCapacity = 100, Control = _control }, cancelling.Token);
        await Guard.UntilAsync(() => _control.Snapshot() is { Waiting: 20, InFlight: 0 }, "all others in the queue");
        await cancelling.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.WithinAsync());
        await AssertNothingIsLeftAsync();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Stream_LeftEarly_LeavesNoTurn(bool ordered)
    {
        // With several workers, a later item may have taken the tokens of one that an ordered stream waits for.
        int taken = 0;
        await foreach (int _ in Enumerable.Range(0, int.MaxValue).Select(static i => i * Keys).SelectParallelStreamAsync(
            Start, Options() with { MaxDegreeOfParallelism = ordered ? 1 : 4, OrderedOutput = ordered, ChannelCapacity = 20 }))
        {
            if (++taken == Burst)
            {
                await Guard.UntilAsync(() => _time.ArmedTimers > 0, "an item that waits");
                break;
            }
        }

        await AssertNothingIsLeftAsync();
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Run_StoppedSoftly_EndsWithItsWaitingItemsAndLeavesNoTurn()
    {
        Task<ItemOutcome<int, int>[]> run = Enumerable.Range(0, Burst + 5).Select(static i => i * Keys).ToArray().SelectParallelOutcomesAsync(
            Start, Options() with { MaxDegreeOfParallelism = 2, Control = _control });
        await Guard.UntilAsync(() => _control.Snapshot() is { Waiting: 5, InFlight: 0 }, "the others in the queue");
        _control.Stop();
        await _time.DriveAsync(run, Second);
        Assert.Equal(Burst + 5, (await run).Length);
        Assert.Equal(0, _time.LiveTimers);
        AssertStarts();
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Run_WithoutAFreeWorker_DoesNotHoldUpAnotherOneOfTheSameKey()
    {
        ParallelRunOptions options = Options() with { MaxDegreeOfParallelism = 1 };
        Task<List<int>> busy = Enumerable.Range(0, Burst + 3).Select(static i => i * Keys).Append(1).ToArray().SelectParallelAsync(
            async (x, token) =>
            {
                await (x == 1 ? _gate.WaitAsync(token) : Task.CompletedTask);
                return await Start(x, token);
            },
            options with { Control = _control });
        await Guard.UntilAsync(() => _control.Snapshot() is { Waiting: 3, InFlight: 1 }, "three in the queue, and one in its call");
        Task<List<int>> other = Enumerable.Range(100, 4).Select(static i => i * Keys).ToArray().SelectParallelAsync(Start, options);

        // Three seconds for those of the busy run, and one for each of the other's.
        await _time.DriveAsync(other, Second);
        Assert.Equal(4, (await other).Count);
        Assert.Equal(Burst + 4, _starts.Count);
        _gate.Open();
        await _time.DriveAsync(busy, Second);
        Assert.Equal(Burst + 4, (await busy).Count);
        Assert.Equal(Burst + 8, _starts.Count);
        AssertStarts();
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Retries_PayForEachAttempt_AndItemsFailWhenTheirCircuitOpensMeanwhile()
    {
        ConcurrentDictionary<int, int> attempts = [];
        int[] items = [.. Enumerable.Range(0, 8).Select(static i => i * Keys)];
        Task<List<int>> run = items.SelectParallelAsync(
            (x, token) => attempts.AddOrUpdate(x, 1, static (_, n) => n + 1) < 3 ? FailedAsync(x, token) : Start(x, token),
            Options() with { MaxDegreeOfParallelism = 2, MaxRetries = 2, IsTransient = static e => e is TestException, BaseDelay = Second / 10 });
        await _time.DriveAsync(run, Second / 4);
        Assert.Equal(items, await run);
        Assert.Equal(24, _starts.Count);
        AssertStarts();

        CircuitBreaker breaker = new(new CircuitBreakerOptions { FailureThreshold = 1, OpenTimeout = TimeSpan.FromHours(9), TimeProvider = _time });
        _starts.Clear();
        Task<ItemOutcome<int, int>[]> refused = items.Concat(items).Concat([1]).ToArray().SelectParallelOutcomesAsync(
            async (x, token) =>
            {
                await Start(x, token);
                await (x == 1 ? _gate.WaitAsync(token) : Task.CompletedTask);
                return x == 1 ? throw new TestException("down") : x;
            },
            Options() with { RateLimit = Rates(), MaxDegreeOfParallelism = 2, CircuitBreaker = breaker, Control = _control });
        await Guard.UntilAsync(() => _control.Snapshot() is { Waiting: 6, InFlight: 1 }, "six in the queue, and the call of another key");
        _gate.Open();
        await Guard.UntilAsync(() => breaker.State == CircuitBreakerState.Open, "the open circuit");
        await _time.DriveAsync(refused, Second);
        Assert.Equal(6, (await refused).Count(static o => o.Error is CircuitBreakerOpenException));
        Assert.Equal(Burst + 1, _starts.Count);
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Waiting_IsBounded_TheRunReadsNoFurther()
    {
        int read = 0;
        using CancellationTokenSource cancelling = new();
        IEnumerable<int> source = Enumerable.Range(0, 100_000).Select(i =>
        {
            Volatile.Write(ref read, i + 1);
            return i * Keys;
        });
        const int most = 1024 + (4 * 8);
        Task run = source.ForEachParallelAsync(
            async (x, token) => await Start(x, token), Options() with { MaxDegreeOfParallelism = 8, Control = _control }, cancelling.Token);
        await Guard.UntilAsync(() => _control.Snapshot() is { Waiting: >= most, InFlight: 0 }, "all that may wait");
        Assert.InRange(read, most + Burst, most + Burst + 16);
        Assert.Equal(Burst, _starts.Count);

        // One that comes back makes room for one that is read.
        for (int i = 1; i <= 20; i++)
        {
            _time.Advance(Second);
            await Guard.UntilAsync(() => _starts.Count == Burst + i, "the next item");
        }

        await Guard.UntilAsync(() => Volatile.Read(ref read) >= most + Burst + 20, "as many more");
        Assert.InRange(read, most + Burst + 20, most + Burst + 20 + 16);
        AssertStarts();
        await cancelling.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.WithinAsync());
        Assert.Equal(0, _time.LiveTimers);
    }

    private ValueTask<int> Start(int item, CancellationToken token)
    {
        _starts.Enqueue((item, _time.GetTimestamp()));
        return new ValueTask<int>(item);
    }

    private async ValueTask<int> FailedAsync(int item, CancellationToken token)
    {
        await Start(item, token);
        throw new TestException("once more");
    }

    private RateLimits Rates() => RateLimits.ByKey<int, int>(
        static item => item % Keys, new RateLimitOptions { TokensPerSecond = 1, BurstCapacity = Burst, TimeProvider = _time });

    private ParallelRunOptions Options() => new() { RateLimit = _rates, TimeProvider = _time };

    /// <summary>No turn is left, so another run goes on at the rate from the moment at which the first one took its last tokens.</summary>
    private async Task AssertNothingIsLeftAsync()
    {
        Assert.Equal(0, _time.LiveTimers);
        Assert.Equal(Burst, _starts.Count);
        RunControl control = new();
        Task<List<int>> next = new[] { 7 * Keys, 8 * Keys }.SelectParallelAsync(Start, Options() with { Control = control });

        // Both: the second one could come as the clock moves, and set the timer for its tokens by a time that is over.
        await Guard.UntilAsync(() => control.Snapshot() is { Waiting: 2 }, "the waits of another run");
        _time.Advance(Second);
        await Guard.UntilAsync(() => _starts.Count == Burst + 1, "its first item");
        _time.Advance(Second);
        Assert.Equal(2, (await next.WithinAsync()).Count);
        Assert.Equal(0, _time.LiveTimers);
        AssertStarts();
    }

    private void AssertStarts() => Assert.All(_starts.GroupBy(static s => s.Item % Keys), key => Assert.True(
        RateBound.Excess(key.Select(static s => s.At), _time.TimestampFrequency, 1, Burst) < 1e-3, $"Key {key.Key} had more than its rate."));
}
