using Weir.Runtimes;
using Weir.TestKit;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Runtimes;

/// <summary>What becomes of a call that passes its time limit.</summary>
public class RuntimeBatchTimeoutTests
{
    private const int Items = 250;
    private const int Quick = 10;

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(60);
    private static readonly ProcessManyOptions Timed = new() { TotalTimeout = Limit };

    private readonly ManualTimeProvider _clock = new();
    private int _begun;

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task BatchTimeout_NothingTakesLong_ChangesNothing(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, _clock);
        ItemOutcome<int, int>[] outcomes = await RuntimeRun.AllAsync(
            form, runtime, RuntimeRun.Count(Items), static (x, _) => new ValueTask<int>(x), Timed);
        Assert.All(outcomes, static o => Assert.True(o.IsSuccess));
        await _clock.AssertNoTimersAsync();
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public Task BatchTimeout_ItemsObeyTheirToken_AreTimedOutAndTheRestNeverRuns(string name, RunForm form) =>
        AssertEndsAsync(name, form, Timed, static (gate, x, token) => gate.PassAsync(x, token));

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public Task BatchTimeout_ItemsIgnoreTheirToken_AreTimedOutAndTheRestNeverRuns(string name, RunForm form) =>
        AssertEndsAsync(name, form, Timed, static (gate, x, _) => gate.PassAsync(x));

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task BatchTimeout_CallersTokenAndItemTimeoutAreSetToo_ChangesNothingOfIt(string name, RunForm form)
    {
        using CancellationTokenSource caller = new();
        await AssertEndsAsync(name, form, Timed with { PerItemTimeout = Limit * 2 }, static (gate, x, _) => gate.PassAsync(x), caller.Token);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.DetachedForm), MemberType = typeof(RuntimeCases))]
    public async Task BatchTimeout_ItemBlocksItsThread_IsTimedOutAndTheCallReturns(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, _clock);
        using RuntimeGate gate = new();
        using RuntimeGate others = new();
        int blocked = -1;
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(form, runtime, RuntimeRun.Count(Items), (x, _) => Interlocked.Increment(ref _begun) switch
        {
            <= Quick => new ValueTask<int>(x),
            Quick + 1 => new ValueTask<int>(gate.Block(blocked = x)),
            _ => others.PassAsync(x),
        }, Timed);
        await gate.ArrivedAsync(1);
        await others.ArrivedAsync(RuntimeCases.LimitOf(name) - 1);
        if (runtime is ParallelRuntime)
        {
            await ComeOutAsync(runtime, RuntimeCases.LimitOf(name) - 1);
        }

        await _clock.PassAsync(Limit, call);
        ItemOutcome<int, int>[] outcomes = await call;
        RuntimeRun.AssertTimedOut(outcomes[blocked]);
        AssertOutcomes(RuntimeCases.LimitOf(name), outcomes);

        // The auto runtime has threads of its own once it has seen that an item blocks, and some may just be leaving their items' calls.
        Assert.InRange(
            runtime.Statistics.ReplacedThreads,
            runtime is ParallelRuntime ? 1 : 0,
            runtime switch { ParallelRuntime => 1, AutoRuntime => RuntimeCases.LimitOf(name), _ => 0 });
        await _clock.AssertNoTimersAsync();

        // The runtime is as good as new, stuck thread or not.
        ItemOutcome<int, int>[] again = await RuntimeRun.AllAsync(form, runtime, RuntimeRun.Count(100), static (x, _) => new ValueTask<int>(x));
        Assert.All(again, static o => Assert.True(o.IsSuccess));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task BatchTimeout_StrayItems_LearnThatNobodyWaitsForThem(string name, RunForm form)
    {
        foreach (TimeSpan? itemTimeout in new TimeSpan?[] { null, Limit * 2 })
        {
            foreach (bool callerHasAToken in new[] { false, true })
            {
                await using IExecutionRuntime runtime = RuntimeCases.Create(name, _clock);
                using RuntimeGate gate = new();
                using CancellationTokenSource caller = new();
                TaskCompletionSource told = new();
                Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(form, runtime, [1], (x, token) =>
                {
                    token.Register(() => told.TrySetResult());
                    return gate.PassAsync(x);
                }, Timed with { PerItemTimeout = itemTimeout }, callerHasAToken ? caller.Token : CancellationToken.None);
                await gate.ArrivedAsync(1);
                await _clock.PassAsync(Limit, call);
                RuntimeRun.AssertTimedOut((await call)[0]);
                await told.Task;
            }
        }
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task BatchTimeout_ItemBlocksWhileItAnswersToItsToken_TheCallReturnsAllTheSame(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, _clock);
        using RuntimeGate gate = new();
        using RuntimeGate cleanup = new();
        TaskCompletionSource<int> never = new();
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(form, runtime, RuntimeRun.Count(Items), async (x, token) =>
        {
            // Suspended from here on: an item that blocks before it has suspended holds up the direct runtime, and may.
            await Task.Yield();
            _ = gate.PassAsync(x);

            // Its continuation runs inside Cancel, as that of many a BCL method does.
            await using CancellationTokenRegistration registration = token.Register(() => never.TrySetCanceled(token));
            try
            {
                return await never.Task;
            }
            catch (OperationCanceledException)
            {
                cleanup.Block(x);
                throw;
            }
        }, Timed);
        await gate.ArrivedAsync(Math.Min(Items, RuntimeCases.LimitOf(name)));

        // On a thread of its own: the clock's callbacks are what might block.
        Task passing = Task.Factory.StartNew(
            () => _clock.PassAsync(Limit, call), CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default).Unwrap();
        ItemOutcome<int, int>[] outcomes = await call;
        int limit = RuntimeCases.LimitOf(name);
        Assert.Equal(limit, outcomes.Count(static o => o.Status == ItemStatus.TimedOut));
        Assert.Equal(Items - limit, outcomes.Count(static o => o.Status == ItemStatus.NotRun));
        cleanup.Open();
        await passing;
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task BatchTimeout_ItemTimeoutPassesFirst_BothCount(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, _clock);
        int limit = RuntimeCases.LimitOf(name);
        using RuntimeGate gate = new();
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(
            form, runtime, RuntimeRun.Count(Items), (x, _) => gate.PassAsync(x), Timed with { PerItemTimeout = TimeSpan.FromSeconds(40) });
        await gate.ArrivedAsync(limit);

        // Not on with real time: on a busy machine, the call's time would be up before that of the first items, or with that of the second ones.
        await _clock.AdvanceUntilAsync(gate.ArrivedAsync(2 * limit), TimeSpan.FromSeconds(40));
        await _clock.AdvanceUntilAsync(call, TimeSpan.FromSeconds(20));
        ItemOutcome<int, int>[] outcomes = await call;
        Assert.Equal(2 * limit, outcomes.Count(static o => o.Status == ItemStatus.TimedOut));
        Assert.Equal(limit, outcomes.Count(static o => o.Error?.Message.Contains("item", StringComparison.Ordinal) == true));
        Assert.Equal(limit, outcomes.Count(static o => o.Status == ItemStatus.TimedOut && o.Error!.InnerException is RunTimeoutException));
        Assert.Equal(Items - (2 * limit), outcomes.Count(static o => o.Status == ItemStatus.NotRun));
        await _clock.AssertNoTimersAsync();
        runtime.AssertIdle(0, 2 * limit);
    }

    /// <summary>Checks what becomes of a call whose items are at a gate, all but the first that begin, when its time is up.</summary>
    private async Task AssertEndsAsync(
        string name,
        RunForm form,
        ProcessManyOptions options,
        Func<RuntimeGate, int, CancellationToken, ValueTask<int>> stuck,
        CancellationToken caller = default)
    {
        int limit = RuntimeCases.LimitOf(name);
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, _clock);
        using RuntimeGate gate = new();
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(
            form, runtime, RuntimeRun.Count(Items), (x, token) => IsQuick() ? new ValueTask<int>(x) : stuck(gate, x, token), options, caller);
        await gate.ArrivedAsync(limit);
        await _clock.PassAsync(Limit, call);
        ItemOutcome<int, int>[] outcomes = await call;
        AssertOutcomes(limit, outcomes);
        Assert.Equal(limit, gate.Arrived);
        runtime.AssertIdle(Quick, limit);
        await _clock.AssertNoTimersAsync();
    }

    /// <summary>Waits until so many threads of the runtime have come out of their items' calls: one that is held up there would be replaced too.</summary>
    private static async Task ComeOutAsync(IExecutionRuntime runtime, int threads)
    {
        using RuntimeGate free = new();
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(RuntimeRun.Count(threads), (x, _) => new ValueTask<int>(free.Block(x)));
        await free.ArrivedAsync(threads);
        free.Open();
        Assert.All(await call, static o => Assert.True(o.IsSuccess));
    }

    // The first that begin end at once. They need not be the first of the input: an item that a worker gave back begins later.
    private bool IsQuick() => Interlocked.Increment(ref _begun) <= Quick;

    private static void AssertOutcomes(int limit, ItemOutcome<int, int>[] outcomes)
    {
        // Which of the items are running is the engine's business; how many, is not.
        Assert.Equal(Quick, outcomes.Count(static o => o.IsSuccess));
        Assert.All(outcomes, static (o, x) => Assert.True(!o.IsSuccess || o.Value == x));
        ItemOutcome<int, int>[] timedOut = [.. outcomes.Where(static o => o.Status == ItemStatus.TimedOut)];
        Assert.Equal(limit, timedOut.Length);
        Assert.All(timedOut, RuntimeRun.AssertTimedOut);
        Assert.All(timedOut, static o => Assert.IsType<RunTimeoutException>(o.Error!.InnerException));
        Assert.All(outcomes.Where(static o => !o.IsSuccess && o.Status != ItemStatus.TimedOut), RuntimeRun.AssertTooLate);
    }
}
