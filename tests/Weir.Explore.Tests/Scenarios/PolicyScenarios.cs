using Weir.Resilience;

namespace Weir.Explore.Tests.Scenarios;

/// <summary>Limits and circuits that calls share.</summary>
public class PolicyScenarios(ITestOutputHelper output)
{
    [Fact]
    public void SharedLimit_WithACancelledWait_LosesNoPermit() => output.Explored(static async () =>
    {
        SharedConcurrencyLimit limit = new(1);
        using CancellationTokenSource source = new();
        int inside = 0;
        await Task.WhenAll(
            Task.Run(() => EnterAsync(default)),
            Task.Run(() => EnterAsync(source.Token)),
            Task.Run(source.Cancel));
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
        Assert.True(limit.TryEnter());

        async Task EnterAsync(CancellationToken token)
        {
            try
            {
                await limit.EnterAsync(token);
            }
            catch (OperationCanceledException) when (token.IsCancellationRequested)
            {
                return;
            }

            Assert.Equal(1, Interlocked.Increment(ref inside));
            Interlocked.Decrement(ref inside);
            limit.Leave();
        }
    });

    [Fact]
    public void RetryBudget_CallsAndRetriesTogether_LosesNothingAndGivesNothingTwice() => output.Explored(static async () =>
    {
        RetryBudget budget = new(0.5, 0, new StandingClock());
        int made = 0;
        await Task.WhenAll(Task.Run(CallTwice), Task.Run(CallTwice));
        Assert.Equal(2.0, made + budget.Balance);
        Assert.Equal(2, made + budget.Refused);

        void CallTwice()
        {
            budget.Deposit();
            budget.Deposit();
            if (budget.TryWithdraw())
            {
                Interlocked.Increment(ref made);
            }
        }
    });

    [Fact]
    public void RetryBudget_FloorOfOne_AllowsOneOfTwo() => output.Explored(static async () =>
    {
        RetryBudget budget = new(0, 1, new StandingClock());
        bool[] made = await Task.WhenAll(Task.Run(budget.TryWithdraw), Task.Run(budget.TryWithdraw));
        Assert.Equal(1, made.Count(static m => m));
    });

    [Fact]
    public void SharedLimit_Raised_LetsTheNextIn() => output.Explored(static async () =>
    {
        SharedConcurrencyLimit limit = new(1);
        Assert.True(limit.TryEnter());
        Task raising = Task.Run(() => limit.Limit = 2);
        await limit.EnterAsync();
        await raising;
        limit.Leave();
        limit.Leave();
        Assert.Equal(0, limit.InUse);
    });

    [Fact]
    public void SharedLimit_MovedWhileItsUsersCome_LosesNoPermit() => output.Explored(static async () =>
    {
        SharedConcurrencyLimit limit = new(2);
        PermitUser bounded = new(limit, static () => 1);
        PermitUser other = new(limit, null);
        using CancellationTokenSource source = new();
        int inside = 0;
        await Task.WhenAll(
            Task.Run(() => EnterAsync(bounded, default)),
            Task.Run(() => EnterAsync(bounded, source.Token)),
            Task.Run(() => EnterAsync(other, source.Token)),
            Task.Run(() =>
            {
                limit.Limit = 1;
                source.Cancel();
                limit.Limit = 2;
            }));
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
        Assert.Equal([true, true, false], [limit.TryEnter(), limit.TryEnter(), limit.TryEnter()]);

        async Task EnterAsync(PermitUser user, CancellationToken token)
        {
            try
            {
                await (user.TryEnter() ? default : user.EnterAsync(token));
            }
            catch (OperationCanceledException) when (token.IsCancellationRequested)
            {
                return;
            }

            Assert.InRange(Interlocked.Increment(ref inside), 1, 2);
            Interlocked.Decrement(ref inside);
            user.Leave();
        }
    });

    [Fact]
    public void AdaptiveLimit_MovedByItsCallsWhileOthersWait_LosesNoPermit() => output.Explored(static async () =>
    {
        AdaptiveLimit limit = new(new AdaptiveLimitOptions
        {
            Adaptive = new() { MaxConcurrency = 2, InitialConcurrency = 2, MinSuccessRate = 1, SampleInterval = TimeSpan.FromTicks(1) },
            TimeProvider = new Ticking(),
        });
        using CancellationTokenSource source = new();
        await Task.WhenAll(
            Task.Run(() => FailAsync(default)),
            Task.Run(() => FailAsync(source.Token)),
            Task.Run(() => FailAsync(default)),
            Task.Run(source.Cancel));
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
        Assert.Equal([true, limit.Limit == 2], [limit.TryEnter(), limit.TryEnter()]);

        async Task FailAsync(CancellationToken token)
        {
            try
            {
                await limit.ExecuteAsync(static _ => ValueTask.FromException<int>(new InvalidOperationException()), token);
            }
            catch (Exception e) when (e is InvalidOperationException or OperationCanceledException)
            {
            }
        }
    });

