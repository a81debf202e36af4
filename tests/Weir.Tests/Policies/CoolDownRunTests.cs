using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies;

/// <summary>An item whose failure or result asks everybody to wait holds the other items of its key, without a worker.</summary>
public sealed class CoolDownRunTests
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _time = new();

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(1, "exception")]
    [InlineData(4, "exception")]
    [InlineData(4, "result")]
    [InlineData(4, "by index")]
    public async Task OneItemIsAskedToWait_TheOthersOfItsKeyAreHeldAndThoseOfOtherKeysGoOn(int degree, string kind)
    {
        int ofBusy = 0;
        int ofOther = 0;
        TaskCompletionSource answered = new(TaskCreationOptions.RunContinuationsAsynchronously);
        bool byKey = kind != "by index";
        CircuitBreakerOptions usual = new() { CoolDown = static e => (e as BusyException)?.RetryAfter, TimeProvider = _time };
        CircuitBreakers<int> breakers = CircuitBreakers.ByKey<int, int>(static item => item % 2, usual);
        CircuitBreaker single = new(usual);
        Task<List<int>> run = Enumerable.Range(0, 200).SelectParallelAsync(
            async (item, _) =>
            {
                await Task.Yield();
                bool isBusy = !byKey || item % 2 == 0;
                int call = isBusy ? Interlocked.Increment(ref ofBusy) : Interlocked.Increment(ref ofOther);
                if (isBusy && call > 1)
                {
                    await answered.Task;
                }

                return isBusy && call == 1 ? kind == "result" ? -1 : throw new BusyException(Second * 5) : item;
            },
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = degree,
                TimeProvider = _time,
                CircuitBreaker = byKey ? breakers : single,
                OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen,
                Retry = new RetryOptions
                {
                    MaxRetries = 3,
                    IsTransient = kind == "result" ? null : static e => e is BusyException,
                    DelayHint = static e => (e as BusyException)?.RetryAfter,
                },
                ShouldRetry = kind == "result" ? RetryRule.Of<int>(static outcome => outcome.Result < 0, static _ => Second * 5) : null,
            },
            Token);

        // Those that had begun before the answer came end; then only the other key goes on.
        await Guard.UntilAsync(() => (byKey ? breakers.Get(0) : single).State == CircuitBreakerState.Open, "the circuit");
        answered.SetResult();
        int before = -1;
        await Guard.UntilAsync(() => Volatile.Read(ref ofOther) == (byKey ? 100 : 0) && before == (before = Volatile.Read(ref ofBusy)) && before > 0, "the other key");
        Assert.InRange(before, 1, degree);
        Assert.False(run.IsCompleted);
        _time.Advance(Second * 5);
        Assert.Equal(Enumerable.Range(0, 200), await run.WithinAsync("the run"));
        Assert.Equal(byKey ? 101 : 201, ofBusy);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task RunAndChain_ShareTheBreaker_BothAreHeld()
    {
        CircuitBreaker breaker = new(new CircuitBreakerOptions { CoolDown = static e => (e as BusyException)?.RetryAfter, TimeProvider = _time });
        PolicyChain chain = new(new PolicyChainOptions { CircuitBreaker = breaker, TimeProvider = _time });
        await Assert.ThrowsAsync<BusyException>(async () => await chain.ExecuteAsync(static _ => ValueTask.FromException<int>(new BusyException(Second)), Token));
        int calls = 0;
        Task<List<int>> run = Enumerable.Range(0, 10).SelectParallelAsync(
            (item, _) =>
            {
                Interlocked.Increment(ref calls);
                return new ValueTask<int>(item);
            },
            new ParallelRunOptions { CircuitBreaker = breaker, OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen, TimeProvider = _time },
            Token);
        await Guard.UntilAsync(() => _time.ArmedTimers > 0, "items that wait for the circuit");
        Assert.Equal(0, Volatile.Read(ref calls));
        _time.Advance(Second);
        Assert.Equal(Enumerable.Range(0, 10), await run.WithinAsync("the run"));
    }

    private sealed class BusyException(TimeSpan retryAfter) : Exception
    {
        public TimeSpan RetryAfter => retryAfter;
    }
}
