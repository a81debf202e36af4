using Weir.Lab.Resources;
using Weir.TestKit;

namespace Weir.Lab.Tests;

public class CompilerRestTests
{
    private static readonly TimeSpan Step = TimeSpan.FromMilliseconds(20);

    [Fact(Timeout = 300_000)]
    public async Task Wait_NothingIsCompiled_EndsAfterTheRuntimesOwnDelay() => Assert.Equal(TimeSpan.FromMilliseconds(120), await WaitAsync(static _ => 5));

    [Fact(Timeout = 300_000)]
    public async Task Wait_StillCompiling_WaitsUntilThatIsOver() =>
        Assert.Equal(TimeSpan.FromMilliseconds(220), await WaitAsync(static look => Math.Min(look, 5)));

    [Fact(Timeout = 300_000)]
    public async Task Wait_NeverAtRest_GivesUp() => Assert.Equal(TimeSpan.FromMilliseconds(1000), await WaitAsync(static look => look));

    [Fact(Timeout = 300_000)]
    public async Task Wait_Cancelled_EndsAtOnce()
    {
        using CancellationTokenSource stop = new();
        Task wait = CompilerRest.WaitAsync(static () => 1, new ManualTimeProvider(), TimeSpan.FromSeconds(1), stop.Token);
        await stop.CancelAsync();
        await wait;
    }

    // How long it waits by a clock that is moved a step whenever it waits; the count of compiled methods goes by the number of the look.
    private static async Task<TimeSpan> WaitAsync(Func<int, long> compiled)
    {
        ManualTimeProvider clock = new();
        int looks = 0;
        long start = clock.GetTimestamp();
        Task wait = CompilerRest.WaitAsync(() => compiled(looks++), clock, TimeSpan.FromSeconds(1), CancellationToken.None);
        while (!wait.IsCompleted)
        {
            if (clock.ArmedTimers > 0)
            {
                clock.Advance(Step);
            }
            else
            {
                await Task.Yield();
            }
        }

        await wait;
        return clock.GetElapsedTime(start);
    }
}
