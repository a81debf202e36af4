#if DEBUG
using Weir.Resilience;
using Weir.Runtimes;
using Weir.TestKit;
using Weir.Tests.Operators.Budgets;
using Weir.Tests.Runtimes;

namespace Weir.Tests.Faults;

/// <summary>
/// Calls of the runtimes and runs with policies, which fail where no caller is above them: at the first such place that they pass, then at the second, and so
/// on. Each ends all the same, with the fault or with all outcomes, and the runtime goes on with other calls.
/// </summary>
[Collection(nameof(Alone))]
public sealed class UnattendedFaultTests : IDisposable
{
    private const int Count = 6;

    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(3);
    private static readonly string[] RuntimeNames = ["direct", "concurrent 3", "parallel 2", "auto 3"];

    private static readonly Dictionary<string, Func<IExecutionRuntime, Task<ItemOutcome<int, int>[]>>> Calls = new()
    {
        ["plain"] = static runtime => Call(runtime, Yields),
        ["item timeout"] = static runtime => Call(runtime, NeverEnds, new ProcessManyOptions { PerItemTimeout = Short }),
        ["batch timeout"] = static runtime => Call(runtime, NeverEnds, new ProcessManyOptions { TotalTimeout = Short }),
        ["cancelled"] = static runtime => Cancelled(runtime, paused: false),
        ["cancelled while paused"] = static runtime => Cancelled(runtime, paused: true),
        ["disposed"] = Disposed,
        ["stream"] = static runtime => RuntimeRun.Start(RunForm.Stream, runtime, RuntimeRun.Count(Count), Yields),
        ["left stream"] = static runtime => LeftStream(runtime, disposed: false),
        ["disposed while a stream rests"] = static runtime => LeftStream(runtime, disposed: true),
    };

    private readonly FaultPlaces _places = new(static (place, _) => place != "Pump.Start");

    public static TheoryData<string, string, int> Cases() =>
        [.. RuntimeNames.SelectMany(static r => Calls.Keys.SelectMany(c => new[] { (r, c, 1), (r, c, 2) }))];

