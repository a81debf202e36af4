using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Core.Tests.Dispatch;

/// <summary>Attempts that are repeated: where items wait, when they come back, and how the run ends.</summary>
public class RecoveryTests
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _time = new();
    private readonly ManualExecutor _executor = new();

    [Fact(Timeout = 90_000)]
    public async Task Retry_WhileAnItemWaits_ItsWorkerRunsTheOthers()
    {
        List<string> calls = [];
        ScriptedRecovery recovery = new(static call => Decision<int>.Retry(Second));
        (Pump pump, Task<ItemOutcome<int, int>[]> task) = Start(4, 1, recovery, (x, _) =>
        {
            calls.Add($"{x}@{_time.GetTimestamp() / TimeSpan.TicksPerSecond}");
            return x == 0 && calls.Count == 1 ? throw new FormatException() : new ValueTask<int>(x);
        });
        _executor.RunAll();
        Assert.Equal(["0@0", "1@0", "2@0", "3@0"], calls);
        Assert.False(task.IsCompleted);
        _time.Advance(Second);
        _executor.RunAll();
        Assert.Equal("0@1", calls[^1]);
        Assert.All(await task, static o => Assert.True(o.IsSuccess));
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = 90_000)]
    public async Task Retry_SeveralTimes_TellsAttemptAndDelayEachTime()
    {
        ScriptedRecovery recovery = new(static call => call.Attempt < 4 ? Decision<int>.Retry(Second * call.Attempt) : Decision<int>.Fails);
        (_, Task<ItemOutcome<int, int>[]> task) = Start(1, 1, recovery, static (_, _) => throw new FormatException());
        for (int i = 0; i < 10; i++)
        {
            _executor.RunAll();
            _time.Advance(Second);
        }

        ItemOutcome<int, int> outcome = (await task)[0];
        Assert.IsType<FormatException>(outcome.Error);
        Assert.Equal([(1, 0), (2, 1), (3, 2), (4, 3)], recovery.Calls.Select(static c => (c.Attempt, (int)c.PreviousDelay.TotalSeconds)));
    }

    [Fact(Timeout = 90_000)]
    public async Task Defer_AnyNumberOfTimes_CountsNoAttempt()
    {
        int calls = 0;
        ScriptedRecovery recovery = new(static _ => Decision<int>.WaitForCircuit(Second));
        (_, Task<ItemOutcome<int, int>[]> task) = Start(1, 1, recovery, (x, _) => ++calls < 4 ? throw new FormatException() : new ValueTask<int>(x));
        for (int i = 0; i < 4; i++)
        {
            _executor.RunAll();
            _time.Advance(Second);
        }

        Assert.True((await task)[0].IsSuccess);
        Assert.All(recovery.Calls, static c => Assert.Equal(1, c.Attempt));
    }

    [Fact(Timeout = 90_000)]
    public async Task Succeed_InPlaceOfAFailure_IsTheItemsResult()
    {
        ScriptedRecovery recovery = new(static call => Decision<int>.Succeed(-1));
        (_, Task<ItemOutcome<int, int>[]> task) = Start(2, 1, recovery, static (x, _) => x == 1 ? throw new FormatException() : new ValueTask<int>(x));
        _executor.RunAll();
        Assert.Equal([0, -1], (await task).Select(static o => o.Value));
    }

    [Fact(Timeout = 90_000)]
    public async Task Decision_ThatThrows_IsTheItemsFailure()
    {
        (_, Task<ItemOutcome<int, int>[]> task) = Start(
            1, 1, new ScriptedRecovery(static call => throw new InvalidTimeZoneException()), static (x, _) => throw new FormatException());
        _executor.RunAll();
        Assert.IsType<InvalidTimeZoneException>((await task)[0].Error);
    }

    [Fact(Timeout = 90_000)]
    public async Task Stop_WithItemsWaiting_EndsTheRunAndTheyAreCancelled()
    {
        (Pump pump, Task<ItemOutcome<int, int>[]> task) = Start(
            3, 1, new ScriptedRecovery(static _ => Decision<int>.Retry(Second)), static (x, _) => x == 1 ? throw new FormatException() : new ValueTask<int>(x));
        _executor.RunAll();
        Assert.False(task.IsCompleted);
        pump.Stop();
        Assert.Equal(
            [ItemStatus.Succeeded, ItemStatus.Cancelled, ItemStatus.Succeeded], (await task).Select(static o => o.Status));
        Assert.Equal(0, _time.LiveTimers);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Stop_WithItemsDueAndNotClaimed_TellsThoseThatWereAttempted(bool seenByAWorker)
    {
        // Item 1 is attempted and waits for another attempt, item 2 is put off without one, and item 3 never comes up.
        Pump? pump = null;
        (pump, Task<ItemOutcome<int, int>[]> task) = Start(
            4,
            1,
            new ScriptedRecovery(static call => call.Index == 1 ? Decision<int>.Retry(Second) : Decision<int>.WaitForCircuit(Second)),
            (x, _) =>
            {
                if (x == 3)
                {
                    _time.Advance(Second);
                    pump!.Stop();
                    return new ValueTask<int>(x);
                }

                return x is 1 or 2 ? throw new FormatException() : new ValueTask<int>(x);
            });
        if (seenByAWorker)
        {
            _executor.RunAll();
        }
        else
        {
            _executor.RunOne();
            pump!.Stop();
            _executor.RunAll();
        }

        Assert.Equal(
            [ItemStatus.Succeeded, ItemStatus.Cancelled, ItemStatus.NotRun, ItemStatus.Succeeded], (await task).Select(static o => o.Status));
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = 90_000)]
    public async Task Stop_WithItemsPutOffWithoutAnAttempt_SaysThatTheyNeverRan()
    {
        (Pump pump, Task<ItemOutcome<int, int>[]> task) = Start(
            3, 1, new ScriptedRecovery(static _ => Decision<int>.WaitForCircuit(Second)), static (x, _) => x == 1 ? throw new FormatException() : new ValueTask<int>(x));
        _executor.RunAll();
        pump.Stop();
        Assert.Equal(
            [ItemStatus.Succeeded, ItemStatus.NotRun, ItemStatus.Succeeded], (await task).Select(static o => o.Status));
    }

    [Fact(Timeout = 90_000)]
    public async Task Backlog_WhenEverythingFails_HoldsBackNewItems()
    {
        int calls = 0;
        bool heals = false;
        (_, Task<ItemOutcome<int, int>[]> task) = Start(10_000, 2, new ScriptedRecovery(static _ => Decision<int>.Retry(Second)), (x, _) =>
        {
            calls++;
            return heals ? new ValueTask<int>(x) : throw new FormatException();
        });
        _executor.RunAll();

        // The bound, and at most the chunk that was claimed last.
        Assert.InRange(calls, 1024 + (4 * 2), 1024 + (4 * 2) + 256);
        int failed = calls;
        heals = true;
        _time.Advance(Second);
        _executor.RunAll();
        ItemOutcome<int, int>[] outcomes = await task;
        Assert.All(outcomes.Index(), static o => Assert.Equal(o.Index, o.Item.Value));
        Assert.Equal(10_000 + failed, calls);
    }

    [Fact(Timeout = 90_000)]
    public async Task ItemTimeout_OverSeveralAttempts_IsOneLimitForAll()
    {
        ScriptedRecovery recovery = new(static call => call.IsFinal ? Decision<int>.Fails : Decision<int>.Retry(Second * 4));
        (_, Task<ItemOutcome<int, int>[]> task) = Start(1, 1, recovery, static (_, _) => throw new FormatException(), itemTimeout: Second * 10);
        for (int i = 0; i < 12; i++)
        {
            _executor.RunAll();
            _time.Advance(Second);
        }

        ItemOutcome<int, int> outcome = (await task)[0];
        Assert.Equal(ItemStatus.TimedOut, outcome.Status);
        Assert.IsType<ItemTimeoutException>(outcome.Error!.InnerException);

        // Attempts at 0, 4 and 8 seconds; the next would be at 12, and the limit at 10 is not slept through.
        Assert.Equal(4, recovery.Calls.Count);
        Assert.True(recovery.Calls[^1].IsFinal);
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = 90_000)]
    public async Task AttemptTimeout_OfACallThatNeverReturns_IsAFailureThatMayBeRepeated()
    {
        int calls = 0;
        TaskCompletionSource<int> never = new();
        ScriptedRecovery recovery = new(static call => call.IsFinal ? Decision<int>.Fails : Decision<int>.Retry(Second)) { AttemptTimeout = Second * 3 };
        (_, Task<ItemOutcome<int, int>[]> task) = Start(1, 1, recovery, (x, _) => ++calls == 1 ? new ValueTask<int>(never.Task) : new ValueTask<int>(x));
        _executor.RunAll();
        _time.Advance(Second * 3);
        _executor.RunAll();
        Assert.IsAssignableFrom<OperationCanceledException>(recovery.Calls.Single().Error);
        Assert.False(recovery.Calls.Single().IsFinal);
        _time.Advance(Second);
        _executor.RunAll();
        Assert.True((await task)[0].IsSuccess);
        never.SetResult(99);
        _executor.RunAll();
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = 60_000)]
    public async Task Recovery_RandomPlans_GiveEachItemOneOutcome()
    {
        for (int seed = 1; seed <= 200; seed++)
        {
            Random random = new(seed);
            int count = random.Next(1, 60);
            int[] failures = Enumerable.Range(0, count).Select(_ => random.Next(6)).ToArray();
            int[] calls = new int[count];
            int most = random.Next(1, 5);
            ScriptedRecovery recovery = new(call => call.Attempt > most ? Decision<int>.Fails : Decision<int>.Retry(TimeSpan.FromMilliseconds(seed % 7)));
            ManualExecutor executor = new();
            ManualTimeProvider time = new();
            (_, Task<ItemOutcome<int, int>[]> task) = Start(count, random.Next(1, 9), recovery, (x, _) =>
            {
                calls[x]++;
                return calls[x] <= failures[x] ? throw new FormatException() : new ValueTask<int>(x);
            }, executor: executor, time: time);
            while (!task.IsCompleted)
            {
                while (executor.Queued > 0)
                {
                    executor.RunOne(random.Next(executor.Queued));
                }

                time.Advance(TimeSpan.FromMilliseconds(random.Next(1, 5)));
                await Task.Yield();
            }

            ItemOutcome<int, int>[] outcomes = await task;
            for (int i = 0; i < count; i++)
            {
                Assert.Equal(failures[i] <= most ? ItemStatus.Succeeded : ItemStatus.Failed, outcomes[i].Status);
                Assert.Equal(Math.Min(failures[i], most) + 1, calls[i]);
            }

            Assert.Equal(0, time.LiveTimers);
        }
    }

    private (Pump Pump, Task<ItemOutcome<int, int>[]> Task) Start(
        int count,
        int limit,
        ScriptedRecovery recovery,
        Func<int, CancellationToken, ValueTask<int>> selector,
        TimeSpan? itemTimeout = null,
        ManualExecutor? executor = null,
        ManualTimeProvider? time = null)
    {
        PumpSettings settings = new()
        {
            Limit = limit,
            ErrorMode = ErrorMode.BestEffort,
            Executor = executor ?? _executor,
            TimeProvider = time ?? _time,
            PerItemTimeout = itemTimeout,
        };
        (Pump Pump, Task<ItemOutcome<int, int>[]> Task) run = OutcomeRun.Make(count, selector, settings, recovery);
        ManualExecutor.Start(run.Pump);
        return run;
    }
}
