using Weir.Runtimes;
using static Weir.Delivery.Tests.Hosts.ListSource;

namespace Weir.Delivery.Tests.Hosts;

/// <summary>Items that are acknowledged before their batch is done, by a source that can do that.</summary>
public sealed class ItemAcknowledgementTests
{
    private const int Limit = 120_000;
    private static readonly TimeSpan Interval = TimeSpan.FromMilliseconds(50);

    private readonly ManualTimeProvider _clock = new();
    private readonly MemoryDeadLetters _dead = new();

    private WorkHostOptions<int> Options => new() { DeadLetters = _dead, Serializer = IntSerializer.Instance, TimeProvider = _clock };

    [Fact(Timeout = Limit)]
    public async Task Items_DoneBeforeTheirBatch_AreAcknowledgedOnceAfterTheInterval()
    {
        using var gate = new Gate();
        ListSource source = Source([true], Batch(0, 3));
        await using var runtime = new ConcurrentRuntime(3);
        WorkHost<int> host = Host(source, runtime, item => item == 1 ? gate.WaitAsync() : Task.CompletedTask);
        Task run = host.RunAsync();
        await Guard.UntilAsync(() => _clock.IsArmedFor(Interval), "The interval");
        _clock.Advance(Interval - TimeSpan.FromTicks(1));
        await Guard.SettleAsync();
        Assert.Empty(source.AcknowledgedItems);
        await TickUntilAsync(() => source.AcknowledgedItems.Contains("0: 0 2"), "Both that are done");
        Assert.Equal((2, 0), (host.Statistics.Succeeded, host.Statistics.AcknowledgedBatches));
        int calls = source.AcknowledgedItems.Count;
        await TickAsync();
        await TickAsync();
        Assert.Equal(calls, source.AcknowledgedItems.Count);
        gate.Open();
        await run.WithinAsync();
        Assert.Equal(["0"], source.Acknowledged);
        Assert.Equal((3, 1, 0), (host.Statistics.Succeeded, host.Statistics.AcknowledgedBatches, host.Statistics.Returned));
    }

    [Fact(Timeout = Limit)]
    public async Task Items_ThatTheSourceDidNotAcknowledgeYet_AreSaidAgain()
    {
        using var gate = new Gate();
        ListSource source = Source([false, false, true], Batch(0, 2));
        await using var runtime = new ConcurrentRuntime(2);
        WorkHost<int> host = Host(source, runtime, item => item == 0 ? Task.CompletedTask : gate.WaitAsync());
        Task run = host.RunAsync();
        await TickUntilAsync(() => source.AcknowledgedItems.Count == 3, "Three calls");
        await TickAsync();
        await TickAsync();
        Assert.Equal(["0: 0", "0: 0", "0: 0"], source.AcknowledgedItems);
        gate.Open();
        await run.WithinAsync();
    }

    [Fact(Timeout = Limit)]
    public async Task Batch_AllOfWhoseItemsAreDone_DoesNotWaitForOthersOfItsCall()
    {
        using var gate = new Gate();
        ListSource source = Source([true], Batch(0, 2), Batch(1, 2));
        await using var runtime = new ConcurrentRuntime(4);

        // Both batches are read before the only call begins: the first one waits.
        using var first = new Gate();
        WorkHost<int> host = Host(
            source,
            runtime,
            item => item == 0 ? first.WaitAsync() : item == 101 ? gate.WaitAsync() : Task.CompletedTask,
            o => o with { MaxConcurrentCalls = 1 });
        Task run = host.RunAsync();
        await Guard.UntilAsync(() => host.Statistics.Read == 4, "Both batches");
        first.Open();
        await TickUntilAsync(() => source.AcknowledgedItems.Contains("1: 0"), "The item beside the one that waits");
        await Guard.UntilAsync(() => source.AcknowledgedSoFar() is ["0"], "The batch before it");
        gate.Open();
        await run.WithinAsync();
        Assert.Equal(["0", "1"], source.Acknowledged);
        Assert.Equal((4, 2), (host.Statistics.Succeeded, host.Statistics.AcknowledgedBatches));
    }

    [Fact(Timeout = Limit)]
    public async Task Item_AcknowledgedAndThenLate_HasOneOutcome()
    {
        using var gate = new Gate();
        using var late = new Gate();
        ListSource source = Source([true], Batch(0, 2));
        await using var runtime = new ConcurrentRuntime(2, new RuntimeOptions { TimeProvider = _clock });
        int begun = 0;

        // It returns after its limit, whatever its token says.
        WorkHost<int> host = Host(
            source,
            runtime,
            item =>
            {
                Interlocked.Increment(ref begun);
                return item == 0 ? late.WaitAsync() : gate.WaitAsync();
            },
            o => o with { PerItemTimeout = Interval * 20, MaxAttempts = 1 });
        Task run = host.RunAsync();
        await Guard.UntilAsync(() => Volatile.Read(ref begun) == 2, "Both");
        _clock.Advance(Interval * 21);
        late.Open();
        await TickUntilAsync(() => source.AcknowledgedItems.Contains("0: 0") || host.Statistics.Failed > 0, "An outcome");
        gate.Open();
        await run.WithinAsync();
        Assert.Equal(2, host.Statistics.Succeeded + host.Statistics.Failed);
        Assert.Equal(host.Statistics.Failed, host.Statistics.DeadLettered);
        Assert.Equal(["0"], source.Acknowledged);
    }

