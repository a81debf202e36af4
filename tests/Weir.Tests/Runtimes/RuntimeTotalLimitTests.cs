using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Tests.Runtimes;

/// <summary>A limit over all calls of a runtime: exact, shared with others if wanted, and without a place that is lost.</summary>
public sealed class RuntimeTotalLimitTests : IDisposable
{
    private readonly Gate _gate = new();

    public static TheoryData<string> Names => ["direct", "concurrent 8", "parallel 2", "auto 8"];

    public void Dispose() => _gate.Dispose();

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task ManyCallers_OneRuntime_NeverExceedItsTotal(string name, RunForm form)
    {
        const int total = 3;
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, new RuntimeOptions { TotalConcurrency = total });
        ConcurrencyProbe probe = new();
        async ValueTask<int> ProcessAsync(int item, CancellationToken token)
        {
            using (probe.Enter())
            {
                await Task.Yield();
                return item % 7 == 6 ? throw new TestException("item") : item;
            }
        }

        ItemOutcome<int, int>[][] all = await Task.WhenAll(
            Enumerable.Range(0, 12).Select(_ => RuntimeRun.Start(form, runtime, RuntimeRun.Count(21), ProcessAsync))).WithinAsync("all calls");
        Assert.All(all, static outcomes => Assert.Equal(Enumerable.Range(0, 21).Where(static i => i % 7 != 6), outcomes.Values()));
        Assert.InRange(probe.Most, 1, total);
        Assert.Equal(0, probe.Inside);
    }

    [Fact(Timeout = 90_000)]
    public async Task TwoHundredCallers_OfOneConcurrentRuntime_HaveNoMoreThanItsTotalInFlight()
    {
        await using ConcurrentRuntime runtime = new(64, new RuntimeOptions { TotalConcurrency = 64 });
        ConcurrencyProbe probe = new();
        Task<ItemOutcome<int, int>[]>[] calls = [.. Enumerable.Range(0, 200).Select(_ => runtime.ProcessManyAsync(
            Enumerable.Range(0, 20).ToArray(),
            async (x, token) =>
            {
                using (probe.Enter())
                {
                    await _gate.WaitAsync(token);
                    return x;
                }
            }))];
        await probe.InsideAsync(64);
        await Guard.SettleAsync();
        Assert.Equal(64, probe.Most);
        _gate.Open();
        Assert.All(await Task.WhenAll(calls).WithinAsync("all calls"), static outcomes => Assert.All(outcomes, static o => Assert.True(o.IsSuccess)));
        Assert.Equal(64, probe.Most);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(Names))]
    public async Task Runtime_AndAnOperator_ShareOneLimit(string name)
    {
        SharedConcurrencyLimit shared = new(1);
        Assert.True(shared.TryEnter());
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, new RuntimeOptions { ConcurrencyLimit = shared });
        Task<ItemOutcome<int, int>[]> call = Task.Run(() => runtime.ProcessManyAsync([1, 2, 3], static (x, _) => new ValueTask<int>(x)));
        Task<List<int>> run = new[] { 4, 5 }.SelectParallelAsync(static (x, _) => new ValueTask<int>(x), new ParallelRunOptions
        {
            ConcurrencyLimit = shared,
        });
        await Guard.UntilAsync(() => shared.Waiting >= 3, "items that wait");
        Assert.False(call.IsCompleted || run.IsCompleted);
        shared.Leave();
        Assert.Equal([1, 2, 3], (await call.WithinAsync()).Select(static o => o.Value));
        Assert.Equal([4, 5], await run.WithinAsync());
        Assert.Equal((0, 0), (shared.InUse, shared.Waiting));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(Names))]
    public async Task BatchTimeout_WhileItemsWait_TheyLeaveTheQueue(string name)
    {
        ManualTimeProvider clock = new();
        SharedConcurrencyLimit shared = new(1);
        Assert.True(shared.TryEnter());
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, new RuntimeOptions { ConcurrencyLimit = shared, TimeProvider = clock });
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(
            [1, 2], static (x, _) => new ValueTask<int>(x), new ProcessManyOptions { TotalTimeout = TimeSpan.FromSeconds(1) });
        await Guard.UntilAsync(() => shared.Waiting > 0, "an item that waits");
        clock.Advance(TimeSpan.FromSeconds(2));
        ItemOutcome<int, int>[] outcomes = await call.WithinAsync("a call whose time is up");
        Assert.All(outcomes, static o => Assert.False(o.IsSuccess));
        await Guard.UntilAsync(() => shared.Waiting == 0, "the queue without the call");
        shared.Leave();
        Assert.Equal(0, shared.InUse);
    }

    [Theory(Timeout = 90_000)]
    [InlineData("concurrent 2", false)]
    [InlineData("concurrent 2", true)]
    [InlineData("parallel 2", false)]
    [InlineData("parallel 2", true)]
    [InlineData("auto 2", false)]
    [InlineData("auto 2", true)]
    [InlineData("direct", false)]
    public async Task PerItemTimeout_OfACallThatNeverEnds_ThePlaceIsReturned(string name, bool blocks)
    {
        SharedConcurrencyLimit shared = new(1);
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, new RuntimeOptions { ConcurrencyLimit = shared });
        ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(
            [0, 1],
            async (x, _) =>
            {
                if (x == 0 && blocks)
                {
                    _gate.Wait(CancellationToken.None);
                }
                else if (x == 0)
                {
                    await _gate.WaitAsync(CancellationToken.None);
                }

                return x;
            },
            new ProcessManyOptions { PerItemTimeout = TimeSpan.FromMilliseconds(100) }).WithinAsync("a call with an item that never ends");
        Assert.Equal(ItemStatus.TimedOut, outcomes[0].Status);
        await Guard.UntilAsync(() => shared.InUse == 0 && shared.Waiting == 0, "the place of the item that was given up");
        _gate.Open();
        await Guard.SettleAsync();
        Assert.Equal(0, shared.InUse);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(Names))]
    public async Task Dispose_WhileItemsWait_EndsThemAndLeavesNothing(string name)
    {
        SharedConcurrencyLimit shared = new(1);
        Assert.True(shared.TryEnter());
        IExecutionRuntime runtime = RuntimeCases.Create(name, new RuntimeOptions { ConcurrencyLimit = shared, GracePeriod = TimeSpan.Zero });
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync([1, 2, 3], static (x, _) => new ValueTask<int>(x));
        await Guard.UntilAsync(() => shared.Waiting > 0, "items that wait");
        await runtime.DisposeAsync().WithinAsync("the end of the runtime");
        Assert.All(await call.WithinAsync(), static o => Assert.False(o.IsSuccess));
        await Guard.UntilAsync(() => shared.Waiting == 0, "the queue without the call");
        Assert.Equal(1, shared.InUse);
    }
}
