namespace Weir.Resilience.Tests.ConcurrencyLimit;

public class SharedConcurrencyLimitTests
{
    private const int Timeout = 90_000;

    private readonly TaskCompletionSource<int> _hold = new(TaskCreationOptions.RunContinuationsAsynchronously);

    [Theory]
    [InlineData(0)]
    [InlineData(-1)]
    public void Constructor_LimitBelowOne_Throws(int limit)
    {
        ArgumentOutOfRangeException error = Assert.Throws<ArgumentOutOfRangeException>(() => new SharedConcurrencyLimit(limit));
        Assert.Equal("limit", error.ParamName);
        Assert.Equal("Limit", Assert.Throws<ArgumentOutOfRangeException>(() => new SharedConcurrencyLimit(1) { Limit = limit }).ParamName);
        Assert.Equal("maxWaiting", Assert.Throws<ArgumentOutOfRangeException>(() => new SharedConcurrencyLimit(1, -1)).ParamName);
    }

    [Fact]
    public void TryEnter_UpToTheLimit_ThenAfterALeave()
    {
        SharedConcurrencyLimit limit = new(2);
        Assert.True(limit.TryEnter());
        Assert.True(limit.TryEnter());
        Assert.False(limit.TryEnter());
        Assert.Equal((2, 0, 2), (limit.InUse, limit.Waiting, limit.Limit));
        limit.Leave();
        Assert.True(limit.TryEnter());
        limit.Leave();
        limit.Leave();
        Assert.Equal(0, limit.InUse);
        Assert.Throws<InvalidOperationException>(limit.Leave);
        Assert.Equal(0, limit.InUse);
    }

    [Fact(Timeout = Timeout)]
    public async Task EnterAsync_Full_FirstComeFirstServed()
    {
        SharedConcurrencyLimit limit = new(1);
        Assert.True(limit.TryEnter());
        Task[] waits = [.. Enumerable.Range(0, 5).Select(_ => limit.EnterAsync().AsTask())];
        Assert.Equal(5, limit.Waiting);
        for (int i = 0; i < waits.Length; i++)
        {
            Assert.All(waits[i..], static wait => Assert.False(wait.IsCompleted));
            limit.Leave();
            await waits[i].WithinAsync("the next wait");
            Assert.False(limit.TryEnter());
            Assert.Equal((1, 4 - i), (limit.InUse, limit.Waiting));
        }
    }

