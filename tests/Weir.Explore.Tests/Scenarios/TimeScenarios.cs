using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Explore.Tests.Scenarios;

/// <summary>Runs whose timers, and the watch over them, may come at any time.</summary>
public class TimeScenarios(ITestOutputHelper output)
{
    private static readonly ExploreOptions AnyTime = new() { TimersFireAnyTime = true };
    private static readonly int[] Two = [1, 2];
    private static readonly int[] Seven = [1, 2, 3, 4, 5, 6, 7];

    [Fact]
    public void TimeLimit_ThatRunsOutAtAnyTime_GivesOneOutcome() => output.Explored(
        static async () =>
        {
            int ended = 0;
            ItemOutcome<int, int>[] outcomes = await Two.SelectParallelOutcomesAsync(
                async (item, token) =>
                {
                    await Task.Yield();
                    Interlocked.Increment(ref ended);
                    return item;
                },
                new ParallelRunOptions { MaxDegreeOfParallelism = 1, PerItemTimeout = TimeSpan.FromMilliseconds(10) });
            Assert.All(outcomes, static o => Assert.True(o.IsSuccess || o.Status == ItemStatus.TimedOut));
            Assert.InRange(outcomes.Count(static o => o.IsSuccess), 0, ended);
        },
        AnyTime);

    [Fact]
    public void TimeLimit_OfCallsThatShareAPolicy_EndsEachInItsOwnWay() => output.Explored(
        static async () =>
        {
            TimeSpan limit = TimeSpan.FromMilliseconds(10);
            TimeoutPolicy<int> policy = new(new TimeoutOptions { Timeout = limit });
            await Task.WhenAll(Task.Run(() => CallTwiceAsync(10)), Task.Run(() => CallTwiceAsync(20)));

            async Task CallTwiceAsync(int own)
            {
                for (int i = 1; i <= 2; i++)
                {
                    long begin = TimeProvider.System.GetTimestamp();
                    try
                    {
                        Assert.Equal(own + i, await policy.ExecuteAsync(Calls.YieldedAsync, own + i));
                    }
                    catch (OperationCanceledException late)
                    {
                        // Not one that an older call of the same scope has left behind.
                        Assert.IsAssignableFrom<TimeoutException>(late.InnerException);
                        Assert.InRange(TimeProvider.System.GetElapsedTime(begin), limit, TimeSpan.MaxValue);
                    }
                }
            }
        },
        AnyTime);

    [Fact]
    public void Watch_ThatLooksAtAnyTime_SharesEachItemOnce() => output.Explored(
        static async () =>
        {
            await using ConcurrentRuntime runtime = new(concurrencyPerCall: 2);
            int calls = 0;
            ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(
                Seven, (item, token) => new ValueTask<int>(item + (0 * Interlocked.Increment(ref calls))));
            Assert.Equal(7, calls);
            Assert.Equal(Seven, outcomes.Select(static o => o.Value));
        },
        AnyTime);

    [Fact]
    public void BatchTimeout_AtAnyTime_GivesEachItemOneOutcome() => output.Explored(
        static async () =>
        {
            await using ConcurrentRuntime runtime = new(concurrencyPerCall: 1);
            int calls = 0;
            ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(
                Seven,
                (item, token) => new ValueTask<int>(item + (0 * Interlocked.Increment(ref calls))),
                new ProcessManyOptions { TotalTimeout = TimeSpan.FromMilliseconds(20) });
            ItemStatus[] told = [.. outcomes.Select(static o => o.Status)];

            // Until nobody else can run: whoever is late changes nothing.
            await Task.Delay(TimeSpan.FromSeconds(1), TimeProvider.System);
            Assert.Equal(told, outcomes.Select(static o => o.Status));
            Assert.InRange(calls, told.Count(static s => s == ItemStatus.Succeeded), told.Count(static s => s != ItemStatus.NotRun));
        },
        AnyTime);

    [Fact]
    public void Timer_OfABatchThatBecameFull_LeavesTheNextBatchItsTime() => output.Explored(
        static async () =>
        {
            TimeSpan limit = TimeSpan.FromMilliseconds(10);
            TaskCompletionSource second = new();
            long begun = 0;
            TimeSpan waited = TimeSpan.MaxValue;
            await Items().ForEachBatchParallelAsync(
                2,
                (batch, _) =>
                {
                    if (batch is [3])
                    {
                        waited = TimeProvider.System.GetElapsedTime(Volatile.Read(ref begun));
                    }

                    if (batch[^1] == 3)
                    {
                        second.SetResult();
                    }

                    return default;
                },
                new ParallelRunOptions { MaxDegreeOfParallelism = 1 },
                limit);
            Assert.InRange(waited, limit, TimeSpan.MaxValue);

            async IAsyncEnumerable<int> Items()
            {
                yield return 1;
                await Task.Yield();
                yield return 2;

                // If both are in one batch, the next one begins after this, and never becomes full.
                Volatile.Write(ref begun, TimeProvider.System.GetTimestamp());
                yield return 3;
                await second.Task;
            }
        },
        AnyTime);
}
