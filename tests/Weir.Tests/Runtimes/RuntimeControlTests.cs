using Weir.Runtimes;
using Weir.TestKit;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Runtimes;

/// <summary>A call of any runtime that is paused, resumed, limited and softly stopped.</summary>
public sealed class RuntimeControlTests : IDisposable
{
    private const int Items = 30;
    private readonly RunControl _control = new();
    private readonly SemaphoreSlim _doors = new(0);
    private readonly ConcurrencyProbe _probe = new();

    public void Dispose() => _doors.Dispose();

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Call_PausedBeforeAndInTheMiddle_BeginsNothingUntilItResumes(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        _control.Pause();
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(
            form, runtime, RuntimeRun.Count(Items), ThroughADoorAsync, new ProcessManyOptions { Control = _control });
        await Guard.UntilAsync(() => _control.Snapshot().RunningRuns == 1, "the call");
        await Guard.SettleAsync();
        Assert.Equal(0, _probe.Entered);
        _control.Resume();
        await _probe.EnteredAsync(1);
        _control.Pause();
        _doors.Release(Items);
        await Guard.UntilAsync(() => _control.Snapshot() is { InFlight: 0, Started: > 0 }, "the end of what runs");
        int entered = _probe.Entered;
        await Guard.SettleAsync();
        Assert.Equal((entered, entered), (_probe.Entered, _control.Snapshot().Started));
        _control.Resume();
        Assert.Equal(RuntimeRun.Count(Items), (await call.WithinAsync()).Select(static o => o.Value));
        AssertEnded(Items);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Call_StoppedInTheMiddle_HasNotRunTheItemsThatDidNotBegin(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, new RuntimeOptions { Control = _control });
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(form, runtime, RuntimeRun.Count(500), ThroughADoorAsync);
        await _probe.EnteredAsync(1);
        _control.Stop();
        _doors.Release(500);
        ItemOutcome<int, int>[] outcomes = await call.WithinAsync();
        int begun = _probe.Entered;
        Assert.InRange(begun, 1, 100);
        Assert.Equal(begun, outcomes.Count(static o => o.IsSuccess));
        Assert.Equal(500 - begun, outcomes.Count(static o => o.Status == ItemStatus.NotRun));
        AssertEnded(begun);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Call_PausedAndThenStoppedOrCancelled_Ends(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        _control.Pause();
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(
            form, runtime, RuntimeRun.Count(Items), ThroughADoorAsync, new ProcessManyOptions { Control = _control });
        RunControl other = new();
        other.Pause();
        using CancellationTokenSource cancel = new();
        Task<ItemOutcome<int, int>[]> cancelled = RuntimeRun.Start(
            form, runtime, RuntimeRun.Count(Items), ThroughADoorAsync, new ProcessManyOptions { Control = other }, cancel.Token);
        await Guard.UntilAsync(() => _control.Snapshot().RunningRuns + other.Snapshot().RunningRuns == 2, "both calls");
        _control.Stop();
        Assert.All(await call.WithinAsync(), static o => Assert.Equal(ItemStatus.NotRun, o.Status));
        await cancel.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => cancelled.WithinAsync());
        Assert.Equal((0, 0), (_probe.Entered, other.Snapshot().RunningRuns));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task Runtime_DisposedWhileItsCallIsPaused_GivesUpTheCallAfterItsGracePeriod(string name)
    {
        ManualTimeProvider time = new();
        IExecutionRuntime runtime = RuntimeCases.Create(name, new RuntimeOptions { Control = _control, TimeProvider = time });
        _control.Pause();
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(RunForm.Array, runtime, RuntimeRun.Count(Items), ThroughADoorAsync);
        await Guard.UntilAsync(() => _control.Snapshot().RunningRuns == 1, "the call");
        Task disposed = runtime.DisposeAsync().AsTask();
        await time.AdvanceUntilAsync(disposed, TimeSpan.FromSeconds(30));
        Assert.All(await call.WithinAsync(), static o => Assert.Equal(ItemStatus.NotRun, o.Status));
        Assert.Equal(0, _control.Snapshot().RunningRuns);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData("concurrent 2")]
    [InlineData("parallel 2")]
    public async Task Limit_MovedUpAndDown_IsExact(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(
            RunForm.Stream, runtime, RuntimeRun.Count(40), ThroughADoorAsync, new ProcessManyOptions { Control = _control });
        await _probe.InsideAsync(2);
        _control.MaxDegreeOfParallelism = 6;
        await _probe.InsideAsync(6);
        _control.MaxDegreeOfParallelism = 1;
        _doors.Release(5);
        await _probe.InsideAsync(1);
        await Guard.SettleAsync();
        Assert.Equal((1, 6), (_probe.Inside, _probe.Entered));
        _doors.Release(100);
        Assert.All(await call.WithinAsync(), static o => Assert.True(o.IsSuccess));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task AutoRuntime_WithALimit_TakesItAsACeiling()
    {
        _control.MaxDegreeOfParallelism = 2;
        await using IExecutionRuntime runtime = RuntimeCases.Create("auto 100");
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(
            RunForm.Array, runtime, RuntimeRun.Count(200), ThroughADoorAsync, new ProcessManyOptions { Control = _control });
        for (int i = 0; i < 100; i++)
        {
            _doors.Release(2);
            await _probe.EnteredAsync(2 * (i + 1));
        }

        await call.WithinAsync();
        Assert.InRange(_probe.Most, 1, 2);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task CallsOwnControl_TakesThePlaceOfTheRuntimes()
    {
        RunControl ofRuntime = new();
        ofRuntime.Stop();
        await using ConcurrentRuntime runtime = new(4, new RuntimeOptions { Control = ofRuntime });
        _doors.Release(10);
        ItemOutcome<int, int>[] own = await runtime.ProcessManyAsync(RuntimeRun.Count(10), ThroughADoorAsync, new ProcessManyOptions { Control = _control });
        Assert.All(own, static o => Assert.True(o.IsSuccess));
        Assert.All(await runtime.ProcessManyAsync(RuntimeRun.Count(10), ThroughADoorAsync), static o => Assert.Equal(ItemStatus.NotRun, o.Status));
    }

    private void AssertEnded(long begun)
    {
        RunControlSnapshot end = _control.Snapshot();
        Assert.Equal((0, begun, begun, 0L, 0L), (end.RunningRuns, end.Started, end.Succeeded, end.InFlight, end.Waiting));
    }

    private async ValueTask<int> ThroughADoorAsync(int item, CancellationToken token)
    {
        using (_probe.Enter())
        {
            await _doors.WaitAsync(TimeSpan.FromMinutes(1), token);
            return item;
        }
    }
}
