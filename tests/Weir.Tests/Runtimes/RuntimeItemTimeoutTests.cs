using Weir.Runtimes;
using Weir.TestKit;

namespace Weir.Tests.Runtimes;

/// <summary>What becomes of an item that passes its time limit, and of the others.</summary>
public class RuntimeItemTimeoutTests
{
    private const int Items = 40;
    private const int Stuck = 13;

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(5);
    private static readonly ProcessManyOptions Timed = new() { PerItemTimeout = Limit };

    private readonly ManualTimeProvider _clock = new();

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task ItemTimeout_NothingTakesLong_ChangesNothing(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, _clock);
        ItemOutcome<int, int>[] outcomes = await RuntimeRun.AllAsync(
            form, runtime, RuntimeRun.Count(500), static async (x, _) =>
            {
                if (x % 2 == 0)
                {
                    await Task.Yield();
                }

                return x;
            }, Timed);
        Assert.Equal(RuntimeRun.Count(500), outcomes.Select(static o => o.Value));
        await _clock.AssertNoTimersAsync();
        runtime.AssertIdle(500, 0);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public Task ItemTimeout_ItemObeysItsToken_IsTimedOutAndTheOthersRun(string name, RunForm form) =>
        AssertOneTimesOutAsync(name, form, static (gate, token) => gate.PassAsync(Stuck, token));

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public Task ItemTimeout_ItemIgnoresItsToken_IsTimedOutAndTheOthersRun(string name, RunForm form) =>
        AssertOneTimesOutAsync(name, form, static (gate, _) => gate.PassAsync(Stuck));

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.DetachedForm), MemberType = typeof(RuntimeCases))]
    public async Task ItemTimeout_ItemBlocksItsThread_IsTimedOutAndTheOthersRun(string name, RunForm form)
    {
        RuntimeStatistics end = await AssertOneTimesOutAsync(name, form, static (gate, _) => new ValueTask<int>(gate.Block(Stuck)));

        // The auto runtime may have taken the item to a thread of its own, if a probe found the items before it slow.
        string kind = name.Split(' ')[0];
        Assert.InRange(end.ReplacedThreads, kind == "parallel" ? 1 : 0, kind == "concurrent" ? 0 : 1);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task ItemTimeout_EveryItemHangs_AllAreTimedOutOneAfterTheOther(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, _clock);
        using RuntimeGate gate = new();
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(form, runtime, RuntimeRun.Count(6), (x, _) => gate.PassAsync(x), Timed);
        int limit = Math.Min(6, RuntimeCases.LimitOf(name));
        await gate.ArrivedAsync(limit);
        for (int arrived = limit; arrived < 6; arrived += limit)
        {
            // The clock moves until all of the next ones are there: the place of each is free when the time of its own predecessor is up.
            await _clock.PassAsync(Limit, gate.ArrivedAsync(Math.Min(6, arrived + limit)));
        }

        await _clock.PassAsync(Limit, call);

        Assert.All(await call, RuntimeRun.AssertTimedOut);
        runtime.AssertIdle(0, 6);
        Assert.Equal(6, runtime.Statistics.AbandonedWorkers);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task ItemTimeout_EndsJustBeforeIt_IsNotTimedOut(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, _clock);
        using RuntimeGate gate = new();
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(
            form, runtime, RuntimeRun.Count(3), (x, _) => x == 1 ? gate.PassAsync(x) : new ValueTask<int>(x), Timed);
        await gate.ArrivedAsync(1);
        _clock.Advance(Limit - TimeSpan.FromMilliseconds(1));
        gate.Open();
        Assert.All(await call, static o => Assert.True(o.IsSuccess));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task ItemTimeout_CountsFromTheItemsOwnStart_NotFromTheCallsOrTheOneBefore(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, _clock);
        TaskCompletionSource[] gates =
            [.. RuntimeRun.Count(5).Select(static _ => new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously))];
        TaskCompletionSource[] started = [.. gates.Select(static _ => new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously))];
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(form, runtime, RuntimeRun.Count(5), async (x, _) =>
        {
            await (x > 0 ? gates[x - 1].Task : Task.CompletedTask);
            started[x].SetResult();
            await gates[x].Task;
            return x;
        }, RuntimeCases.LimitOf(name) == 1 ? Timed : Timed with { PerItemTimeout = Limit * 5 });
        for (int x = 0; x < 5; x++)
        {
            await started[x].Task;
            _clock.Advance(Limit - TimeSpan.FromMilliseconds(10));
            gates[x].SetResult();
        }

        Assert.All(await call, static o => Assert.True(o.IsSuccess, o.ToString()));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task ItemTimeout_StrayEndsLater_ItsResultAndItsExceptionAreLookedAtAndDropped(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, _clock);
        int succeeded = 0;
        foreach (Exception? error in new[] { null, new InvalidDataException("stray") })
        {
            StraySource stray = new(error);
            Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(
                form, runtime, RuntimeRun.Count(2), (x, _) => x == 0 ? stray.Start() : new ValueTask<int>(x), Timed);
            await stray.Waited;
            await runtime.SettledAsync(RuntimeCases.LimitOf(name) == 1 ? succeeded : succeeded + 1);
            succeeded++;
            await _clock.PassAsync(Limit, call);
            ItemOutcome<int, int>[] outcomes = await call;
            RuntimeRun.AssertTimedOut(outcomes[0]);
            Assert.Equal(1, outcomes[1].Value);
            stray.End();
            Assert.True(await RuntimeRun.UntilAsync(() => stray.Looks == 1), "Nobody looked at the stray outcome.");
            RuntimeRun.AssertTimedOut(outcomes[0]);
        }

        runtime.AssertIdle(2, 2);
        await _clock.AssertNoTimersAsync();
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.DetachedForm), MemberType = typeof(RuntimeCases))]
    public async Task ItemTimeout_StrayThreadReturnsAnAsyncCallLater_ItsOutcomeIsLookedAt(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, _clock);
        using RuntimeGate gate = new();
        StraySource stray = new(new InvalidDataException("stray"));
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(form, runtime, RuntimeRun.Count(2), (x, _) =>
        {
            if (x == 0)
            {
                gate.Block(x);
                return stray.Start();
            }

            return new ValueTask<int>(x);
        }, Timed);
        await gate.ArrivedAsync(1);
        await _clock.PassAsync(Limit, call);
        RuntimeRun.AssertTimedOut((await call)[0]);
        gate.Open();
        await stray.Waited;
        stray.End();
        Assert.True(await RuntimeRun.UntilAsync(() => stray.Looks == 1), "Nobody looked at the stray outcome.");
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public Task ItemTimeout_CallbackOnTheTokenThrows_HarmsNobody(string name, RunForm form) =>
        AssertOneTimesOutAsync(
            name,
            form,
            static (gate, token) =>
            {
                token.Register(static () => throw new InvalidDataException("callback"));
                return gate.PassAsync(Stuck);
            });

    /// <summary>Checks that an item times out whose call is at a gate, and no other, and that the runtime goes on.</summary>
    private async Task<RuntimeStatistics> AssertOneTimesOutAsync(string name, RunForm form, Func<RuntimeGate, CancellationToken, ValueTask<int>> stuck)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, _clock);
        using RuntimeGate gate = new();
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(
            form, runtime, RuntimeRun.Count(Items), (x, token) => x == Stuck ? stuck(gate, token) : new ValueTask<int>(x), Timed);
        await gate.ArrivedAsync(1);

        // One at a time, those behind the item wait for it.
        await runtime.SettledAsync(RuntimeCases.LimitOf(name) == 1 ? Stuck : Items - 1);
        await _clock.PassAsync(Limit, call);
        ItemOutcome<int, int>[] outcomes = await call;
        ItemOutcome<int, int> late = Assert.Single(outcomes, static o => !o.IsSuccess);
        RuntimeRun.AssertTimedOut(late);
        Assert.Contains("00:00:05", late.Error!.Message, StringComparison.Ordinal);
        Assert.All(outcomes, static (o, x) => Assert.True(!o.IsSuccess || o.Value == x));
        runtime.AssertIdle(outcomes.Length - 1, 1);
        Assert.Equal(1, runtime.Statistics.AbandonedWorkers);
        await _clock.AssertNoTimersAsync();
        gate.Open();
        Assert.All(await runtime.ProcessManyAsync([1, 2, 3], static (x, _) => new ValueTask<int>(x)), static o => Assert.True(o.IsSuccess));
        return runtime.Statistics;
    }
}
