using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.Runtimes;
using Weir.Tests.Operators.Support;
using Weir.Tests.Runtimes;

namespace Weir.Tests.Policies;

/// <summary>Does the error of a passed time limit say which limit it was, how long, and of which attempt?</summary>
public class TimeLimitTests
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _time = new();

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false, 1)]
    [InlineData(true, 1)]
    [InlineData(false, 3)]
    [InlineData(true, 3)]
    public async Task AttemptTimeout_Passes_SaysAttempt(bool withPolicies, int attempts)
    {
        ConcurrentQueue<(int Hook, int Own)> told = [];
        TaskCompletionSource<int> never = new();
        Task<ItemOutcome<int, int>[]> running = new[] { 0 }.SelectParallelOutcomesAsync(
            (_, _) => new ValueTask<int>(never.Task),
            new ParallelRunOptions
            {
                AttemptTimeout = 2 * Second,
                MaxRetries = attempts - 1,
                BaseDelay = TimeSpan.Zero,
                TimeProvider = _time,
                CircuitBreaker = withPolicies ? new CircuitBreakerOptions { FailureThreshold = 100 } : null,
                OnRetryAsync = (_, attempt, error) =>
                {
                    Assert.StartsWith($"Attempt {attempt} did not end", error.Message, StringComparison.Ordinal);
                    told.Enqueue((attempt, Assert.IsType<AttemptTimeoutException>(error.InnerException).Attempt));
                    return default;
                },
            });
        await _time.DriveAsync(running, Second / 10);
        Exception error = (await running)[0].Error!;
        Assert.Equal(ItemStatus.TimedOut, (await running)[0].Status);
        Assert.IsAssignableFrom<OperationCanceledException>(error);
        AttemptTimeoutException reason = Assert.IsType<AttemptTimeoutException>(error.InnerException);
        Assert.Equal((2 * Second, attempts), (reason.Limit, reason.Attempt));
        Assert.Equal($"Attempt {attempts} did not end within its time limit of 00:00:02.", reason.Message);
        Assert.Equal(reason.Message, error.Message);
        Assert.All(told, static t => Assert.Equal(t.Hook, t.Own));
        Assert.Equal(attempts - 1, told.Count);
    }

    public static MatrixTheoryData<string, bool, bool> Runtimes { get; } =
        new(["direct", "concurrent 2", "parallel 2", "auto 2"], [false, true], [false, true]);

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Runtimes))]
    public async Task AttemptTimeout_PassesInARuntime_IsTimedOutLikeThatOfAnOperator(string name, bool withPolicies, bool heeds)
    {
        ProcessManyOptions options = new()
        {
            Policies = new ParallelRunOptions
            {
                AttemptTimeout = 2 * Second,
                CircuitBreaker = withPolicies ? new CircuitBreakerOptions { FailureThreshold = 100 } : null,
            },
        };
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, new RuntimeOptions { TimeProvider = _time });
        TaskCompletionSource<int> never = new();
        Task<ItemOutcome<int, int>[]> running = Task.Run(() => runtime.ProcessManyAsync(
            [0], (_, token) => new ValueTask<int>(heeds ? never.Task.WaitAsync(token) : never.Task), options));
        await _time.DriveAsync(running, Second / 10);
        Assert.Equal(ItemStatus.TimedOut, (await running)[0].Status);
        Assert.IsType<AttemptTimeoutException>((await running)[0].Error!.InnerException);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task PerItemTimeout_PassesDuringALaterAttempt_SaysItem()
    {
        int calls = 0;
        using Gate second = new();
        TaskCompletionSource<int> never = new();
        Task<ItemOutcome<int, int>[]> running = new[] { 0 }.SelectParallelOutcomesAsync(
            (_, _) =>
            {
                if (Interlocked.Increment(ref calls) == 1)
                {
                    throw new TimeoutException();
                }

                second.Open();
                return new ValueTask<int>(never.Task);
            },
            new ParallelRunOptions
            {
                AttemptTimeout = TimeSpan.FromHours(1),
                PerItemTimeout = 3 * Second,
                MaxRetries = 9,
                BaseDelay = TimeSpan.Zero,
                TimeProvider = _time,
            });

        // A wait of no length is a timer too, which fires when the clock is moved, by however little.
        await Guard.UntilAsync(() => Nudge(second), "the second attempt");
        await _time.AdvanceUntilAsync(running, 3 * Second);
        ItemOutcome<int, int> outcome = (await running)[0];
        Assert.Equal(ItemStatus.TimedOut, outcome.Status);
        Assert.Equal("The item did not end within its time limit of 00:00:03.", outcome.Error!.Message);
        Assert.Equal(3 * Second, Assert.IsType<ItemTimeoutException>(outcome.Error.InnerException).Limit);
    }

    private bool Nudge(Gate second)
    {
        _time.Advance(TimeSpan.Zero);
        return second.IsOpen;
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task BatchTimeout_OfARuntime_SaysRun(bool direct)
    {
        TaskCompletionSource<int> never = new();
        await using Weir.Runtimes.IExecutionRuntime runtime = direct
            ? new Weir.Runtimes.DirectRuntime(new() { TimeProvider = _time, GracePeriod = TimeSpan.Zero })
            : new Weir.Runtimes.ConcurrentRuntime(2, new() { TimeProvider = _time, GracePeriod = TimeSpan.Zero });
        using Gate inside = new();
        Task<ItemOutcome<int, int>[]> running = runtime.ProcessManyAsync(
            new[] { 0 },
            (_, _) =>
            {
                inside.Open();
                return new ValueTask<int>(never.Task);
            },
            new() { TotalTimeout = 2 * Second });
        await inside.WaitAsync();
        await _time.AdvanceUntilAsync(running, 2 * Second);
        Exception error = (await running)[0].Error!;
        Assert.Equal("The run did not end within its time limit of 00:00:02.", error.Message);
        Assert.Equal(2 * Second, Assert.IsType<RunTimeoutException>(error.InnerException).Limit);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(0)]
    [InlineData(2)]
    public async Task Chain_InsideARun_KeepsItsOwnNumbers(int retries)
    {
        // The item's second attempt, whose chain passes its limit at its own first or third one.
        int calls = 0;
        TaskCompletionSource<int> never = new();
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            AttemptTimeout = Second,
            Retry = retries == 0 ? null : new RetryOptions { MaxRetries = retries, BaseDelay = TimeSpan.Zero },
            TimeProvider = _time,
        });
        Task<ItemOutcome<int, int>[]> running = new[] { 0 }.SelectParallelOutcomesAsync(
            (_, token) => Interlocked.Increment(ref calls) == 1
                ? throw new TimeoutException()
                : chain.ExecuteAsync(_ => new ValueTask<int>(never.Task), token),
            new ParallelRunOptions { MaxRetries = 1, BaseDelay = TimeSpan.Zero, AttemptTimeout = TimeSpan.FromDays(40), TimeProvider = _time });
        await _time.DriveAsync(running, Second / 10);
        Exception error = (await running)[0].Error!;
        Assert.Equal(retries + 1, Assert.IsType<AttemptTimeoutException>(error.InnerException).Attempt);
        Assert.Equal($"Attempt {retries + 1} did not end within its time limit of 00:00:01.", error.Message);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task TotalTimeout_OfAChain_SaysCall()
    {
        TaskCompletionSource<int> never = new();
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            TotalTimeout = 3 * Second,
            AttemptTimeout = 2 * Second,
            Retry = new RetryOptions { BaseDelay = TimeSpan.Zero },
            TimeProvider = _time,
        });
        Task<int> call = chain.ExecuteAsync(_ => new ValueTask<int>(never.Task), TestContext.Current.CancellationToken).AsTask();
        await _time.DriveAsync(call.EndsAsync(), Second / 10);
        OperationCanceledException error = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call);
        Assert.Equal("The call did not end within its time limit of 00:00:03.", error.Message);
        Assert.Equal(3 * Second, Assert.IsType<CallTimeoutException>(error.InnerException).Limit);
    }
}
