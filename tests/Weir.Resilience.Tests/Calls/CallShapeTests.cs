namespace Weir.Resilience.Tests.Calls;

/// <summary>Every shape of a call compiles without a type argument, and is the call that is meant.</summary>
public class CallShapeTests
{
    private const int Timeout = 90_000;
    private readonly List<object> _calls = [];

    [Fact(Timeout = Timeout)]
    public async Task PolicyChain_EveryShape_MakesTheCallOnce() => await EveryShapeAsync(new PolicyChain(new PolicyChainOptions
    {
        Retry = new RetryOptions(),
        AttemptTimeout = TimeSpan.FromMinutes(1),
    }));

    [Fact(Timeout = Timeout)]
    public async Task SharedConcurrencyLimit_EveryShape_MakesTheCallOnceAndReturnsItsPlace()
    {
        SharedConcurrencyLimit limit = new(1);
        CancellationToken token = TestContext.Current.CancellationToken;
        await limit.ExecuteAsync(t => VoidTask(1, t), token);
        await limit.ExecuteAsync(VoidTask, 2, token);
        await limit.ExecuteAsync(async t => await Task.Yield(), token);
        await limit.ExecuteAsync(async (s, t) => await Task.Yield(), 4, token);
        Assert.Equal(5, await limit.ExecuteAsync(ResultTask, 5, token));
        Assert.Equal([1, 2, 5], _calls);
        Assert.Equal(0, limit.InUse);
        await EveryShapeAsync(limit);
        Assert.Equal(0, limit.InUse);
    }

    [Fact(Timeout = Timeout)]
    public async Task PolicyChainOfResult_EveryShape_MakesTheCallOnce()
    {
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { Retry = new RetryOptions() });
        CancellationToken token = TestContext.Current.CancellationToken;
        Assert.Equal(1, await chain.ExecuteAsync(t => ResultTask(1, t), token));
        Assert.Equal(2, await chain.ExecuteAsync(ResultTask, 2, token));
        Assert.Equal(3, await chain.ExecuteAsync(t => ResultValueTask(3, t), token));
        Assert.Equal(4, await chain.ExecuteAsync(ResultValueTask, 4, token));
        Assert.Equal(5, await chain.ExecuteAsync(t => Result(5, t), token));
        Assert.Equal(6, await chain.ExecuteAsync(Result, 6, token));
        Assert.Equal(7, await chain.ExecuteAsync(async t => await ResultTask(7, t), token));
        Assert.Equal(8, await chain.ExecuteAsync(async (s, t) => await ResultTask(s, t), 8, token));
        Assert.Equal([1, 2, 3, 4, 5, 6, 7, 8], _calls);
    }

    [Fact(Timeout = Timeout)]
    public async Task Call_FailsAtFirst_IsRetried()
    {
        PolicyChain chain = new(new PolicyChainOptions { Retry = new RetryOptions { MaxRetries = 2, BaseDelay = TimeSpan.Zero } });
        int attempts = 0;
        CancellationToken token = TestContext.Current.CancellationToken;
        await chain.ExecuteAsync(t => FailAt(1), token);
        Assert.Equal(2, attempts);
        await chain.ExecuteAsync(
            async t =>
            {
                await Task.Yield();
                FailAt(3);
            },
            token);
        Assert.Equal(4, attempts);
        InvalidOperationException none = await Assert.ThrowsAsync<InvalidOperationException>(
            async () => await chain.ExecuteAsync(_ => (Task<int>)null!, token));
        Assert.Contains("null", none.Message, StringComparison.Ordinal);

        void FailAt(int attempt)
        {
            if (++attempts == attempt)
            {
                throw new TimeoutException();
            }
        }
    }

    [Fact(Timeout = Timeout)]
    public async Task LateResult_IsTheStateOfTheCall_IsNotDisposedOf()
    {
        ManualTimeProvider time = new();
        PolicyChain chain = new(new PolicyChainOptions { AttemptTimeout = TimeSpan.FromSeconds(1), TimeProvider = time });
        MemoryStream state = new();
        TaskCompletionSource<Stream> late = new();
        ValueTask<Stream> call = chain.ExecuteAsync((s, _) => late.Task, (Stream)state, TestContext.Current.CancellationToken);
        time.Advance(TimeSpan.FromSeconds(1));
        await Assert.ThrowsAnyAsync<OperationCanceledException>(async () => await call);
        late.SetResult(state);
        await Guard.SettleAsync();
        Assert.True(state.CanRead);
    }

    [Fact]
    public void PolicyChain_OptionsOfOneResult_Refuses() => Assert.Contains(
        "fallback", Assert.Throws<ArgumentException>(() => new PolicyChain(new PolicyChainOptions<int>())).Message, StringComparison.Ordinal);

    [Fact]
    public void Call_IsNull_Refuses()
    {
        PolicyChain chain = new(new PolicyChainOptions());
        Assert.Throws<ArgumentNullException>("call", () => { _ = chain.ExecuteAsync((Func<CancellationToken, Task>)null!); });
        Assert.Throws<ArgumentNullException>("call", () => { _ = chain.ExecuteAsync((Action<int, CancellationToken>)null!, 1); });
    }

    private async Task EveryShapeAsync<TPolicy>(TPolicy policy)
        where TPolicy : class, ICallPolicy
    {
        _calls.Clear();
        CancellationToken token = TestContext.Current.CancellationToken;
        await policy.ExecuteAsync(t => VoidTask(1, t), token);
        await policy.ExecuteAsync(VoidTask, 2, token);
        await policy.ExecuteAsync(t => Void(3, t), token);
        await policy.ExecuteAsync(Void, 4, token);
        Assert.Equal(5, await policy.ExecuteAsync(t => ResultTask(5, t), token));
        Assert.Equal(6, await policy.ExecuteAsync(ResultTask, 6, token));
        Assert.Equal(7, await policy.ExecuteAsync(ResultValueTask, 7, token));
        Assert.Equal(8, await policy.ExecuteAsync(t => Result(8, t), token));
        Assert.Equal(9, await policy.ExecuteAsync(Result, 9, token));
        Assert.Equal([1, 2, 3, 4, 5, 6, 7, 8, 9], _calls);
    }

    private int Result(int state, CancellationToken token)
    {
        token.ThrowIfCancellationRequested();
        _calls.Add(state);
        return state;
    }

    private void Void(int state, CancellationToken token) => _ = Result(state, token);

    private async Task VoidTask(int state, CancellationToken token)
    {
        await Task.Yield();
        Void(state, token);
    }

    private async Task<int> ResultTask(int state, CancellationToken token)
    {
        await Task.Yield();
        return Result(state, token);
    }

    private async ValueTask<int> ResultValueTask(int state, CancellationToken token) => await ResultTask(state, token);
}