    public void Dispose() => _places.Dispose();

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Cases))]
    public async Task Runtime_CallFailsAtAnyPlace_EndsAndOthersGoOn(string name, string call, int failures)
    {
        bool failed = true;
        for (int at = 1; failed && at <= 60; at++)
        {
            IExecutionRuntime runtime = RuntimeCases.Create(name, new RuntimeOptions { GracePeriod = Short });
            _places.FailAt(at, failures);
            Task<ItemOutcome<int, int>[]> running = Calls[call](runtime);
            await _places.EndsAsync(running, $"A call after a fault at place {at}");
            failed = _places.HasFailed;
            _places.Pass();
            if (running.IsCompletedSuccessfully)
            {
                Assert.All(await running, static (outcome, x) => Assert.True(!outcome.IsSuccess || outcome.Value == x));
            }
            else
            {
                Exception error = await Assert.ThrowsAnyAsync<Exception>(() => running);
                Assert.True(failed || error is OperationCanceledException, error.ToString());
            }

            if (!call.StartsWith("disposed", StringComparison.Ordinal))
            {
                Assert.Equal(Enumerable.Range(0, Count), (await Call(runtime, Yields).WithinAsync()).Select(static outcome => outcome.Value));
            }

            await runtime.DisposeAsync().AsTask().WithinAsync("The end of the runtime");
        }
    }

    [Theory(Timeout = 300_000)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task Run_WaitsForPlacesAndReportsHang_EndsAfterAFaultAnywhere(int failures)
    {
        bool failed = true;
        for (int at = 1; failed && at <= 60; at++)
        {
            SharedConcurrencyLimit limit = new(1);
            await limit.EnterAsync();
            _places.FailAt(at, failures);
            Task run = CancelledRunAsync(limit);
            await _places.EndsAsync(run, $"A run after a fault at place {at}");
            failed = _places.HasFailed;
            _places.Pass();
            Assert.NotNull(run.Exception?.InnerException ?? await Record.ExceptionAsync(() => run));

            // Its items do not stand in the queue any more.
            limit.Leave();
            if (failures == 1)
            {
                await Guard.UntilAsync(() => limit is { Waiting: 0, InUse: 0 }, $"An empty queue after a fault at place {at}");
            }
        }
    }

    [Fact(Timeout = 300_000)]
    public async Task Places_OfTheSources_AreThoseThatAreTested()
    {
        Assert.Empty(await _places.MissedAsync(FaultPlaces.InSources("Weir"), RoundAsync));

        static async Task RoundAsync()
        {
            foreach (string name in RuntimeNames)
            {
                foreach (Func<IExecutionRuntime, Task<ItemOutcome<int, int>[]>> call in Calls.Values)
                {
                    await using IExecutionRuntime runtime = RuntimeCases.Create(name, new RuntimeOptions { GracePeriod = Short });
                    await call(runtime).EndsAsync();
                }
            }

            SharedConcurrencyLimit limit = new(1);
            await limit.EnterAsync();
            await CancelledRunAsync(limit).EndsAsync();
            await ResumedRunAsync().EndsAsync();
        }
    }

    [Theory(Timeout = 300_000)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task Run_WithACheckpoint_EndsAfterAFaultAnywhereAndLetsGoOfIt(int failures)
    {
        bool failed = true;
        for (int at = 1; failed && at <= 60; at++)
        {
            _places.FailAt(at, failures);
            Task run = ResumedRunAsync();
            await _places.EndsAsync(run, $"A run with a checkpoint after a fault at place {at}");
            failed = _places.HasFailed;
            _places.Pass();
            Exception? error = await Record.ExceptionAsync(() => run);
            Assert.True(error is null || failed, error?.ToString());
        }
    }

    // A run whose checkpoint is saved once while it goes on. A second run takes the checkpoint after it.
    private static async Task ResumedRunAsync()
    {
        string file = Path.Combine(Path.GetTempPath(), $"weir-{Guid.NewGuid():N}.done");
        ManualTimeProvider time = new();
        TaskCompletionSource begun = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource go = new(TaskCreationOptions.RunContinuationsAsynchronously);
        ParallelRunOptions options = new() { Resume = Checkpoint.File(file), TimeProvider = time };
        try
        {
            Task run = new[] { 1, 2, 3 }.ForEachParallelAsync(
                async (_, _) =>
                {
                    begun.TrySetResult();
                    await go.Task;
                },
                options);
            await Task.WhenAny(begun.Task, run);
            time.Advance(TimeSpan.FromSeconds(1));
            go.SetResult();
            try
            {
                await run;
            }
            finally
            {
                await new[] { 1, 2, 3 }.ForEachParallelAsync(static (_, _) => default, options);
            }
        }
        finally
        {
            File.Delete(file);
            File.Delete(file + ".lock");
        }
    }

    private static async Task CancelledRunAsync(SharedConcurrencyLimit limit)
    {
        using CancellationTokenSource stop = new();
        Task run = new[] { 1, 2, 3 }.SelectParallelAsync(
            static (x, _) => new ValueTask<int>(x),
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 2,
                ConcurrencyLimit = limit,
                Progress = new ProgressOptions
                {
                    OnProgressAsync = static async _ => await new TaskCompletionSource().Task,
                    ReportInterval = Short,
                    CallbackTimeout = Short * 4,
                },
            },
            stop.Token);
        await Guard.UntilAsync(() => limit.Waiting > 0 || run.IsCompleted, "An item that waits");
        await Task.Delay(Short * 2, TimeProvider.System);
        stop.Cancel();
        await run;
    }

    private static Task<ItemOutcome<int, int>[]> Call(
        IExecutionRuntime runtime, Func<int, CancellationToken, ValueTask<int>> processor, ProcessManyOptions? options = null) =>
        RuntimeRun.Start(RunForm.Array, runtime, RuntimeRun.Count(Count), processor, options);

    private static async Task<ItemOutcome<int, int>[]> Cancelled(IExecutionRuntime runtime, bool paused)
    {
        using CancellationTokenSource stop = new();
        RunControl control = new();
        if (paused)
        {
            control.Pause();
        }

        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(
            RunForm.Array, runtime, RuntimeRun.Count(Count), UntilCancelled, new ProcessManyOptions { Control = control }, stop.Token);
        await Guard.UntilAsync(() => control.Snapshot().RunningRuns == 1 || call.IsCompleted, "The call");
        await Guard.SettleAsync();
        stop.Cancel();
        return await call;
    }

    private static async Task<ItemOutcome<int, int>[]> Disposed(IExecutionRuntime runtime)
    {
        RunControl control = new();
        Task<ItemOutcome<int, int>[]> call = Call(runtime, NeverEnds, new ProcessManyOptions { Control = control });
        await Guard.UntilAsync(() => control.Snapshot().InFlight > 0 || call.IsCompleted, "The call");
        await runtime.DisposeAsync().AsTask().WithinAsync("The end of the runtime");
        return await call;
    }

    private static async Task<ItemOutcome<int, int>[]> LeftStream(IExecutionRuntime runtime, bool disposed)
    {
        using CancellationTokenSource stop = new();
        IAsyncEnumerator<(int Index, ItemOutcome<int, int> Outcome)> stream = runtime.ProcessManyStreamAsync(
            RuntimeRun.Count(Count), static (x, token) => x == 0 ? new ValueTask<int>(x) : UntilCancelled(x, token), true, null, stop.Token)
            .GetAsyncEnumerator();
        await stream.MoveNextAsync().AsTask().WithinAsync("The first outcome");

        // It rests between two steps, and ends there.
        if (disposed)
        {
            await runtime.DisposeAsync().AsTask().WithinAsync("The end of the runtime");
        }
        else
        {
            stop.Cancel();
        }

        await stream.DisposeAsync().AsTask().WithinAsync("The end of the stream");
        return [];
    }

    private static async ValueTask<int> Yields(int x, CancellationToken token)
    {
        await Task.Yield();
        return x;
    }

    private static async ValueTask<int> UntilCancelled(int x, CancellationToken token)
    {
        await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
        return x;
    }

    // It looks at no token.
    private static async ValueTask<int> NeverEnds(int x, CancellationToken token) => await new TaskCompletionSource<int>().Task;
}
#endif