    [Fact]
    public void AdaptiveLimit_ACallIsShedWhileItIsCancelledOrServed_LosesNoPermit() => output.Explored(static async () =>
    {
        AdaptiveLimit limit = new(new AdaptiveLimitOptions
        {
            Adaptive = new() { MaxConcurrency = 1 }, MaxWaiting = 1, TimeProvider = new Ticking(),
        });
        Assert.True(limit.TryEnter());
        using CancellationTokenSource source = new();
        Task background = EnterAsync(CallPriority.Background, source.Token);
        await Task.WhenAll(
            background,
            Task.Run(() => EnterAsync(CallPriority.Critical, default)),
            Task.Run(source.Cancel),
            Task.Run(limit.Leave));
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
        Assert.Equal([true, false], [limit.TryEnter(), limit.TryEnter()]);

        async Task EnterAsync(CallPriority priority, CancellationToken token)
        {
            try
            {
                await limit.With(priority).ExecuteAsync(static (_, _) => new ValueTask<int>(1), 0, token);
            }
            catch (Exception e) when (e is ConcurrencyLimitRejectedException or OperationCanceledException)
            {
            }
        }
    });

    /// <summary>A clock that goes on with each look, so that a window ends with the second call.</summary>
    private sealed class Ticking : TimeProvider
    {
        private long _now;

        public override long GetTimestamp() => Interlocked.Add(ref _now, 1_000);
    }

    [Fact]
    public void Failure_WhileItemsWaitForASharedLimit_LeavesNothingBehind() => output.Explored(static async () =>
    {
        SharedConcurrencyLimit limit = new(1);
        await Assert.ThrowsAsync<InvalidOperationException>(() => new[] { 1, 2, 3 }.ForEachParallelAsync(
            static async (item, token) =>
            {
                await Task.Yield();
                if (item == 2)
                {
                    throw new InvalidOperationException();
                }
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 2, ConcurrencyLimit = limit }));
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
    });

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Failures_AtTheSameTime_AreEachCounted(bool isWindow) => output.Explored(async () =>
    {
        CircuitBreaker circuit = new(new CircuitBreakerOptions { FailureThreshold = 3, SamplingDuration = isWindow ? TimeSpan.FromHours(1) : null });
        await Task.WhenAll(Task.Run(Fail), Task.Run(Fail));
        Assert.Equal(CircuitBreakerState.Closed, circuit.State);
        Fail();
        Assert.Equal(CircuitBreakerState.Open, circuit.State);

        void Fail()
        {
            Assert.True(circuit.TryEnter(out CircuitTicket ticket));
            circuit.Failed(ticket);
        }
    });

    [Fact]
    public void Circuit_ChangedFromAllSides_TellsItsChangesInTheirOrder() => output.Explored(static async () =>
    {
        List<(CircuitBreakerState From, CircuitBreakerState To)> changes = [];
        CircuitBreaker circuit = new(new CircuitBreakerOptions
        {
            FailureThreshold = 1,
            SuccessThreshold = 1,
            OpenTimeout = TimeSpan.FromSeconds(1),
            OnStateChange = (from, to) =>
            {
                changes.Add((from, to));
                return default;
            },
        });
        await Task.WhenAll(Task.Run(() => CallTwiceAsync(fails: true)), Task.Run(() => CallTwiceAsync(fails: false)));

        // However it was left, a probe closes it.
        await Task.Delay(TimeSpan.FromSeconds(1), TimeProvider.System);
        Call(fails: false);
        await Task.Delay(TimeSpan.FromSeconds(1), TimeProvider.System);
        Assert.Equal(CircuitBreakerState.Closed, circuit.State);
        changes.Insert(0, (default, CircuitBreakerState.Closed));
        Assert.Equal(CircuitBreakerState.Closed, changes[^1].To);
        Assert.All(changes.Zip(changes.Skip(1)), static pair => Assert.Equal(pair.First.To, pair.Second.From));

        async Task CallTwiceAsync(bool fails)
        {
            Call(fails);
            await Task.Delay(TimeSpan.FromSeconds(1), TimeProvider.System);
            Call(fails);
        }

        void Call(bool fails)
        {
            if (circuit.TryEnter(out CircuitTicket ticket))
            {
                if (fails)
                {
                    circuit.Failed(ticket);
                }
                else
                {
                    circuit.Succeeded(ticket);
                }
            }
        }
    });

