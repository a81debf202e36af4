namespace Weir.Resilience.Tests.Timeouts;

/// <summary>A call that cannot be begun or watched ends at once, and leaves neither a timer nor a registration with the caller's token.</summary>
public sealed class TimeoutFaultTests : IDisposable
{
    private const int Timeout = 90_000;

    private readonly ManualTimeProvider _time = new();
    private readonly FaultyTimeProvider _clock;
    private readonly TimeoutPolicy<int> _policy;
    private readonly CancellationTokenSource _stop = new();

    public TimeoutFaultTests()
    {
        _clock = new FaultyTimeProvider(_time);
        _policy = new TimeoutPolicy<int>(new TimeoutOptions { Timeout = TimeSpan.FromSeconds(1), TimeProvider = _clock });
    }

    public void Dispose() => _stop.Dispose();

    [Fact(Timeout = Timeout)]
    public async Task Execute_ClockFails_LeavesNoTimer()
    {
        _clock.FailAfter(0);
        await Assert.ThrowsAsync<IOException>(async () => await _policy.ExecuteAsync(static (_, _) => new ValueTask<int>(1), 0, _stop.Token));
        _clock.Work();
        await AssertGoesOnAsync();
    }

    [Fact(Timeout = Timeout)]
    public async Task Execute_CallWasAwaitedBefore_LeavesNoTimer()
    {
        await Assert.ThrowsAsync<InvalidOperationException>(
            async () => await _policy.ExecuteAsync(static (_, _) => ConsumedCall.Start(), 0, _stop.Token));
        await AssertGoesOnAsync();
    }

    private async Task AssertGoesOnAsync()
    {
        Assert.Equal(0, _time.LiveTimers);
        Assert.Equal(1, await _policy.ExecuteAsync(static (_, _) => new ValueTask<int>(1), 0, _stop.Token));
    }
}
