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
        await Task.WhenAll(
            Task.Run(() => TakeAsync(default)),
            Task.Run(() => TakeAsync(source.Token)),
            Task.Run(() => TakeAsync(default)),
            Task.Run(source.Cancel));

        async Task TakeAsync(CancellationToken token)
        {
            try
            {
                await bucket.WaitAsync(token);
            }
            catch (OperationCanceledException) when (token.IsCancellationRequested)
            {
            }
        }
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
