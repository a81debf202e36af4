using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Core.Tests.Dispatch;

/// <summary>Time limits of items whose start nobody has looked at the clock for: the stall watch says when it first saw them. Looks are made by hand.</summary>
public class ItemClockTests
{
    private const int Count = 8;
    private const int Slow = 5;

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(1);
    private static readonly TimeSpan Tick = TimeSpan.FromTicks(1);

    private readonly ManualTimeProvider _time = new();
    private readonly ManualExecutor _executor = new();
    private Pump _pump = null!;
    private ScriptedRecovery _recovery = null!;
    private Func<CancellationToken, ValueTask<int>> _slow = static _ => default;

    [Theory(Timeout = 90_000)]
    [InlineData(0)]
    [InlineData(10)]
    public async Task ItemTimeout_CallBlocksAndIsSeenLate_EndsItNotBeforeItsTimeAndWithinTheDelay(int milliseconds)
    {
        TimeSpan late = TimeSpan.FromMilliseconds(milliseconds);
        _slow = token =>
        {
            _time.Advance(late);
            OnWatch();
            _time.Advance(Limit - late - Tick);
            Assert.False(token.IsCancellationRequested);
            _time.Advance(late + Tick);
            Assert.True(token.IsCancellationRequested);
            return default;
        };
        AssertSlowTimedOut(await RunAsync(Limit, null));
    }

    [Fact(Timeout = 90_000)]
    public async Task ItemTimeout_CallIsNotSeenAtTheTimersLook_GetsAtLeastItsTime()
    {
        // The item before it takes all of the time that the timer was set to.
        _slow = token =>
        {
            OnWatch();
            _time.Advance(Limit - Tick);
            Assert.False(token.IsCancellationRequested);
            return new ValueTask<int>(Slow);
        };
        ItemOutcome<int, int>[] outcomes = await RunAsync(Limit, null, before: () => _time.Advance(Limit - Tick));
        Assert.All(outcomes, static o => Assert.True(o.IsSuccess));
    }

    [Fact(Timeout = 90_000)]
    public async Task ItemTimeout_CallSuspendsAfterAWhile_CountsFromTheStart()
    {
        TaskCompletionSource<int> never = new();
        _slow = _ =>
        {
            OnWatch();
            _time.Advance(Limit / 2);
            return new ValueTask<int>(never.Task);
        };
        Task<ItemOutcome<int, int>[]> run = RunAsync(Limit, null);
        _time.Advance((Limit / 2) - Tick);
        _executor.RunAll();
        Assert.False(run.IsCompleted);
        _time.Advance(Tick);
        _executor.RunAll();
        AssertSlowTimedOut(await run);
    }

    [Fact(Timeout = 90_000)]
    public async Task ItemTimeout_CallFailsAfterAWhile_LeavesTheNextAttemptTheRest()
    {
        bool first = true;
        _slow = token =>
        {
            OnWatch();
            _time.Advance(Limit * 0.75);
            if (!first)
            {
                return default;
            }

            first = false;
            throw new FormatException();
        };
        Task<ItemOutcome<int, int>[]> run = RunAsync(Limit, null);
        _time.Advance(Pause);
        _executor.RunAll();
        AssertSlowTimedOut(await run);
        Assert.Equal([false, true], _recovery.Calls.Select(static f => f.IsFinal));
    }

    [Fact(Timeout = 90_000)]
    public async Task AttemptTimeout_CallBlocks_EndsTheAttemptAndNotTheItem()
    {
        int attempts = 0;
        _slow = token =>
        {
            OnWatch();
            _time.Advance(attempts++ == 0 ? Limit : Limit - Tick);
            Assert.Equal(attempts == 1, token.IsCancellationRequested);
            return new ValueTask<int>(Slow);
        };
        Task<ItemOutcome<int, int>[]> run = RunAsync(null, Limit);
        _time.Advance(Pause);
        _executor.RunAll();
        Assert.All(await run, static o => Assert.True(o.IsSuccess));
        Assert.Equal(2, attempts);
    }

    [Fact(Timeout = 90_000)]
    public void Guard_ItemMovesOn_IsKnownFromItsFirstSightUntilTheNextItem()
    {
        ItemGuard guard = new();
        long first = guard.Begin();
        Assert.Null(guard.SeenAt(first));
        Assert.False(guard.RecordSeen(first, 3));
        Assert.True(guard.RecordSeen(first, 4));
        Assert.False(guard.RecordSeen(ItemWord.In(first, ItemWord.Waiting), 5));
        Assert.Equal(3, guard.SeenAt(first));
        long second = guard.Begin();
        Assert.Null(guard.SeenAt(second));
        Assert.False(guard.RecordSeen(second, 6));
        Assert.Equal(6, guard.SeenAt(second));
        Assert.Null(guard.SeenAt(first));
    }

    private static void AssertSlowTimedOut(ItemOutcome<int, int>[] outcomes)
    {
        for (int i = 0; i < Count; i++)
        {
            Assert.Equal(i == Slow ? ItemStatus.TimedOut : ItemStatus.Succeeded, outcomes[i].Status);
        }
    }

    private void OnWatch() => _pump.HelpIfStalled(cores: Environment.ProcessorCount);

    /// <summary>Runs items one after the other, all of them quick but one.</summary>
    private Task<ItemOutcome<int, int>[]> RunAsync(TimeSpan? itemTimeout, TimeSpan? attemptTimeout, Action? before = null)
    {
        PumpSettings settings = new()
        {
            Limit = 1,
            ErrorMode = ErrorMode.BestEffort,
            Executor = _executor,
            TimeProvider = _time,
            PerItemTimeout = itemTimeout,
        };
        (_pump, Task<ItemOutcome<int, int>[]> task) = OutcomeRun.Make(
            Count,
            (x, token) =>
            {
                if (x == Slow - 1)
                {
                    before?.Invoke();
                }

                return x == Slow ? _slow(token) : new ValueTask<int>(x);
            },
            settings,
            _recovery = new(static call => call.IsFinal ? Decision<int>.Fails : Decision<int>.Retry(Pause)) { AttemptTimeout = attemptTimeout });
        _pump.SeesStarts = true;

        // The test looks by itself.
        ManualExecutor.Start(_pump);
        _executor.RunAll();
        return task;
    }
}