    [Fact]
    public void Circuit_HalfOpen_LetsOneProbeThrough() => output.Explored(static async () =>
    {
        CircuitBreaker circuit = await OpenAsync();
        int admitted = 0;
        await Task.WhenAll(Task.Run(Enter), Task.Run(Enter));
        Assert.Equal(1, admitted);

        void Enter()
        {
            if (circuit.TryEnter(out _))
            {
                Interlocked.Increment(ref admitted);
            }
        }
    });

    [Fact]
    public void Circuit_WithALateSuccess_StaysAsItIs() => output.Explored(static async () =>
    {
        CircuitBreaker circuit = await OpenAsync(successThreshold: 2);
        Assert.True(circuit.TryEnter(out CircuitTicket late));
        Assert.True(circuit.TryEnter(out CircuitTicket failing));
        Task succeeding = Task.Run(async () =>
        {
            await Task.Delay(TimeSpan.FromSeconds(1), TimeProvider.System);
            circuit.Succeeded(late);
        });
        circuit.Failed(failing);
        await Task.Delay(TimeSpan.FromSeconds(1), TimeProvider.System);
        Assert.True(circuit.TryEnter(out CircuitTicket next));
        circuit.Succeeded(next);
        await succeeding;
        Assert.Equal(CircuitBreakerState.HalfOpen, circuit.State);
    });

    [Fact]
    public void Circuit_WaitedFor_CallsAllWhenItCloses() => output.Explored(static async () =>
    {
        CircuitBreaker circuit = await OpenAsync();
        Assert.True(circuit.TryEnter(out CircuitTicket probe));
        Task change = circuit.NextChange;
        await Task.WhenAll(Task.Run(async () => await change), Task.Run(() => circuit.WaitAsync()), Task.Run(() => circuit.Succeeded(probe)));
        Assert.Equal(CircuitBreakerState.Closed, circuit.State);
    });

    [Fact]
    public void RateLimit_WithACancelledWait_LetsTheNextIn() => output.Explored(static async () =>
    {
        TokenBucket bucket = new(new RateLimitOptions { TokensPerSecond = 1, BurstCapacity = 1 });
        using CancellationTokenSource source = new();
        List<long> starts = [];
        await Task.WhenAll(
            Task.Run(() => TakeAsync(default)),
            Task.Run(() => TakeAsync(source.Token)),
            Task.Run(() => TakeAsync(default)),
            Task.Run(source.Cancel));
        Assert.All(starts.Zip(starts.Skip(1)), static pair => Assert.InRange(pair.Second - pair.First, 999, 1_001));

        async Task TakeAsync(CancellationToken token)
        {
            try
            {
                await bucket.WaitAsync(token);
                starts.Add(Environment.TickCount64);
            }
            catch (OperationCanceledException) when (token.IsCancellationRequested)
            {
            }
        }
    });

    [Fact]
    public void RateLimit_TakenFromTwoSides_LetsInItsBurst() => output.Explored(static async () =>
    {
        TokenBucket bucket = new(new RateLimitOptions { TokensPerSecond = 1, BurstCapacity = 2, TimeProvider = new StandingClock() });
        int entered = 0;
        await Task.WhenAll(Task.Run(EnterTwice), Task.Run(EnterTwice));
        Assert.Equal(2, entered);

        void EnterTwice() => Interlocked.Add(ref entered, (bucket.TryEnter() ? 1 : 0) + (bucket.TryEnter() ? 1 : 0));
    });

    [Fact]
    public void Randomness_OfTwoThreads_LosesNoNumber() => output.Explored(static async () =>
    {
        SeededRandom random = new(99);
        Task<double> other = Task.Run(random.NextDouble);
        double[] drawn = [random.NextDouble(), random.NextDouble(), await other];
        SeededRandom alone = new(99);
        Assert.Equal(new[] { alone.NextDouble(), alone.NextDouble(), alone.NextDouble() }.Order(), drawn.Order());
    });

    /// <summary>A circuit that has opened, and may be tried again.</summary>
    private static async Task<CircuitBreaker> OpenAsync(int successThreshold = 1)
    {
        CircuitBreaker circuit = new(new CircuitBreakerOptions
        {
            FailureThreshold = 1,
            SuccessThreshold = successThreshold,
            OpenTimeout = TimeSpan.FromSeconds(1),
        });
        Assert.True(circuit.TryEnter(out CircuitTicket ticket));
        circuit.Failed(ticket);
        await Task.Delay(TimeSpan.FromSeconds(1), TimeProvider.System);
        return circuit;
    }
}
