namespace Weir.Resilience.Tests.Timeouts;

public class TimeoutPolicyTests
{
    private static readonly TimeSpan Limit = Span.Ms(10);
    private readonly ManualTimeProvider _clock = new();

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_InTime_GivesTheResult()
    {
        TimeoutPolicy<int> policy = Make();
        Assert.Equal(1, await policy.ExecuteAsync(static (x, _) => new ValueTask<int>(x), 1));
        var call = new ManualCall();
        ValueTask<int> pending = policy.ExecuteAsync(static (c, token) => c.Start(token), call);
        Assert.False(pending.IsCompleted);
        call.End(2);
        Assert.Equal(2, await pending);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task ExecuteAsync_ResultThatComesLate_IsDisposedOfUnlessItIsTheState(bool isState)
    {
        TimeoutPolicy<Resource> policy = new(new TimeoutOptions { Timeout = Limit, TimeProvider = _clock });
        Resource late = new();
        TaskCompletionSource<Resource> call = new();
        ValueTask<Resource> pending = policy.ExecuteAsync((_, _) => new ValueTask<Resource>(call.Task), isState ? late : new object());
        _clock.Advance(Limit);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => pending.AsTask());
        call.SetResult(late);
        await Guard.UntilAsync(() => isState || late.Disposals > 0, "the disposal");
        await Guard.SettleAsync();
        Assert.Equal(isState ? 0 : 1, late.Disposals);
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_ResultInTime_IsTheCallers()
    {
        TimeoutPolicy<Resource> policy = new(new TimeoutOptions { Timeout = Limit, TimeProvider = _clock });
        TaskCompletionSource<Resource> call = new();
        ValueTask<Resource> pending = policy.ExecuteAsync(static (c, _) => new ValueTask<Resource>(c.Task), call);
        call.SetResult(new Resource());
        Resource got = await pending;
        _clock.Advance(2 * Limit);
        await Guard.SettleAsync();
        Assert.Equal(0, got.Disposals);
    }

    private sealed class Resource : IDisposable
    {
        private int _disposals;

        public int Disposals => Volatile.Read(ref _disposals);

        public void Dispose() => Interlocked.Increment(ref _disposals);
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_Failure_IsTheCallsOwn()
    {
        TimeoutPolicy<int> policy = Make();
        var error = new IOException();
        Assert.Same(error, await Assert.ThrowsAsync<IOException>(() => policy.ExecuteAsync<int>((_, _) => throw error, 0).AsTask()));
        Assert.Same(error, await Assert.ThrowsAsync<IOException>(() => policy.ExecuteAsync((_, _) => ValueTask.FromException<int>(error), 0).AsTask()));
        var call = new ManualCall();
        ValueTask<int> pending = policy.ExecuteAsync(static (c, token) => c.Start(token), call);
        call.Fail(error);
        Assert.Same(error, await Assert.ThrowsAsync<IOException>(() => pending.AsTask()));
    }

    // Rivulet R26: a call that ignored its token was never timed out, and the exception did not say that it was a timeout.
    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_LimitReachedAndTokenIgnored_EndsWithATimeout()
    {
        TimeoutPolicy<int> policy = Make();
        var call = new ManualCall();
        ValueTask<int> pending = policy.ExecuteAsync(static (c, token) => c.Start(token), call);
        _clock.Advance(Limit - new TimeSpan(1));
        Assert.False(call.Token.IsCancellationRequested);
        _clock.Advance(new TimeSpan(1));
        Assert.True(call.Token.IsCancellationRequested);
        TaskCanceledException error = await Assert.ThrowsAsync<TaskCanceledException>(() => pending.AsTask());
        Assert.Equal(Limit, Assert.IsType<CallTimeoutException>(error.InnerException).Limit);
        Assert.True(TimeoutFailure.Is(error));
        call.End(5);
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_LimitReachedAndTokenHonoured_EndsWithATimeout()
    {
        TimeoutPolicy<int> policy = Make();
        ValueTask<int> pending = policy.ExecuteAsync(async (_, token) =>
        {
            await Task.Delay(System.Threading.Timeout.InfiniteTimeSpan, _clock, token);
            return 1;
        }, 0);
        _clock.Advance(Limit);
        Assert.True(TimeoutFailure.Is(await Assert.ThrowsAnyAsync<OperationCanceledException>(() => pending.AsTask())));
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_StrayCallFailsLater_IsObserved()
    {
        bool unobserved = false;
        void OnUnobserved(object? sender, UnobservedTaskExceptionEventArgs args) =>
            unobserved |= args.Exception.InnerException is IOException { Message: "stray" };

        TaskScheduler.UnobservedTaskException += OnUnobserved;
        try
        {
            await RunAsync();
            for (int i = 0; i < 5; i++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
        }
        finally
        {
            TaskScheduler.UnobservedTaskException -= OnUnobserved;
        }

        Assert.False(unobserved);

        async Task RunAsync()
        {
            var stray = new TaskCompletionSource<int>();
            ValueTask<int> pending = Make().ExecuteAsync(static (s, _) => new ValueTask<int>(s.Task), stray);
            _clock.Advance(Limit);
            await Assert.ThrowsAsync<TaskCanceledException>(() => pending.AsTask());
            stray.SetException(new IOException("stray"));
        }
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_SynchronousResultAfterTheLimit_Counts()
    {
        ValueTask<int> pending = Make().ExecuteAsync(static (clock, token) =>
        {
            clock.Advance(TimeSpan.FromSeconds(1));
            return new ValueTask<int>(token.IsCancellationRequested ? 1 : 0);
        }, _clock);
        Assert.Equal(1, await pending);
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_CallerCancels_EndsWithTheCallersToken()
    {
        TimeoutPolicy<int> policy = Make();
        for (int i = 0; i < 3; i++)
        {
            using var caller = new CancellationTokenSource();
            ValueTask<int> pending = policy.ExecuteAsync(async (_, token) =>
            {
                await Task.Delay(System.Threading.Timeout.InfiniteTimeSpan, _clock, token);
                return 1;
            }, 0, caller.Token);
            await caller.CancelAsync();
            OperationCanceledException error = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => pending.AsTask());
            Assert.Equal(caller.Token, error.CancellationToken);
            Assert.False(TimeoutFailure.Is(error));
        }

        Assert.True(policy.ExecuteAsync(static (_, _) => new ValueTask<int>(1), 0, new CancellationToken(canceled: true)).IsCanceled);
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_CallerCancelsAndTokenIgnored_IsStillBoundByTheLimit()
    {
        using var caller = new CancellationTokenSource();
        var call = new ManualCall();
        ValueTask<int> pending = Make().ExecuteAsync(static (c, token) => c.Start(token), call, caller.Token);
        await caller.CancelAsync();
        await Until.TrueAsync(() => call.Token.IsCancellationRequested);
        Assert.False(pending.IsCompleted);
        _clock.Advance(Limit);
        Assert.True(TimeoutFailure.Is(await Assert.ThrowsAsync<TaskCanceledException>(() => pending.AsTask())));
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_ScopeUsedAgain_GivesEachCallItsWholeTime()
    {
        TimeoutPolicy<int> policy = Make();
        var call = new ManualCall();
        ValueTask<int> first = policy.ExecuteAsync(static (c, token) => c.Start(token), call);
        _clock.Advance(Span.Ms(6));
        call.End(1);
        await first;
        ValueTask<int> second = policy.ExecuteAsync(static (c, token) => c.Start(token), call);

        // One timer for both: what the first call has set fires, sees a newer call, and waits for the rest.
        Assert.Equal(1, _clock.LiveTimers);
        _clock.Advance(Span.Ms(9));
        Assert.False(call.Token.IsCancellationRequested);
        Assert.False(second.IsCompleted);
        _clock.Advance(Span.Ms(1));
        await Assert.ThrowsAsync<TaskCanceledException>(() => second.AsTask());
        Assert.Equal(0, _clock.LiveTimers);
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_ManyShortCalls_SetOneTimer()
    {
        TimeoutPolicy<int> policy = Make();
        for (int i = 0; i < 100; i++)
        {
            Assert.Equal(i, await policy.ExecuteAsync(static (x, _) => new ValueTask<int>(x), i));
            Assert.Equal((1, 1), (_clock.LiveTimers, _clock.ArmedTimers));
        }

        _clock.Advance(Limit);
        Assert.Equal((1, 0), (_clock.LiveTimers, _clock.ArmedTimers));
        Assert.Equal(1, await policy.ExecuteAsync(static (_, _) => new ValueTask<int>(1), 0));
        Assert.Equal(1, _clock.ArmedTimers);
    }

    [Fact]
    public void TimeoutFailure_Is_KnowsTheTwoShapes()
    {
        Assert.True(TimeoutFailure.Is(new TimeoutException()));
        Assert.True(TimeoutFailure.Is(new OperationCanceledException("late", new TimeoutException())));
        Assert.False(TimeoutFailure.Is(new OperationCanceledException()));
        Assert.False(TimeoutFailure.Is(new IOException("late", new TimeoutException())));
        Assert.False(TimeoutFailure.Is(null));
    }

    [Fact]
    public void Constructor_OptionOutOfRange_IsNamed()
    {
        Assert.Equal(TimeSpan.FromSeconds(30), new TimeoutOptions().Timeout);
        foreach (TimeSpan bad in new[] { TimeSpan.Zero, -Limit, TimeSpan.MaxValue })
        {
            Assert.Throws<ArgumentOutOfRangeException>(nameof(TimeoutOptions.Timeout), () => new TimeoutPolicy<int>(new TimeoutOptions { Timeout = bad }));
        }

        Assert.Throws<ArgumentNullException>("TimeProvider", () => new TimeoutPolicy<int>(new TimeoutOptions { TimeProvider = null! }));
        Assert.Throws<ArgumentNullException>("call", () => { _ = Make().ExecuteAsync<int>(null!, 0); });
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_InfiniteTimeSpan_IsNoLimit()
    {
        var policy = new TimeoutPolicy<int>(new TimeoutOptions { Timeout = System.Threading.Timeout.InfiniteTimeSpan, TimeProvider = _clock });
        using var caller = new CancellationTokenSource();
        var call = new ManualCall();
        Task<int> pending = policy.ExecuteAsync(static (c, token) => c.Start(token), call, caller.Token).AsTask();
        Assert.Equal((caller.Token, 0), (call.Token, _clock.LiveTimers));
        _clock.Advance(TimeSpan.FromDays(100));
        Assert.False(pending.IsCompleted);
        call.End(7);
        Assert.Equal(7, await pending);
        await Assert.ThrowsAsync<IOException>(() => policy.ExecuteAsync(static (_, _) => throw new IOException(), 0, caller.Token).AsTask());
        await caller.CancelAsync();
        Assert.True(policy.ExecuteAsync(static (_, _) => new ValueTask<int>(1), 0, caller.Token).IsCanceled);
    }

    private TimeoutPolicy<int> Make() => new(new TimeoutOptions { Timeout = Limit, TimeProvider = _clock });
}
