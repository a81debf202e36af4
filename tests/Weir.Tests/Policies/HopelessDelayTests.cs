using Weir.Resilience;
using Weir.Runtimes;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies;

/// <summary>A retry of an item that would begin after its time is up is not waited for. The clock stands still, so nothing here ends by a time limit.</summary>
public sealed class HopelessDelayTests
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _time = new();
    private int _attempts;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    private ParallelRunOptions Options => new()
    {
        PerItemTimeout = Second,
        TimeProvider = _time,
        Retry = new RetryOptions { MaxRetries = 3, DelayHint = static _ => Second * 60, IsTransient = static _ => true },
    };

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData("nothing")]
    [InlineData("breaker")]
    [InlineData("limit")]
    [InlineData("rule")]
    [InlineData("hooks")]
    [InlineData("attempt timeout")]
    public async Task DelayIsLongerThanTheRest_TheItemFailsAtOnceWithItsError(string beside)
    {
        RetryBudget budget = new(1, 0, _time);
        int hooks = 0;
        ParallelRunOptions options = Options with
        {
            Retry = Options.Retry! with { Budget = budget, IsTransient = beside == "rule" ? null : Options.Retry.IsTransient },
            CircuitBreaker = beside == "breaker" ? new CircuitBreaker() : null,
            ConcurrencyLimit = beside == "limit" ? new SharedConcurrencyLimit(1) : null,
            ShouldRetry = beside == "rule" ? RetryRule.Of<int>(static outcome => !outcome.HasResult) : null,
            AttemptTimeout = beside == "attempt timeout" ? Second / 2 : null,
            Hooks = beside == "hooks" ? new ItemHooks<int> { OnRetryAsync = _ => new ValueTask(Task.FromResult(Interlocked.Increment(ref hooks))) } : null,
        };
        Task<List<int>> run = new[] { 1 }.SelectParallelAsync(Fail, options, Token);
        await Assert.ThrowsAsync<IOException>(async () => await run.WithinAsync("the run"));
        Assert.Equal((1, 0, 1.0), (_attempts, hooks, budget.Balance));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(1_000, false)]
    [InlineData(1_001, true)]
    public async Task Fallback_GetsTheErrorAtOnce_OnlyIfTheDelayIsTooLong(int milliseconds, bool atOnce)
    {
        Task<List<int>> run = new[] { 1 }.SelectParallelAsync(
            Fail,
            Options with
            {
                Retry = Options.Retry! with { DelayHint = _ => TimeSpan.FromMilliseconds(milliseconds) },
                OnFallback = Fallback.Of(static (_, error) => error is IOException ? 7 : 8),
            },
            Token);
        if (!atOnce)
        {
            // The time limit of the item, and the delay.
            await Guard.UntilAsync(() => _time.ArmedTimers == 2, "the delay");
            _time.Advance(Second);
        }

        Assert.Equal([atOnce ? 7 : 8], await run.WithinAsync("the run"));
        Assert.Equal(1, _attempts);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Runtimes))]
    public async Task Runtime_TheItemFailsAtOnceWithItsError(string name)
    {
        RuntimeOptions options = new() { TimeProvider = _time };
        await using IExecutionRuntime runtime = name switch
        {
            "concurrent" => new ConcurrentRuntime(4, options),
            "parallel" => new ParallelRuntime(2, options),
            _ => new DirectRuntime(options),
        };
        ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(
            [1], Fail, new ProcessManyOptions { Policies = Options with { PerItemTimeout = null }, PerItemTimeout = Second }, Token).WithinAsync("the call");
        Assert.Equal(ItemStatus.Failed, outcomes[0].Status);
        Assert.IsType<IOException>(outcomes[0].Error);
        Assert.Equal(1, _attempts);
    }

    public static TheoryData<string> Runtimes() => ["direct", "concurrent", "parallel"];

    private ValueTask<int> Fail(int item, CancellationToken token)
    {
        Interlocked.Increment(ref _attempts);
        return ValueTask.FromException<int>(new IOException());
    }
}
