#if DEBUG
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir.Core.Tests.Dispatch;

/// <summary>
/// Who has a worker's parked calls: the worker alone adds to them, and its timer looks through them.
/// </summary>
public sealed class ParkedRaceTests : IDisposable
{
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(100);
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _time = new();
    private readonly ManualExecutor _executor = new();
    private int _thread;
    private string? _place;
    private Action? _then;

    public ParkedRaceTests() => FaultPoint.Passed += AtPlace;

    public void Dispose() => FaultPoint.Passed -= AtPlace;

    [Fact(Timeout = 90_000)]
    public async Task Deadlines_LookedThroughAsTheRunEnds_GiveUpNoMore()
    {
        TaskCompletionSource<int>[] items = Pending(4);
        Task<ItemOutcome<int, int>[]> run = Start(4, (x, _) =>
        {
            _time.Advance(Second);
            return new ValueTask<int>(items[x].Task);
        });
        _executor.RunAll();

        // The first call was given up and waits for ever; the timer is on for the second.
        _time.Advance(Limit - (4 * Second));
        _executor.RunAll();
        bool ended = false;
        At("PumpWorker.CheckParkedDeadlines", () =>
        {
            // The timer has begun to look: the run ends.
            for (int x = 1; x < 4; x++)
            {
                items[x].SetResult(x);
            }

            _executor.RunAll();
            Assert.True(SpinWait.SpinUntil(() => run.IsCompleted, TimeSpan.FromSeconds(60)), "The run ends on the pool.");
            ended = true;
        });
        _time.Advance(Second);
        Assert.True(ended);
        _executor.RunAll();
        Assert.Equal(
            [ItemStatus.TimedOut, ItemStatus.Succeeded, ItemStatus.Succeeded, ItemStatus.Succeeded],
            (await run.WithinAsync()).Select(static outcome => outcome.Status));
        items[0].SetResult(0);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(5)]
    public async Task Deadline_AsACallIsParked_LeavesTheOthersTheirOwnCalls(int count)
    {
        TaskCompletionSource<int>[] items = Pending(count);
        Task<ItemOutcome<int, int>[]> run = Start(count, (x, _) => new ValueTask<int>(items[x].Task));
        At("PumpWorker.Park", () =>
        {
            // The worker is between two steps of taking a call, and its item's time is over.
            _time.Advance(Limit);
            _executor.RunAll();
        });
        _executor.RunAll();
        Assert.Null(_then);
        _time.Advance(Second);
        _executor.RunAll();
        for (int x = 1; x < count; x += 2)
        {
            items[x].SetResult(x);
        }

        _time.Advance(Limit);
        _executor.RunAll();
        ItemOutcome<int, int>[] outcomes = await run.WithinAsync();
        Assert.Equal(
            Enumerable.Range(0, count).Select(static x => x % 2 == 0 ? ItemStatus.TimedOut : ItemStatus.Succeeded),
            outcomes.Select(static outcome => outcome.Status));
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Memory_RunsOutAsACallIsParked_FailsItsItemAlone(bool guarded)
    {
        TaskCompletionSource<int>[] items = Pending(3);
        Task<ItemOutcome<int, int>[]> run = Start(3, (x, _) => new ValueTask<int>(items[x].Task), guarded);
        At("PumpWorker.Park", static () => throw new InsufficientMemoryException());
        _executor.RunAll();
        items[1].SetResult(1);
        items[2].SetResult(2);
        _executor.RunAll();
        ItemOutcome<int, int>[] outcomes = await run.WithinAsync();
        Assert.IsType<InsufficientMemoryException>(outcomes[0].Error);
        Assert.Equal([1, 2], outcomes[1..].Select(static outcome => outcome.Value));
    }

    [Fact(Timeout = 90_000)]
    public async Task Abort_AfterTheEnd_GivesUpNothing()
    {
        TaskCompletionSource<int>[] items = Pending(2);
        (Pump pump, Task<ItemOutcome<int, int>[]> run) = Make(2, (x, _) => new ValueTask<int>(items[x].Task), true);
        ManualExecutor.Start(pump);
        _executor.RunAll();
        items[0].SetResult(0);
        items[1].SetResult(1);
        Assert.Equal([0, 1], (await run.WithinAsync()).Select(static outcome => outcome.Value));
        pump.Abort(ItemStatus.Cancelled, null);
        Assert.Equal((2, 0), (pump.Sample().Succeeded, pump.Sample().Unsuccessful));
    }

    private static TaskCompletionSource<int>[] Pending(int count) => [.. Enumerable.Range(0, count).Select(static _ => new TaskCompletionSource<int>())];

    private void At(string place, Action then) => (_place, _then, _thread) = (place, then, Environment.CurrentManagedThreadId);

    private void AtPlace(string place, object owner)
    {
        if (place == _place && Environment.CurrentManagedThreadId == _thread && Interlocked.Exchange(ref _then, null) is { } then)
        {
            then();
        }
    }

    private (Pump Pump, Task<ItemOutcome<int, int>[]> Task) Make(int count, Func<int, CancellationToken, ValueTask<int>> selector, bool guarded) =>
        OutcomeRun.Make(count, selector, new PumpSettings
        {
            Limit = count,
            ErrorMode = ErrorMode.BestEffort,
            Executor = _executor,
            TimeProvider = _time,
            PerItemTimeout = guarded ? Limit : null,
        });

    private Task<ItemOutcome<int, int>[]> Start(int count, Func<int, CancellationToken, ValueTask<int>> selector, bool guarded = true)
    {
        (Pump pump, Task<ItemOutcome<int, int>[]> task) = Make(count, selector, guarded);
        ManualExecutor.Start(pump);
        return task;
    }
}
#endif
