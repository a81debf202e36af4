using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Core.Tests.Dispatch.Adaptive;

/// <summary>The limit at work in a run whose every step the test makes.</summary>
public class AdaptiveRunTests
{
    private readonly ManualTimeProvider _clock = new();
    private readonly ManualExecutor _executor = new();

    [Fact(Timeout = 90_000)]
    public async Task Limit_Lowered_IsKeptFromTheNextCompletionOn()
    {
        // R23: permits taken back one by one, behind the queue for them, took 0.7 s from 32 to 8.
        Calls calls = new(400);
        AdaptiveController controller = Controller(32, AdaptiveConcurrencyStrategy.AIMD);
        (Pump pump, Task<List<int>> task) = Start(calls, controller);
        Assert.Equal(32, calls.Running);
        List<(int Limit, int Running)> seen = [];
        for (int i = 0; i < 400; i++)
        {
            bool failing = i < 100;
            int before = calls.Running;
            calls.End(failing);
            _executor.RunAll();
            seen.Add((controller.Limit, calls.Running));

            // A call that ends is replaced only if the limit still has room for it.
            Assert.True(calls.Running <= Math.Max(controller.Limit, before - 1), $"{calls.Running} running under {controller.Limit}, {before} before.");
        }

        Assert.Equal(300, (await task).Count);
        Assert.Contains(seen, static s => s is { Limit: 16, Running: 16 });
        Assert.Contains(seen, static s => s is { Limit: 8, Running: 8 });
        Assert.Equal(0, pump.Sample().InFlight);
    }

    [Fact(Timeout = 90_000)]
    public async Task Limit_Raised_IsUsedAtOnce()
    {
        Calls calls = new(300);
        AdaptiveController controller = Controller(8, AdaptiveConcurrencyStrategy.Gradient);
        (_, Task<List<int>> task) = Start(calls, controller);
        for (int i = 0; i < 300; i++)
        {
            if (i % 8 == 0)
            {
                _clock.Advance(TimeSpan.FromMilliseconds(80.0 / controller.Limit));
            }

            calls.End();
            _executor.RunAll();
            Assert.Equal(Math.Min(controller.Limit, 300 - i - 1), calls.Running);
        }

        Assert.Equal(300, (await task).Count);
        Assert.True(controller.Windows > 2);
        Assert.True(controller.Limit > 8);
    }

    [Fact(Timeout = 90_000)]
    public async Task Samples_OfARunThatStops_AreNone()
    {
        Calls calls = new(100);
        AdaptiveController controller = Controller(32, AdaptiveConcurrencyStrategy.AIMD);
        using CancellationTokenSource cancel = new();
        (_, Task<List<int>> task) = Start(calls, controller, cancel.Token);
        await cancel.CancelAsync();
        for (int i = 0; i < 32; i++)
        {
            calls.End(fails: true);
            _executor.RunAll();
        }

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => task);
        Assert.Equal((0, 32), (controller.Windows, controller.Limit));
    }

    [Fact(Timeout = 90_000)]
    public async Task Timeouts_WithCallsThatIgnoreTheirToken_AreFailuresAndCountOnce()
    {
        Calls calls = new(40);
        AdaptiveController controller = Controller(32, AdaptiveConcurrencyStrategy.AIMD);
        (_, Task<List<int>> task) = Start(calls, controller, timeout: TimeSpan.FromSeconds(1));
        Assert.Equal(32, calls.Running);
        _clock.Advance(TimeSpan.FromSeconds(1));
        _executor.RunAll();
        Assert.Equal(16, controller.Limit);
        int windows = controller.Windows;

        // The late ends of those calls say nothing any more: they would have made two further windows.
        for (int i = 0; i < 32; i++)
        {
            calls.End(fails: true);
            _executor.RunAll();
        }

        Assert.Equal((windows, 16), (controller.Windows, controller.Limit));
        while (calls.Running > 0)
        {
            calls.End();
            _executor.RunAll();
        }

        Assert.Equal(8, (await task).Count);
    }

    [Fact(Timeout = 90_000)]
    public async Task Latency_OfACallThatCompletesAtOnce_IsItsOwn()
    {
        AdaptiveController controller = Controller(1, AdaptiveConcurrencyStrategy.Gradient);
        (_, Task<List<int>> task) = Start(50, (x, _) =>
        {
            _clock.Advance(TimeSpan.FromMilliseconds(2));
            return new ValueTask<int>(x);
        }, controller);
        _executor.RunAll();
        Assert.Equal(50, (await task).Count);
        Assert.Equal(TimeSpan.FromMilliseconds(2).Ticks, controller.Law.Baseline, 1.0);
    }

    private AdaptiveController Controller(int initial, AdaptiveConcurrencyStrategy strategy) => new(new AdaptiveSettings
    {
        Min = 1, Max = 64, Initial = initial, SampleInterval = TimeSpan.FromMinutes(1), Increase = strategy, Decrease = strategy, TimeProvider = _clock,
    });

    private (Pump Pump, Task<List<int>> Task) Start(
        Calls calls, AdaptiveController controller, CancellationToken cancellationToken = default, TimeSpan? timeout = null) =>
        Start(calls.Count, (x, _) => calls.Begin(x), controller, cancellationToken, timeout);

    private (Pump Pump, Task<List<int>> Task) Start(
        int count,
        Func<int, CancellationToken, ValueTask<int>> selector,
        AdaptiveController controller,
        CancellationToken cancellationToken = default,
        TimeSpan? timeout = null)
    {
        ListCompletion<int> completion = new(count);
        Task<List<int>> task = completion.Task;
        Pump pump = new Pump<
            int, int, AdaptivePending<int, PendingResult<int>>, AdaptiveCall<int, int, PendingResult<int>, SelectorCall<int, int>>, ListSink<int>>(
            SourceOf.Enumerable(Enumerable.Range(0, count).ToArray()),
            new(new SelectorCall<int, int>(selector), controller),
            new ListSink<int>(completion),
            new PumpSettings
            {
                Limit = controller.Limit, Adaptive = controller, ErrorMode = ErrorMode.BestEffort, Executor = _executor, TimeProvider = _clock,
                PerItemTimeout = timeout,
            });
        ManualExecutor.Start(pump, cancellationToken);
        _executor.RunAll();
        return (pump, task);
    }

    /// <summary>Calls that end when the test says so, the oldest first.</summary>
    private sealed class Calls(int count)
    {
        private readonly Queue<TaskCompletionSource<int>> _running = [];
        private int _begun;

        public int Count => count;

        public int Running => _running.Count;

        public ValueTask<int> Begin(int item)
        {
            TaskCompletionSource<int> call = new();
            _running.Enqueue(call);
            Assert.Equal(_begun++, item);
            return new ValueTask<int>(call.Task);
        }

        public void End(bool fails = false)
        {
            TaskCompletionSource<int> call = _running.Dequeue();
            if (fails)
            {
                call.SetException(new FormatException());
            }
            else
            {
                call.SetResult(0);
            }
        }
    }
}