    [Fact(Timeout = Timeout)]
    public async Task EnterAsync_Cancelled_LeavesTheQueueAndNothingElse()
    {
        SharedConcurrencyLimit limit = new(1);
        Assert.True(limit.TryEnter());
        using CancellationTokenSource cancelling = new();
        Task first = limit.EnterAsync(cancelling.Token).AsTask();
        Task second = limit.EnterAsync().AsTask();
        await cancelling.CancelAsync();
        OperationCanceledException error = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => first.WithinAsync());
        Assert.Equal(cancelling.Token, error.CancellationToken);
        Assert.Equal(1, limit.Waiting);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => limit.EnterAsync(cancelling.Token).AsTask());
        limit.Leave();
        await second.WithinAsync();
        limit.Leave();
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
    }

    [Fact(Timeout = Timeout)]
    public async Task EnterAsync_QueueFull_IsRejected()
    {
        SharedConcurrencyLimit limit = new(1, maxWaiting: 1);
        Assert.True(limit.TryEnter());
        Task wait = limit.EnterAsync().AsTask();
        ConcurrencyLimitRejectedException error = await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => limit.EnterAsync().AsTask());
        Assert.Equal((1, 1), (error.Limit, error.MaxWaiting));
        Assert.EndsWith("The limit's maxWaiting sets how many may.", error.Message, StringComparison.Ordinal);
        limit.Leave();
        await wait.WithinAsync();
        Task next = limit.EnterAsync().AsTask();
        limit.Leave();
        await next.WithinAsync();
        SharedConcurrencyLimit never = new(1, maxWaiting: 0);
        await never.EnterAsync();
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => never.EnterAsync().AsTask());
    }

    [Theory(Timeout = Timeout)]
    [InlineData(1, 100)]
    [InlineData(25, 100)]
    [InlineData(50, 200)]
    public async Task EnterAsync_NoBoundGiven_IsRejectedBehindAHundredCallsOrFourTimesTheLimit(int places, int most)
    {
        SharedConcurrencyLimit limit = new(places);
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { ConcurrencyLimit = limit, Retry = new RetryOptions() });
        Assert.Equal(most, limit.MaxWaiting);
        Task[] calls =
            [.. Enumerable.Range(0, places + most).Select(i => i % 2 == 0 ? chain.ExecuteAsync(HoldAsync).AsTask() : limit.ExecuteAsync(HoldAsync).AsTask())];
        Assert.Equal((places, most), (limit.InUse, limit.Waiting));
        ConcurrencyLimitRejectedException error = await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => limit.EnterAsync().AsTask());
        Assert.Equal((places, most), (error.Limit, error.MaxWaiting));
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => chain.ExecuteAsync(HoldAsync).AsTask());
        limit.Limit = 2 * places;
        Assert.Equal(Math.Max(100, 8 * places), limit.MaxWaiting);
        Task next = limit.ExecuteAsync(HoldAsync).AsTask();
        _hold.SetResult(7);
        await Task.WhenAll([.. calls, next]).WithinAsync();
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
        Assert.Equal(int.MaxValue, new SharedConcurrencyLimit(int.MaxValue).MaxWaiting);
    }

    [Fact(Timeout = Timeout)]
    public async Task EnterAsync_AnyNumberMayWait_RejectsNone()
    {
        SharedConcurrencyLimit limit = new(1, int.MaxValue);
        Task[] calls = [.. Enumerable.Range(0, 5_000).Select(_ => limit.ExecuteAsync(HoldAsync).AsTask())];
        Assert.Equal(4_999, limit.Waiting);
        _hold.SetResult(7);
        await Task.WhenAll(calls).WithinAsync();
    }

    // Ten calls of 100 ms at once are a hundred a second; three hundred a second come, and nobody wants an answer that is older than a second and a half.
    [Theory(Timeout = Timeout)]
    [InlineData(null, 0.9, 1)]
    [InlineData(int.MaxValue, 0, 0.2)]
    public async Task ExecuteAsync_ThreeTimesWhatItCanServe_ServesInTimeWhatItServes(int? maxWaiting, double least, double most)
    {
        const int seconds = 20;
        ManualTimeProvider clock = new();
        SharedConcurrencyLimit limit = new(10, maxWaiting);
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { ConcurrencyLimit = limit, Retry = new RetryOptions(), TimeProvider = clock });
        int inTime = 0;
        List<Task> calls = [];
        for (int tick = 0; tick < seconds * 10; tick++)
        {
            for (int call = 0; call < 30; call++)
            {
                long came = clock.GetTimestamp();
                calls.Add(Task.Run(async () =>
                {
                    await chain.ExecuteAsync(async token =>
                    {
                        await Task.Delay(Span.Ms(100), clock, token);
                        return 1;
                    });
                    if (clock.GetElapsedTime(came) <= Span.Ms(1_500))
                    {
                        Interlocked.Increment(ref inTime);
                    }
                }));
            }

            // All have come, and whoever can is being served.
            await Until.TrueAsync(() => limit.InUse == 10 && clock.ArmedTimers == 10 && calls.Count(static c => !c.IsCompleted) == 10 + limit.Waiting);
            clock.Advance(Span.Ms(100));
        }

        while (limit.InUse > 0)
        {
            await Until.TrueAsync(() => clock.ArmedTimers == limit.InUse && (limit.Waiting == 0 || limit.InUse == 10));
            clock.Advance(Span.Ms(100));
        }

        await Task.WhenAll(calls.Select(static c => c.ContinueWith(static c => _ = c.Exception, TaskScheduler.Default))).WithinAsync();
        Assert.InRange(inTime / (100.0 * seconds), least, most + 0.1);
    }

    [Fact(Timeout = Timeout)]
    public async Task Limit_Raised_WaitingCallsStart()
    {
        SharedConcurrencyLimit limit = new(1);
        Assert.True(limit.TryEnter());
        Task[] waits = [.. Enumerable.Range(0, 3).Select(_ => limit.EnterAsync().AsTask())];
        limit.Limit = 3;
        await waits[0].WithinAsync();
        await waits[1].WithinAsync();
        Assert.False(waits[2].IsCompleted);
        Assert.Equal((3, 1), (limit.InUse, limit.Waiting));
    }

    [Fact(Timeout = Timeout)]
    public async Task Limit_Lowered_NobodyStartsUntilEnoughHaveEnded()
    {
        SharedConcurrencyLimit limit = new(3);
        Assert.True(limit.TryEnter() && limit.TryEnter() && limit.TryEnter());
        limit.Limit = 1;
        Task wait = limit.EnterAsync().AsTask();
        limit.Leave();
        limit.Leave();
        Assert.False(wait.IsCompleted);
        Assert.Equal((1, 1), (limit.InUse, limit.Waiting));
        limit.Leave();
        await wait.WithinAsync();
        limit.Leave();
        Assert.Throws<InvalidOperationException>(limit.Leave);
    }

    [Fact(Timeout = Timeout)]
    public async Task ExecuteAsync_WhateverTheCallDoes_ReturnsThePlace()
    {
        SharedConcurrencyLimit limit = new(1);
        Assert.Equal(7, await limit.ExecuteAsync(static (x, _) => new ValueTask<int>(x), 7));
        await Assert.ThrowsAsync<TestException>(() => limit.ExecuteAsync<int>(static _ => throw new TestException("at once")).AsTask());
        await Assert.ThrowsAsync<TestException>(() => limit.ExecuteAsync<int>(static async _ =>
        {
            await Task.Yield();
            throw new TestException("later");
        }).AsTask());
        using CancellationTokenSource cancelling = new();
        TaskCompletionSource<int> never = new();
        Task call = limit.ExecuteAsync(token => new ValueTask<int>(never.Task.WaitAsync(token)), cancelling.Token).AsTask();
        Task behind = limit.ExecuteAsync(static _ => new ValueTask<int>(1), cancelling.Token).AsTask();
        Assert.Equal((1, 1), (limit.InUse, limit.Waiting));
        await cancelling.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call.WithinAsync());
        await behind.EndsAsync();
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
    }

    [Fact(Timeout = Timeout)]
    public async Task User_WithABound_LetsOthersPassWhenItCannotUseMore()
    {
        SharedConcurrencyLimit limit = new(2);
        int most = 1;
        PermitUser bounded = new(limit, () => most);
        PermitUser other = new(limit, () => 9);
        Assert.True(limit.TryEnter() && limit.TryEnter());
        PermitWaiter first = bounded.Queue();
        PermitWaiter second = bounded.Queue();
        PermitWaiter third = bounded.Queue();
        PermitWaiter behind = other.Queue();
        limit.Leave();
        await first.Served.WithinAsync();
        limit.Leave();

        // The second one's user has all the places that it can use.
        await behind.Served.WithinAsync("the one behind");
        Assert.False(second.Served.IsCompleted);
        Assert.Equal((2, 2), (limit.InUse, limit.Waiting));

        // It has kept its number: it comes before one that came later.
        PermitWaiter last = other.Queue();
        bounded.Leave();
        await second.Served.WithinAsync();
        Assert.False(last.Served.IsCompleted);
        third.Drop();
        other.Leave();
        await last.Served.WithinAsync();
        bounded.Leave();
        other.Leave();
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
        Assert.True(limit.TryEnter());
    }

    private ValueTask<int> HoldAsync(CancellationToken token) => new(_hold.Task);
}
