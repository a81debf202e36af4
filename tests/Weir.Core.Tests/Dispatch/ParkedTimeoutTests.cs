using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Core.Tests.Dispatch;

/// <summary>Items whose calls are parked, and which are given up: at their own deadline, or because their run has to end.</summary>
public class ParkedTimeoutTests
{
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(100);
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan Tick = TimeSpan.FromTicks(1);

    private readonly ManualTimeProvider _time = new();
    private readonly ManualExecutor _executor = new();
    private Pump _pump = null!;

    [Fact(Timeout = 90_000)]
    public async Task Deadline_OfEachParkedItem_IsItsOwn()
    {
        const int count = 6;
        TaskCompletionSource<int>[] items = Pending(count);
        CancellationToken[] tokens = new CancellationToken[count];
        Task<ItemOutcome<int, int>[]> run = Start(count, (x, token) =>
        {
            tokens[x] = token;
            _time.Advance(Second);
            return new ValueTask<int>(items[x].Task);
        });
        _executor.RunAll();
        items[2].SetResult(2);

        // The first began when the clock stood at zero, and each of the others a second after the one before it.
        _time.Advance(Limit - (Second * count) - Tick);
        for (int x = 0; x < count; x++)
        {
            Assert.False(tokens[x].IsCancellationRequested);
            _time.Advance(Tick);
            Assert.Equal(x != 2, tokens[x].IsCancellationRequested);
            _time.Advance(Second - Tick);
        }

        Assert.False(run.IsCompleted, "The outcomes have yet to be recorded, on a thread of the run.");
        _executor.RunAll();
        ItemOutcome<int, int>[] outcomes = await run.WithinAsync();
        Assert.Equal(Enumerable.Range(0, count).Select(static x => x == 2 ? ItemStatus.Succeeded : ItemStatus.TimedOut), outcomes.Select(static o => o.Status));
        Assert.Equal(count - 1, _pump.Sample().TimedOut);
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = 90_000)]
    public async Task Call_ThatWasGivenUp_DoesNotTouchALaterRun()
    {
        TaskCompletionSource<int>[] old = Pending(3);
        for (int round = 0; round < 5; round++)
        {
            TaskCompletionSource<int>[] items = Pending(3);
            Task<ItemOutcome<int, int>[]> run = Start(3, (x, _) => new ValueTask<int>(items[x].Task));
            _executor.RunAll();

            // Those of the round before, which nobody waits for any more.
            old[0].TrySetResult(-1);
            old[1].TrySetException(new TestException("late"));
            old[2].TrySetCanceled();
            Assert.Equal(3, _pump.Sample().InFlight);
            items[1].SetResult(1);
            _time.Advance(Limit);
            _executor.RunAll();
            Assert.Equal(
                [ItemStatus.TimedOut, ItemStatus.Succeeded, ItemStatus.TimedOut], (await run.WithinAsync()).Select(static o => o.Status));
            old = items;
        }
    }

    [Theory(Timeout = 90_000)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Abort_WhileCallsAreParked_EndsTheirItemsAtOnce(bool timed)
    {
        TaskCompletionSource<int>[] items = Pending(4);
        TestException error = new("end");
        Task<ItemOutcome<int, int>[]> run = Start(4, (x, _) => new ValueTask<int>(items[x].Task), timed);
        _executor.RunAll();
        items[3].SetResult(3);
        _pump.Abort(ItemStatus.Cancelled, error);
        ItemOutcome<int, int>[] outcomes = await run.WithinAsync();
        items[0].SetResult(0);
        items[1].SetException(new TestException("late"));
        Assert.Equal(3, outcomes[3].Value);
        Assert.All(outcomes[..3], outcome => Assert.Equal((ItemStatus.Cancelled, error), (outcome.Status, outcome.Error)));
        Assert.Equal((1, 3, 0), (_pump.Sample().Succeeded, _pump.Sample().Unsuccessful, _pump.Sample().InFlight));
    }

    [Fact(Timeout = 90_000)]
    public async Task Deadline_OfACallThatBlocks_LeavesTheParkedOnesTheirs()
    {
        TaskCompletionSource<int>[] items = Pending(5);
        Task<ItemOutcome<int, int>[]> run = Start(5, (x, token) =>
        {
            if (x == 2)
            {
                _pump.HelpIfStalled(cores: Environment.ProcessorCount);
                _time.Advance(Limit);
                Assert.True(token.IsCancellationRequested);
            }

            return new ValueTask<int>(items[x].Task);
        });
        _executor.RunAll();
        items[3].SetResult(3);
        items[4].SetResult(4);
        _executor.RunAll();
        Assert.Equal(
            [ItemStatus.TimedOut, ItemStatus.TimedOut, ItemStatus.TimedOut, ItemStatus.Succeeded, ItemStatus.Succeeded],
            (await run.WithinAsync()).Select(static o => o.Status));
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = 90_000)]
    public async Task Stop_WhileCallsAreParked_CancelsTheirTokens()
    {
        using CancellationTokenSource cancel = new();
        Task<ItemOutcome<int, int>[]> run = Start(
            8,
            static async (_, token) =>
            {
                await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                return 0;
            },
            token: cancel.Token);
        _executor.RunAll();
        await cancel.CancelAsync();
        _executor.RunAll();
        Assert.Equal(cancel.Token, (await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.WithinAsync())).CancellationToken);
        Assert.Equal(0, _time.LiveTimers);
    }

    private static TaskCompletionSource<int>[] Pending(int count) => [.. Enumerable.Range(0, count).Select(static _ => new TaskCompletionSource<int>())];

    private Task<ItemOutcome<int, int>[]> Start(
        int count, Func<int, CancellationToken, ValueTask<int>> selector, bool timed = true, CancellationToken token = default)
    {
        (_pump, Task<ItemOutcome<int, int>[]> task) = OutcomeRun.Make(count, selector, new PumpSettings
        {
            Limit = count,
            ErrorMode = ErrorMode.BestEffort,
            Executor = _executor,
            TimeProvider = _time,
            PerItemTimeout = timed ? Limit : null,
            Guarded = true,
        });
        ManualExecutor.Start(_pump, token);
        return task;
    }
}
