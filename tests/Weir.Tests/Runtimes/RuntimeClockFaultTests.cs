using Weir.Runtimes;

namespace Weir.Tests.Runtimes;

/// <summary>A user's clock that fails as a call begins: the call fails with that, and the runtime forgets it.</summary>
public class RuntimeClockFaultTests
{
    public static MatrixTheoryData<string, bool> Cases => new(["concurrent 3", "parallel 2", "auto 3"], [true, false]);

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(Cases))]
    public async Task Call_ClockFailsAsItBegins_FailsAndIsForgotten(string name, bool failsForTimers)
    {
        FaultyTimeProvider clock = new(TimeProvider.System);
        IExecutionRuntime runtime = RuntimeCases.Create(name, new RuntimeOptions { TimeProvider = clock, GracePeriod = Timeout.InfiniteTimeSpan });
        ProcessManyOptions limited = new() { TotalTimeout = TimeSpan.FromMinutes(1) };
        if (failsForTimers)
        {
            clock.FailToMakeTimers();
        }
        else
        {
            clock.FailAfter(0);
        }

        await Assert.ThrowsAsync<IOException>(() => runtime.ProcessManyAsync(new[] { 1, 2 }, static (x, _) => new ValueTask<int>(x), limited)).WithinAsync();
        clock.Work();
        Assert.Equal(0, runtime.Statistics.ActiveCalls);
        ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(new[] { 1, 2 }, static (x, _) => new ValueTask<int>(x), limited).WithinAsync();
        Assert.Equal([1, 2], outcomes.Select(static o => o.Value));
        await runtime.DisposeAsync().AsTask().WithinAsync();
    }
}
