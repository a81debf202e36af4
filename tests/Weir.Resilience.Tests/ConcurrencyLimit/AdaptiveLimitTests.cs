namespace Weir.Resilience.Tests.ConcurrencyLimit;

/// <summary>The limit that finds its number itself: what it learns from whom, and what it leaves behind.</summary>
public class AdaptiveLimitTests
{
    private const int Timeout = 90_000;

    private readonly ManualTimeProvider _clock = new();

    /// <summary>Two callers share the limit in front of one server. After ten seconds each time, it serves nine tenths of what it can, without a long queue.</summary>
    [Theory]
    [InlineData(16)]
    [InlineData(48)]
    public void TwoCallers_OneServer_FindItsKneeAndFollowIt(int slots)
    {
        AdaptiveLimit limit = new(new AdaptiveLimitOptions { TimeProvider = _clock });
        SimulatedServer server = new(_clock, limit, slots);
        foreach (int now in (int[])[slots, slots / 2, slots])
        {
            server.Slots = now;
            server.Run(TimeSpan.FromSeconds(10));
            (double rate, double latency) = server.Run(TimeSpan.FromSeconds(20));
            Assert.InRange(rate / (now / SimulatedServer.Service), 0.9, 1.1);
            Assert.InRange(latency / SimulatedServer.Service, 0.9, 1.5);
        }

        Assert.Equal(limit.Limit, limit.GetSnapshot().Limit);
        Assert.InRange(limit.GetSnapshot().Latency!.Value.TotalSeconds / SimulatedServer.Service, 0.8, 1.6);
        server.Finish();
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
    }

    [Fact]
    public async Task Calls_ThatFail_LowerTheLimit_AndItsListenerIsTold()
    {
        List<(int, int)> told = [];
        AdaptiveLimit limit = FailingLowers(told);
        Assert.Equal(8, limit.Limit);
        await FailAsync(limit, default);
        await FailAsync(limit, default);
        await Until.TrueAsync(() => Read(told).Count > 0);
        Assert.Equal((8, 4), Read(told)[0]);
        Assert.Equal(4, limit.Limit);
        Assert.Equal(0, limit.InUse);
    }

    [Fact]
    public async Task Calls_OfAChainThatFail_LowerTheLimit()
    {
        AdaptiveLimit limit = FailingLowers([]);
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { ConcurrencyLimit = limit, TimeProvider = _clock });
        for (int i = 0; i < 2; i++)
        {
            await Assert.ThrowsAsync<TestException>(() => chain.ExecuteAsync(Fail).AsTask());
            _clock.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.Equal(4, limit.Limit);
        Assert.Equal(0, limit.InUse);
    }

