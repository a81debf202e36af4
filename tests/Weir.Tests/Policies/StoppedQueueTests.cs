using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies;

/// <summary>Items that wait for a limit when their run is cancelled have not run.</summary>
public sealed class StoppedQueueTests : IDisposable
{
    private readonly Gate _gate = new();

    public void Dispose() => _gate.Dispose();

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData("shared limit")]
    [InlineData("limit by key")]
    [InlineData("rate limit")]
    [InlineData("rate by key")]
    public async Task Cancel_WhileItemsWait_LeavesThemNotRun(string policy)
    {
        using CancellationTokenSource cancel = new();
        RunControl control = new();
        Task<ItemOutcome<int, int>[]> run = Enumerable.Range(0, 5).ToArray().SelectParallelOutcomesAsync(
            async (item, _) =>
            {
                await _gate.WaitAsync(CancellationToken.None);
                return item;
            },
            OptionsOf(policy) with { MaxDegreeOfParallelism = 5, Control = control, Output = new() { ReturnOutcomesOnCancellation = true } },
            cancel.Token);
        await Guard.UntilAsync(() => control.Snapshot() is { Started: 5 }, "all items");
        cancel.Cancel();
        _gate.Open();
        ItemOutcome<int, int>[] outcomes = await run.WithinAsync();
        Assert.All(outcomes, static outcome => Assert.True(outcome.Status is ItemStatus.Succeeded or ItemStatus.NotRun, $"{outcome.Status}"));
    }

    private static ParallelRunOptions OptionsOf(string policy)
    {
        RateLimitOptions rate = new() { TokensPerSecond = 2_000, BurstCapacity = 1 };
        return policy switch
        {
            "shared limit" => new() { ConcurrencyLimit = new SharedConcurrencyLimit(1) },
            "limit by key" => new() { ConcurrencyLimit = ConcurrencyLimits.ByKey<int, int>(static item => item % 3, 1) },
            "rate limit" => new() { RateLimit = rate },
            _ => new() { RateLimit = RateLimits.ByKey<int, int>(static item => item % 3, rate) },
        };
    }
}