    [Theory(Timeout = Limit)]
    [InlineData("sink")]
    [InlineData("receipt")]
    [InlineData("whole")]
    public async Task Source_OrHostThatTakesWholeBatches_IsNotAsked(string kind)
    {
        using var gate = new Gate();
        ListSource source = kind == "whole" ? new ListSource(AcknowledgementOrder.Any, Batch(0, 2)) : Source([true], Batch(0, 2));
        await using var runtime = new ConcurrentRuntime(2);
        WorkHostOptions<int> options = Options with
        {
            Acknowledge = kind == "receipt" ? AcknowledgePoint.OnReceipt : AcknowledgePoint.AfterProcessing,
        };
        async ValueTask<string> Process(WorkItem<int> item, CancellationToken token)
        {
            await (item.Value == 0 ? Task.CompletedTask : gate.WaitAsync(token));
            return $"{item.Value}";
        }

        Task run = kind == "sink"
            ? WorkHost.Create(source, runtime, Process, new RecordedSink(), options).RunAsync()
            : new WorkHost<int>(source, runtime, async (item, token) => await Process(item, token), options).RunAsync();
        await Guard.SettleAsync();
        Assert.False(_clock.IsArmedFor(Interval));
        await TickAsync();
        gate.Open();
        await run.WithinAsync();
        Assert.Empty(source.AcknowledgedItems);
        Assert.Equal(["0"], source.Acknowledged);
    }

    [Fact(Timeout = Limit)]
    public async Task Interval_WhileNothingIsInFlight_DoesNotRun()
    {
        using var gate = new Gate();
        using var stop = new CancellationTokenSource();
        ListSource source = Source([true], false, Batch(0, 1));
        await using var runtime = new ConcurrentRuntime(1);
        Task run = Host(source, runtime, _ => gate.WaitAsync()).RunAsync(stop.Token);
        await Guard.UntilAsync(() => _clock.IsArmedFor(Interval), "The interval");
        gate.Open();
        await Guard.UntilAsync(() => source.AcknowledgedSoFar() is ["0"], "The batch");
        await TickAsync();
        await Guard.UntilAsync(() => _clock.ArmedTimers == 0, "No timer");
        Assert.Empty(source.AcknowledgedItems);
        await stop.CancelAsync();
        await run.WithinAsync();
        Assert.Equal(0, _clock.LiveTimers);
    }

    [Fact(Timeout = Limit)]
    public async Task Call_ThatFails_IsRepeatedAndNothingIsLost()
    {
        using var gate = new Gate();
        int calls = 0;
        var source = new ListSource(AcknowledgementOrder.Any, Batch(0, 2))
        {
            AcknowledgesItems = () => ++calls == 1 ? throw new TimeoutException("The server is away.") : true,
        };
        await using var runtime = new ConcurrentRuntime(2);
        WorkHost<int> host = Host(source, runtime, item => item == 0 ? Task.CompletedTask : gate.WaitAsync());
        Task run = host.RunAsync();
        await TickUntilAsync(() => Volatile.Read(ref calls) == 2, "The second call", TimeSpan.FromSeconds(5));
        Assert.Equal(1, host.Statistics.Faults);
        gate.Open();
        await run.WithinAsync();
        Assert.Equal((2, 1), (host.Statistics.Succeeded, host.Statistics.AcknowledgedBatches));
    }

    [Fact(Timeout = Limit)]
    public async Task Stop_ItemsOfABatchAreAcknowledged_ReturnsTheOthersOfIt()
    {
        using var gate = new Gate();
        using var stop = new CancellationTokenSource();
        ListSource source = Source([true], false, Batch(0, 3));
        await using var runtime = new ConcurrentRuntime(3);
        var host = new WorkHost<int>(
            source,
            runtime,
            async (item, token) => await (item.Value == 0 ? Task.CompletedTask : gate.WaitAsync(token)),
            Options with { GracePeriod = TimeSpan.Zero });
        Task run = host.RunAsync(stop.Token);
        await TickUntilAsync(() => source.AcknowledgedItems.Contains("0: 0"), "The first");
        await stop.CancelAsync();
        await TickUntilAsync(() => run.IsCompleted, "The end");
        await run;
        Assert.Equal((1, 2), (host.Statistics.Succeeded, host.Statistics.Returned));
    }

    /// <summary>A source that can acknowledge single items, and says so at each call, the last word for all that follow.</summary>
    private static ListSource Source(bool[] answers, params WorkBatch<int>[] batches) => Source(answers, true, batches);

    private static ListSource Source(bool[] answers, bool ends, params WorkBatch<int>[] batches)
    {
        int calls = 0;
        return new ListSource(AcknowledgementOrder.Any, batches)
        {
            Ends = ends,
            AcknowledgesItems = () => answers[Math.Min(calls++, answers.Length - 1)],
        };
    }

    private WorkHost<int> Host(
        ListSource source, IExecutionRuntime runtime, Func<int, Task> process, Func<WorkHostOptions<int>, WorkHostOptions<int>>? change = null) =>
        new(source, runtime, async (item, _) => await process(item.Value), change is null ? Options : change(Options));

    /// <summary>Lets intervals pass until something has happened: the items end on other threads, at some moment.</summary>
    private Task TickUntilAsync(Func<bool> condition, string what, TimeSpan? step = null) => Guard.UntilAsync(
        () =>
        {
            if (!condition())
            {
                _clock.Advance(step ?? Interval);
            }

            return condition();
        },
        what);

    private async Task TickAsync()
    {
        _clock.Advance(Interval);
        await Guard.SettleAsync();
    }
}