    [Fact]
    public async Task Calls_ThatTheirCallerCancels_SayNothing()
    {
        AdaptiveLimit limit = FailingLowers([]);
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { ConcurrencyLimit = limit, TimeProvider = _clock });
        for (int i = 0; i < 10; i++)
        {
            using CancellationTokenSource one = new();
            using CancellationTokenSource two = new();
            Task<int> call = limit.ExecuteAsync(HangAsync, one.Token).AsTask();
            Task<int> chained = chain.ExecuteAsync(HangAsync, two.Token).AsTask();
            await one.CancelAsync();
            await two.CancelAsync();
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call.WithinAsync());
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => chained.WithinAsync());
            _clock.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.Equal(8, limit.Limit);
        Assert.Null(limit.GetSnapshot().Latency);
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));

        async ValueTask<int> HangAsync(CancellationToken token)
        {
            await Task.Delay(System.Threading.Timeout.InfiniteTimeSpan, _clock, token);
            return 1;
        }
    }

    [Theory(Timeout = Timeout)]
    [InlineData(800, true)]
    [InlineData(790, false)]
    public async Task Calls_ThatTheirCallerCancels_AreFailuresWhenTheirTimeIsNearlyOver(int after, bool lowers)
    {
        AdaptiveLimit limit = FailingLowers([]);
        LimitShare share = limit.With(within: Span.Ms(1000));
        for (int i = 0; i < 10; i++)
        {
            using CancellationTokenSource caller = new();
            Task<int> call = share.ExecuteAsync(HangAsync, caller.Token).AsTask();
            _clock.Advance(Span.Ms(after));
            await caller.CancelAsync();
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call.WithinAsync());
            _clock.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.Equal(lowers, limit.Limit < 8);
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));

        async ValueTask<int> HangAsync(CancellationToken token)
        {
            await Task.Delay(System.Threading.Timeout.InfiniteTimeSpan, _clock, token);
            return 1;
        }
    }

    [Fact(Timeout = Timeout)]
    public async Task Wait_CancelledOrRejected_LeavesNothing()
    {
        AdaptiveLimit limit = new(new AdaptiveLimitOptions { Adaptive = new() { MaxConcurrency = 1 }, TimeProvider = _clock });
        Assert.True(limit.TryEnter());
        using CancellationTokenSource source = new();
        Task[] waits = [.. Enumerable.Range(0, 100).Select(_ => limit.ExecuteAsync(static _ => 1, source.Token).AsTask())];
        Assert.Equal((1, 1, 100), (limit.Limit, limit.InUse, limit.Waiting));
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => limit.ExecuteAsync(static _ => 1).AsTask());
        await source.CancelAsync();
        foreach (Task wait in waits)
        {
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => wait.WithinAsync());
        }

        Assert.Equal(new AdaptiveLimitSnapshot { Limit = 1, InUse = 1 }, limit.GetSnapshot());
        limit.Leave();
        Assert.Equal(0, limit.InUse);
    }

    [Fact]
    public async Task Clock_ThatFails_LosesAMeasurementAndNothingElse()
    {
        FailingClock clock = new();
        AdaptiveLimit limit = new(new AdaptiveLimitOptions { TimeProvider = clock });
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { ConcurrencyLimit = limit });
        clock.Fails = true;
        Assert.Equal(1, await limit.ExecuteAsync(static _ => 1));
        Assert.Equal(1, await chain.ExecuteAsync(static _ => new ValueTask<int>(1)));
        clock.Fails = false;
        Assert.Equal(1, await chain.ExecuteAsync(_ =>
        {
            clock.Fails = true;
            return new ValueTask<int>(1);
        }));
        Assert.Equal(0, limit.InUse);
    }

    [Fact]
    public void Limit_SetByHand_Throws()
    {
        AdaptiveLimit limit = new();
        Assert.Equal(32, limit.Limit);
        Assert.Contains("MaxConcurrency", Assert.Throws<InvalidOperationException>(() => limit.Limit = 3).Message, StringComparison.Ordinal);
        Assert.Equal(32, limit.Limit);
    }

    [Fact]
    public void Options_OutOfRange_AreNamed()
    {
        Assert.Equal("MaxWaiting", Assert.Throws<ArgumentOutOfRangeException>(() => new AdaptiveLimit(new() { MaxWaiting = -1 })).ParamName);
        Assert.Equal("Adaptive", Assert.Throws<ArgumentNullException>(() => new AdaptiveLimit(new() { Adaptive = null! })).ParamName);
        Assert.Equal("TimeProvider", Assert.Throws<ArgumentNullException>(() => new AdaptiveLimit(new() { TimeProvider = null! })).ParamName);
        Assert.Equal(
            "MinConcurrency",
            Assert.Throws<ArgumentOutOfRangeException>(() => ConcurrencyLimits.ByKey((int i) => i, new AdaptiveLimitOptions { Adaptive = new() { MinConcurrency = 0 } })).ParamName);
        Assert.Equal("options", Assert.Throws<ArgumentNullException>(() => ConcurrencyLimits.ByKey((int i) => i, (AdaptiveLimitOptions)null!)).ParamName);
    }

    [Fact]
    public async Task ByKey_OneServerFails_OnlyItsLimitFalls()
    {
        ConcurrencyLimits<int> limits = ConcurrencyLimits.ByKey((int item) => item, OptionsOfFailing([]));
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { ConcurrencyLimit = limits, TimeProvider = _clock });
        for (int i = 0; i < 2; i++)
        {
            await Assert.ThrowsAsync<TestException>(() => chain.For(1).ExecuteAsync(Fail).AsTask());
            await chain.For(2).ExecuteAsync(static _ => new ValueTask<int>(1));
            _clock.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.Equal(4, Assert.IsType<AdaptiveLimit>(limits.Get(1)).Limit);
        Assert.Equal(8, limits.Get(2).Limit);
    }

    [Fact(Timeout = Timeout)]
    public async Task Deadline_ThatCannotBeMet_IsRefusedAtOnce()
    {
        (AdaptiveLimit limit, LimitShare share) = await MeasuredAsync(Span.Ms(350));
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            ConcurrencyLimit = limit, TotalTimeout = Span.Ms(350), TimeProvider = _clock,
        });
        Assert.Equal(Span.Ms(100), limit.GetSnapshot().Latency);
        Assert.True(limit.TryEnter());

        // One call after the other of 100 ms: the first waits 100 ms and ends after 200, the second after 300, the third after 400.
        Task<int> first = share.ExecuteAsync(static (_, _) => new ValueTask<int>(1), 0).AsTask();
        Task<int> second = chain.ExecuteAsync(static _ => new ValueTask<int>(2)).AsTask();
        ConcurrencyLimitRejectedException error = await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(
            () => share.ExecuteAsync(static (_, _) => new ValueTask<int>(3), 0).AsTask());
        Assert.Contains("00:00:00.4", error.Message, StringComparison.Ordinal);
        Assert.Contains("00:00:00.35", error.Message, StringComparison.Ordinal);
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => chain.ExecuteAsync(static _ => new ValueTask<int>(3)).AsTask());
        Assert.Equal(2, limit.Waiting);

        // Without a deadline, a call waits as long as it has to.
        Task<int> third = limit.ExecuteAsync(static _ => new ValueTask<int>(3)).AsTask();
        limit.Leave();
        int[] results = await Task.WhenAll(first, second, third).WithinAsync();
        Assert.Equal([1, 2, 3], results);
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
    }

    [Fact(Timeout = Timeout)]
    public async Task Deadline_ThatHasPassedWhileTheCallWaited_IsRefusedWhenItsTurnComes()
    {
        (AdaptiveLimit limit, LimitShare share) = await MeasuredAsync(Span.Ms(350));
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            ConcurrencyLimit = limit, TotalTimeout = Span.Ms(350), TimeProvider = _clock,
        });
        Assert.True(limit.TryEnter());
        int calls = 0;
        ValueTask<int> Count(CancellationToken token) => new(Interlocked.Increment(ref calls));
        Task<int> early = share.ExecuteAsync(Count).AsTask();
        Task<int> chained = chain.ExecuteAsync(Count).AsTask();

        // The first of them could still end in time after 250 ms, and not after 251.
        _clock.Advance(Span.Ms(251));
        Task<int> patient = limit.ExecuteAsync(Count).AsTask();
        Task<int> late = share.ExecuteAsync(Count).AsTask();
        Assert.Equal(3, limit.Waiting);
        limit.Leave();
        ConcurrencyLimitRejectedException error = await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => early.WithinAsync());
        Assert.Contains("00:00:00.35", error.Message, StringComparison.Ordinal);
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => chained.WithinAsync());
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => late.WithinAsync());
        Assert.Equal((1, 1), (await patient.WithinAsync(), calls));
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
    }

    [Theory(Timeout = Timeout)]
    [InlineData(100, 100, 210, true)]
    [InlineData(50, 150, 290, false)]
    [InlineData(50, 150, 310, true)]
    public async Task Deadline_CallsThatVary_LeavesRoomForMostOfThem(int one, int other, int within, bool isLetIn)
    {
        // Each call waits 100 ms in the mean, and needs the mean and two standard deviations.
        AdaptiveLimit limit = OneAtATime(100);
        for (int i = 0; i < 200; i++)
        {
            await limit.ExecuteAsync(_ => _clock.Advance(Span.Ms(i % 2 == 0 ? one : other)));
        }

        Assert.True(limit.TryEnter());
        Task<int> call = limit.With(within: Span.Ms(within)).ExecuteAsync(static _ => new ValueTask<int>(1)).AsTask();
        Assert.Equal(isLetIn ? 1 : 0, limit.Waiting);
        limit.Leave();
        Assert.Equal(isLetIn, await Record.ExceptionAsync(() => call.WithinAsync()) is null);
    }

    [Fact(Timeout = Timeout)]
    public async Task Deadline_ClockThatFails_RefusesNobody()
    {
        FailingClock clock = new();
        AdaptiveLimit limit = new(new AdaptiveLimitOptions { Adaptive = new() { MaxConcurrency = 1 }, TimeProvider = clock });
        Assert.True(limit.TryEnter());
        Task<int> before = limit.With(within: Span.Ms(1)).ExecuteAsync(static _ => new ValueTask<int>(1)).AsTask();
        clock.Fails = true;
        Task<int> after = limit.With(within: Span.Ms(1)).ExecuteAsync(static _ => new ValueTask<int>(2)).AsTask();
        Assert.Equal(2, limit.Waiting);
        limit.Leave();
        int[] results = await Task.WhenAll(before, after).WithinAsync();
        Assert.Equal([1, 2], results);
        Assert.Equal(0, limit.InUse);
    }

    [Fact(Timeout = Timeout)]
    public async Task Deadline_OfALaterAttempt_IsWhatIsLeft()
    {
        (AdaptiveLimit limit, _) = await MeasuredAsync(null);
        int attempts = 0;
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            ConcurrencyLimit = limit,
            TotalTimeout = Span.Ms(350),
            Retry = new RetryOptions { MaxRetries = 1, DelayHint = static _ => TimeSpan.Zero, IsTransient = static e => e is TestException },
            TimeProvider = _clock,
        });
        Task<int> call = chain.ExecuteAsync(
            async token =>
            {
                attempts++;
                await Task.Yield();
                _clock.Advance(Span.Ms(200));

                // Another takes the permit, in the moment in which this attempt ends.
                _ = limit.EnterAsync(token).AsTask();
                return attempts < 0 ? 1 : throw new TestException("down");
            }).AsTask();
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => call.WithinAsync());
        Assert.Equal(1, attempts);
        Assert.Equal((1, 0), (limit.InUse, limit.Waiting));
    }

    [Fact(Timeout = Timeout)]
    public async Task Priorities_TheHighestFirst_AndTheLowestIsShed()
    {
        AdaptiveLimit limit = OneAtATime(maxWaiting: 3);
        List<int> order = [];
        Assert.True(limit.TryEnter());
        Task background = Call(CallPriority.Background, 5);
        Task second = Call(CallPriority.Background, 6);
        Task normal = Call(CallPriority.Normal, 3);
        Task critical = Call(CallPriority.Critical, 1);
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => second.WithinAsync());
        Task next = Call(CallPriority.Critical, 2);
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => background.WithinAsync());

        // Nothing that waits is lower.
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => Call(CallPriority.Background, 7).WithinAsync());
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => Call(CallPriority.Normal, 4).WithinAsync());
        Assert.Equal(3, limit.Waiting);
        limit.Leave();
        await Task.WhenAll(critical, next, normal).WithinAsync();
        Assert.Equal([1, 2, 3], order);
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));

        Task Call(CallPriority priority, int number) => limit.With(priority).ExecuteAsync(
            (number, _) =>
            {
                order.Add(number);
                return new ValueTask<int>(number);
            },
            number).AsTask();
    }

    [Fact]
    public void Priorities_UnderEndlessCriticalCalls_ABackgroundCallIsServed()
    {
        AdaptiveLimit limit = OneAtATime(maxWaiting: 10);
        PermitUser critical = new(limit, null) { Priority = CallPriority.Critical };
        Assert.True(limit.TryEnter());
        PermitWaiter background = new PermitUser(limit, null) { Priority = CallPriority.Background }.Queue();
        int served = 0;
        while (background.State == PermitWaiterState.Waiting)
        {
            // The queue is full of critical calls before each one that ends. None of them sheds a call that has aged.
            while (limit.Waiting < 10)
            {
                critical.Queue();
            }

            limit.Leave();
            Assert.InRange(++served, 0, 21);
        }

        Assert.Equal(PermitWaiterState.Served, background.State);
        Assert.InRange(served, 10, 21);
    }

    [Fact(Timeout = Timeout)]
    public async Task NewestFirst_UnderOverload_TheNewestIsServedAndTheOldestRefused()
    {
        AdaptiveLimit limit = OneAtATime(maxWaiting: 3, newestFirst: true);
        List<int> order = [];
        Assert.True(limit.TryEnter());
        Task[] calls = [.. Enumerable.Range(1, 5).Select(number => limit.ExecuteAsync(
            (number, _) =>
            {
                order.Add(number);
                return new ValueTask<int>(number);
            },
            number).AsTask())];

        // The first came when nobody waited, and is the oldest when the fourth comes; then the second is.
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => calls[0].WithinAsync());
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => calls[1].WithinAsync());
        limit.Leave();
        await Task.WhenAll(calls[2..]).WithinAsync();
        Assert.Equal([5, 4, 3], order);
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
    }

    /// <summary>Newest first, within what the priorities say: a newer call passes none of a higher priority, neither in the queue nor when it is full.</summary>
    [Theory(Timeout = Timeout)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task NewestFirst_WithPriorities_PassesNoneOfAHigherPriority(int permits)
    {
        AdaptiveLimit limit = new(new AdaptiveLimitOptions
        {
            Adaptive = new() { MinConcurrency = permits, MaxConcurrency = permits }, MaxWaiting = 6, NewestFirst = true, TimeProvider = _clock,
        });

        // Long after its start: what is in the queue is far from the first call that ever came.
        Assert.All(Enumerable.Range(0, permits), _ => Assert.True(limit.TryEnter()));
        for (int i = 0; i < 50; i++)
        {
            Queued(limit, CallPriority.Normal, 1)[0].Drop();
        }

        // The first of them, as many as there are permits, find a queue that is no overload yet.
        PermitWaiter[] critical = [.. Queued(limit, CallPriority.Critical, 2)];
        PermitWaiter[] background = [.. Queued(limit, CallPriority.Background, 2)];
        PermitWaiter[] normal = [.. Queued(limit, CallPriority.Normal, 2)];
        PermitWaiter next = Queued(limit, CallPriority.Critical, 1)[0];

        PermitWaiter[] expected = permits == 1
            ? [next, critical[1], critical[0], normal[1], normal[0]]
            : [next, critical[0], critical[1], normal[1], normal[0]];
        List<PermitWaiter> order = [];
        for (int i = 0; i < expected.Length; i++)
        {
            limit.Leave();
            order.Add(Assert.Single(expected, waiter => waiter.State == PermitWaiterState.Served && !order.Contains(waiter)));
        }

        Assert.Equal(expected, order);
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => background[0].Served.WithinAsync());
        Assert.Equal(PermitWaiterState.Waiting, background[1].State);
        background[1].Drop();
        Assert.All(Enumerable.Range(0, permits), _ => limit.Leave());
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
    }

    /// <summary>As many calls as may wait pass one of a lower priority, for each step between the two, and no more.</summary>
    [Theory]
    [InlineData(2, CallPriority.Normal, 2)]
    [InlineData(2, CallPriority.Background, 4)]
    [InlineData(6, CallPriority.Normal, 6)]
    [InlineData(6, CallPriority.Background, 12)]
    public void Priorities_AsManyAsMayWait_PassOneOfALowerPriority(int maxWaiting, CallPriority lower, int passing)
    {
        AdaptiveLimit limit = OneAtATime(maxWaiting);
        PermitUser critical = new(limit, null) { Priority = CallPriority.Critical };
        Assert.True(limit.TryEnter());
        PermitWaiter waiter = new PermitUser(limit, null) { Priority = lower }.Queue();
        int passed = 0;
        while (waiter.State == PermitWaiterState.Waiting)
        {
            PermitWaiter first = critical.Queue();
            limit.Leave();
            passed += first.State == PermitWaiterState.Served ? 1 : 0;
        }

        Assert.Equal(passing, passed);
    }

    [Fact(Timeout = Timeout)]
    public async Task Queue_OfOne_ACriticalCallTakesThePlaceOfANormalOne()
    {
        AdaptiveLimit limit = OneAtATime(maxWaiting: 1);
        Assert.True(limit.TryEnter());
        Task<int> normal = limit.ExecuteAsync(static _ => new ValueTask<int>(1)).AsTask();
        Task<int> critical = limit.With(CallPriority.Critical).ExecuteAsync(static _ => new ValueTask<int>(2)).AsTask();
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => normal.WithinAsync());
        limit.Leave();
        Assert.Equal(2, await critical.WithinAsync());
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
    }

    /// <summary>No call ends, so no turn comes: the wait ends with the time of the call all the same.</summary>
    [Theory(Timeout = Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Deadline_NoCallEnds_TheWaitEndsWithItsTime(bool byKey)
    {
        AdaptiveLimitOptions options = new() { Adaptive = new() { MaxConcurrency = 1 }, TimeProvider = _clock };
        AdaptiveLimit limit = new(options);
        LimitShare share = limit.With(within: Span.Ms(350));
        Func<Task<int>> call = () => share.ExecuteAsync(static _ => new ValueTask<int>(1)).AsTask();
        if (byKey)
        {
            ConcurrencyLimits<string> limits = ConcurrencyLimits.ByKey(static (string key) => key, options);
            limit = (AdaptiveLimit)limits.Get("a");
            PolicyChain<int> chain = new(new PolicyChainOptions<int> { ConcurrencyLimit = limits.With(within: Span.Ms(350)), TimeProvider = _clock });
            call = () => chain.For("a").ExecuteAsync(static _ => new ValueTask<int>(1)).AsTask();
        }

        Assert.True(limit.TryEnter());
        Task<int> first = call();
        _clock.Advance(Span.Ms(200));
        Task<int> second = call();
        Task<int> patient = limit.ExecuteAsync(static _ => new ValueTask<int>(3)).AsTask();
        _clock.Advance(Span.Ms(149));
        Assert.Equal(3, limit.Waiting);
        _clock.Advance(Span.Ms(1));
        ConcurrencyLimitRejectedException error = await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => first.WithinAsync());
        Assert.Contains("00:00:00.35", error.Message, StringComparison.Ordinal);
        Assert.Equal((1, 2), (limit.InUse, limit.Waiting));
        limit.Leave();
        Assert.Equal((1, 3), (await second.WithinAsync(), await patient.WithinAsync()));
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));

        // Their timers are gone.
        _clock.Advance(Span.Ms(1000));
        Assert.Equal(0, _clock.LiveTimers);
    }

    // The default is that of a circuit breaker.
    [Theory(Timeout = Timeout)]
    [InlineData("failure", 4)]
    [InlineData("not found", 8)]
    [InlineData("cancelled inside", 8)]
    [InlineData("refused by a limit inside", 8)]
    [InlineData("time limit of the chain", 4)]
    [InlineData("function throws", 4)]
    public async Task IsFailure_DecidesWhatLowersTheLimit(string kind, int expected)
    {
        AdaptiveLimit limit = new(OptionsOfFailing([]) with
        {
            IsFailure = kind switch
            {
                "not found" => static e => e is not TestException,
                "function throws" => static _ => throw new FormatException(),
                _ => null,
            },
        });
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            ConcurrencyLimit = limit, TimeProvider = _clock, TotalTimeout = kind == "time limit of the chain" ? TimeSpan.FromSeconds(1) : null,
        });
        for (int i = 0; i < 4; i++)
        {
            Task<int> call = chain.ExecuteAsync(CallAsync).AsTask();
            _clock.Advance(TimeSpan.FromSeconds(1));
            await Assert.ThrowsAnyAsync<Exception>(() => call.WithinAsync());
            if (kind != "time limit of the chain")
            {
                Task<int> alone = limit.ExecuteAsync(CallAsync).AsTask();
                _clock.Advance(TimeSpan.FromSeconds(1));
                await Assert.ThrowsAnyAsync<Exception>(() => alone.WithinAsync());
            }
            else
            {
                await Until.TrueAsync(() => limit.InUse == 0);
            }
        }

        // A call that was given up is counted by its own thread, after its permit came back.
        await Until.TrueAsync(() => limit.Limit < 8 || expected == 8);
        Assert.Equal(expected == 8, limit.Limit == 8);
        Assert.Equal(0, limit.InUse);
        Assert.Equal(kind is "cancelled inside" or "refused by a limit inside", limit.GetSnapshot().Latency is null && limit.Limit == 8);

        async ValueTask<int> CallAsync(CancellationToken token)
        {
            if (kind == "time limit of the chain")
            {
                await Task.Delay(System.Threading.Timeout.InfiniteTimeSpan, _clock, token);
            }

            throw kind switch
            {
                "cancelled inside" => new OperationCanceledException(),
                "refused by a limit inside" => new ConcurrencyLimitRejectedException(),
                _ => new TestException("down"),
            };
        }
    }

    [Fact(Timeout = Timeout)]
    public async Task ByKey_With_GivesTheCallsOfAKeyAPriorityAndADeadline()
    {
        ConcurrencyLimits<string> limits = ConcurrencyLimits.ByKey(
            static (string key) => key, new AdaptiveLimitOptions { Adaptive = new() { MaxConcurrency = 1 }, TimeProvider = _clock });
        PolicyChain<int> Chain(ConcurrencyLimits setting) =>
            new PolicyChain<int>(new PolicyChainOptions<int> { ConcurrencyLimit = setting, TimeProvider = _clock }).For("a");
        PolicyChain<int> critical = Chain(limits.With(CallPriority.Critical));
        PolicyChain<int> background = Chain(limits.With(CallPriority.Background));
        PolicyChain<int> hurried = Chain(limits.With(CallPriority.Background).With(within: Span.Ms(150)));
        AdaptiveLimit limit = (AdaptiveLimit)limits.Get("a");
        while (limit.GetSnapshot().Latency is null)
        {
            await background.ExecuteAsync(_ =>
            {
                _clock.Advance(Span.Ms(100));
                return new ValueTask<int>(0);
            });
        }

        Assert.True(limit.TryEnter());
        List<int> order = [];
        Task<int>[] calls = [.. new[] { background, critical }.Select((chain, i) => chain.ExecuteAsync(_ =>
        {
            order.Add(i);
            return new ValueTask<int>(i);
        }).AsTask())];
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => hurried.ExecuteAsync(static _ => new ValueTask<int>(2)).AsTask());
        Assert.Equal(2, limit.Waiting);
        limit.Leave();
        await Task.WhenAll(calls).WithinAsync();
        Assert.Equal([1, 0], order);
        Assert.Equal((0, 1), (limit.InUse, limits.With().Count));
    }

    [Fact]
    public void ByKey_WithOfFixedLimits_Throws()
    {
        ConcurrencyLimits<int> limits = ConcurrencyLimits.ByKey(static (int item) => item, 2);
        Assert.Throws<InvalidOperationException>(() => limits.With(CallPriority.Critical));
        Assert.Equal("priority", Assert.Throws<ArgumentOutOfRangeException>(() => limits.With((CallPriority)2)).ParamName);
        Assert.Equal("within", Assert.Throws<ArgumentOutOfRangeException>(() => limits.With(within: TimeSpan.Zero)).ParamName);
    }

    [Fact]
    public void With_OutOfRange_Throws()
    {
        AdaptiveLimit limit = new();
        Assert.Equal("priority", Assert.Throws<ArgumentOutOfRangeException>(() => limit.With((CallPriority)2)).ParamName);
        Assert.Equal("within", Assert.Throws<ArgumentOutOfRangeException>(() => limit.With(within: TimeSpan.Zero)).ParamName);
    }

    /// <summary>Threads that enter, fail and cancel while the law moves the limit: no permit is lost, and no more are in use than the limit ever allowed.</summary>
    [Fact(Timeout = Timeout)]
    public async Task ManyThreads_WhileTheLimitMoves_LoseNoPermit()
    {
        AdaptiveLimit limit = new(new AdaptiveLimitOptions
        {
            Adaptive = new() { MaxConcurrency = 8, InitialConcurrency = 4, SampleInterval = TimeSpan.FromTicks(1), MinSuccessRate = 0.5 },
            MaxWaiting = int.MaxValue,
        });
        int inside = 0;
        int most = 0;
        int moved = 0;
        int last = limit.Limit;
        await Task.WhenAll(Enumerable.Range(0, 8).Select(worker => Task.Run(async () =>
        {
            Random random = new(worker);
            for (int i = 0; i < 2_000; i++)
            {
                using CancellationTokenSource source = new();
                bool fails = (i / 200 % 2) == 0;
                ValueTask<int> call = limit.ExecuteAsync(
                    async token =>
                    {
                        InterlockedMax(ref most, Interlocked.Increment(ref inside));
                        await Task.Yield();
                        Interlocked.Decrement(ref inside);
                        return fails ? throw new TestException("down") : 1;
                    },
                    source.Token);
                if (random.Next(4) == 0)
                {
                    await source.CancelAsync();
                }

                try
                {
                    await call;
                }
                catch (Exception e) when (e is TestException or OperationCanceledException)
                {
                }

                moved += Interlocked.Exchange(ref last, limit.Limit) != limit.Limit ? 1 : 0;
            }
        }))).WithinAsync();
        Assert.Equal((0, 0, 0), (inside, limit.InUse, limit.Waiting));
        Assert.InRange(most, 1, 8);
        Assert.True(moved > 0, "The limit has moved.");
        Assert.InRange(limit.Limit, 1, 8);
        for (int i = 0; i < limit.Limit; i++)
        {
            Assert.True(limit.TryEnter());
        }

        Assert.False(limit.TryEnter());
    }

    private static List<PermitWaiter> Queued(AdaptiveLimit limit, CallPriority priority, int count)
    {
        PermitUser user = new(limit, null) { Priority = priority };
        return [.. Enumerable.Range(0, count).Select(_ => user.Queue())];
    }

    private AdaptiveLimit OneAtATime(int maxWaiting, bool newestFirst = false) => new(new AdaptiveLimitOptions
    {
        Adaptive = new() { MaxConcurrency = 1 }, MaxWaiting = maxWaiting, NewestFirst = newestFirst, TimeProvider = _clock,
    });

    /// <summary>A limit of one call that has measured calls of 100 ms.</summary>
    private async Task<(AdaptiveLimit Limit, LimitShare Share)> MeasuredAsync(TimeSpan? within)
    {
        AdaptiveLimit limit = OneAtATime(100);
        for (int i = 0; i < 40; i++)
        {
            await limit.ExecuteAsync(_ => _clock.Advance(Span.Ms(100)));
        }

        return (limit, limit.With(within: within));
    }

    private static void InterlockedMax(ref int most, int value)
    {
        int seen = Volatile.Read(ref most);
        while (value > seen)
        {
            int before = Interlocked.CompareExchange(ref most, value, seen);
            if (before == seen)
            {
                return;
            }

            seen = before;
        }
    }

    private static ValueTask<int> Fail(CancellationToken token) => throw new TestException("down");

    private static List<(int Before, int Now)> Read(List<(int, int)> told)
    {
        lock (told)
        {
            return [.. told];
        }
    }

    private async Task FailAsync(AdaptiveLimit limit, CancellationToken token)
    {
        await Assert.ThrowsAsync<TestException>(() => limit.ExecuteAsync(Fail, token).AsTask());
        _clock.Advance(TimeSpan.FromSeconds(1));
    }

    private AdaptiveLimit FailingLowers(List<(int, int)> told) => new(OptionsOfFailing(told));

    /// <summary>With a success rate of 1, two calls at least a window apart are enough to judge.</summary>
    private AdaptiveLimitOptions OptionsOfFailing(List<(int, int)> told) => new()
    {
        TimeProvider = _clock,
        Adaptive = new()
        {
            InitialConcurrency = 8,
            MinSuccessRate = 1,
            SampleInterval = TimeSpan.FromMilliseconds(1),
            OnConcurrencyChange = (before, now) =>
            {
                lock (told)
                {
                    told.Add((before, now));
                }

                return default;
            },
        },
    };

    private sealed class FailingClock : TimeProvider
    {
        public bool Fails { get; set; }

        public override long GetTimestamp() => Fails ? throw new TestException("clock") : base.GetTimestamp();

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) =>
            Fails ? throw new TestException("clock") : base.CreateTimer(callback, state, global::System.Threading.Timeout.InfiniteTimeSpan, period);
    }

    /// <summary>
    /// A server with so many slots and a queue, and callers who always have another call. One thread does everything in the order of the clock, so each run is
    /// the same.
    /// </summary>
    private sealed class SimulatedServer(ManualTimeProvider clock, AdaptiveLimit limit, int slots)
    {
        /// <summary>The mean time of a call in seconds, without a queue.</summary>
        public const double Service = 0.05;

        private readonly Random _random = new(7);
        private readonly PriorityQueue<Call, long> _served = new();
        private readonly Queue<Call> _queue = new();
        private readonly PolicyChain<int> _chain = new(new PolicyChainOptions<int> { ConcurrencyLimit = limit, TimeProvider = clock });
        private int _begun;

        public int Slots { get; set; } = slots;

        /// <summary>Runs for a while.</summary>
        /// <returns>The calls a second, and their mean time.</returns>
        public (double Rate, double Latency) Run(TimeSpan time)
        {
            // A continuation runs on the thread that ends its call only where no context could want it.
            SynchronizationContext? context = SynchronizationContext.Current;
            SynchronizationContext.SetSynchronizationContext(null);
            long end = clock.GetTimestamp() + time.Ticks;
            int ended = 0;
            double latencies = 0;
            while (true)
            {
                Begin();
                if (!_served.TryPeek(out _, out long due) || due >= end)
                {
                    break;
                }

                clock.Advance(TimeSpan.FromTicks(due - clock.GetTimestamp()));
                Call call = _served.Dequeue();
                Serve();
                ended++;
                latencies += TimeSpan.FromTicks(due - call.Began).TotalSeconds;
                call.End.SetResult(1);
            }

            clock.Advance(TimeSpan.FromTicks(end - clock.GetTimestamp()));
            SynchronizationContext.SetSynchronizationContext(context);
            return (ended / time.TotalSeconds, latencies / ended);
        }

        /// <summary>Ends all calls, and begins no more.</summary>
        public void Finish()
        {
            SynchronizationContext.SetSynchronizationContext(null);
            foreach (Call call in _served.UnorderedItems.Select(static item => item.Element).Concat(_queue))
            {
                call.End.SetResult(1);
            }
        }

        private void Begin()
        {
            while (limit.InUse < limit.Limit)
            {
                _ = _begun++ % 2 == 0
                    ? limit.ExecuteAsync(static (server, _) => server.CallAsync(), this).AsTask()
                    : _chain.ExecuteAsync(static (server, _) => server.CallAsync(), this).AsTask();
            }
        }

        private ValueTask<int> CallAsync()
        {
            Call call = new(clock.GetTimestamp(), new TaskCompletionSource<int>());
            _queue.Enqueue(call);
            Serve();
            return new ValueTask<int>(call.End.Task);
        }

        private void Serve()
        {
            while (_served.Count < Slots && _queue.TryDequeue(out Call? call))
            {
                // From a half to one and a half of the mean.
                _served.Enqueue(call, clock.GetTimestamp() + (long)(Service * (0.5 + _random.NextDouble()) * TimeSpan.TicksPerSecond));
            }
        }

        private sealed record Call(long Began, TaskCompletionSource<int> End);
    }
}
