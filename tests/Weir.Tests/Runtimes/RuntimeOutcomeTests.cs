using Weir.Runtimes;

namespace Weir.Tests.Runtimes;

/// <summary>Exactly one outcome per item, in input order or each index once, and never an exception of an item.</summary>
public class RuntimeOutcomeTests
{
    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task ProcessMany_ItemsThatSuspend_GivesOneOutcomePerItem(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        ItemOutcome<int, int>[] outcomes = await RuntimeRun.AllAsync(form, runtime, RuntimeRun.Count(2000), static async (x, _) =>
        {
            if (x % 3 != 0)
            {
                await Task.Yield();
            }

            return -x;
        });
        Assert.Equal(Enumerable.Range(0, 2000).Select(static x => -x), outcomes.Select(static o => o.Value));
        runtime.AssertIdle(2000, 0);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task ProcessMany_ItemsThatFail_GivesTheirOwnExceptionAndRunsTheOthers(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        Exception[] errors = [.. RuntimeRun.Count(400).Select(static x => new InvalidDataException($"item {x}"))];
        ItemOutcome<int, int>[] outcomes = await RuntimeRun.AllAsync(form, runtime, RuntimeRun.Count(400), (x, _) => (x % 5) switch
        {
            0 => throw errors[x],
            1 => new ValueTask<int>(Task.FromException<int>(errors[x])),
            2 => FailLaterAsync(errors[x]),
            _ => new ValueTask<int>(x),
        });
        for (int x = 0; x < 400; x++)
        {
            Assert.Equal(x % 5 < 3 ? ItemStatus.Failed : ItemStatus.Succeeded, outcomes[x].Status);
            Assert.Same(x % 5 < 3 ? errors[x] : null, outcomes[x].Error);
            Assert.Equal(x % 5 < 3 ? 0 : x, outcomes[x].ValueOrDefault);
        }

        runtime.AssertIdle(160, 240);

        static async ValueTask<int> FailLaterAsync(Exception error)
        {
            await Task.Yield();
            throw error;
        }
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task ProcessMany_AllItemsFail_GivesOnlyFailures(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        ItemOutcome<int, int>[] outcomes = await RuntimeRun.AllAsync<int, int>(
            form, runtime, RuntimeRun.Count(300), static (x, _) => throw new InvalidDataException($"item {x}"));
        Assert.All(outcomes, static (o, x) => Assert.Equal($"item {x}", Assert.IsType<InvalidDataException>(o.Error).Message));
        runtime.AssertIdle(0, 300);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task ProcessMany_ItemCancelsItself_IsAFailureLikeAnyOther(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        OperationCanceledException own = new("own");
        ItemOutcome<int, int>[] outcomes = await RuntimeRun.AllAsync(
            form, runtime, RuntimeRun.Count(20), (x, _) => x == 7 ? throw own : new ValueTask<int>(x));
        Assert.Equal(ItemStatus.Failed, outcomes[7].Status);
        Assert.Same(own, outcomes[7].Error);
        Assert.Equal(19, outcomes.Count(static o => o.IsSuccess));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task ProcessMany_SeveralCallsInARow_GiveEachItsOwn(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        for (int call = 0; call < 50; call++)
        {
            ItemOutcome<int, int>[] outcomes = await RuntimeRun.AllAsync(
                form, runtime, RuntimeRun.Count(call), (x, _) => new ValueTask<int>(x + (call * 1000)));
            Assert.Equal(Enumerable.Range(call * 1000, call), outcomes.Select(static o => o.Value));
        }
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task ProcessMany_SeveralCallersAtOnce_GiveEachItsOwn(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        Task<ItemOutcome<int, int>[]>[] calls = [.. RuntimeRun.Count(8).Select(caller => RuntimeRun.Start(
            form, runtime, RuntimeRun.Count(500 + caller), async (x, _) =>
            {
                if (x % 7 == caller % 7)
                {
                    await Task.Yield();
                }

                return x + (caller * 1000);
            }))];
        ItemOutcome<int, int>[][] all = await Task.WhenAll(calls);
        Assert.All(all, static (outcomes, caller) =>
            Assert.Equal(Enumerable.Range(caller * 1000, 500 + caller), outcomes.Select(static o => o.Value)));
        runtime.AssertIdle(all.Sum(static o => o.Length), 0);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task ProcessMany_ManyInFlight_NeverExceedsTheLimit(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        ConcurrencyProbe probe = new();
        await RuntimeRun.AllAsync(form, runtime, RuntimeRun.Count(1500), async (x, _) =>
        {
            using (probe.Enter())
            {
                if (x % 4 != 3)
                {
                    await Task.Yield();
                }

                return x;
            }
        });
        Assert.InRange(probe.Most, 1, RuntimeCases.LimitOf(name));
        Assert.Equal(0, probe.Inside);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task ProcessMany_AsyncItems_ReachTheLimit(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        int limit = RuntimeCases.LimitOf(name);
        using RuntimeGate gate = new();
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(form, runtime, RuntimeRun.Count((2 * limit) + 10), (x, _) => gate.PassAsync(x));
        await gate.ArrivedAsync(limit);
        Assert.Equal(limit, gate.Arrived);
        Assert.Equal(1, runtime.Statistics.ActiveCalls);
        Assert.True(await RuntimeRun.UntilAsync(() => runtime.Statistics.InFlight == limit), $"{runtime.Statistics}");
        gate.Open();
        Assert.All(await call, static o => Assert.True(o.IsSuccess));
        runtime.AssertIdle((2 * limit) + 10, 0);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task ProcessMany_CallersContext_IsThatOfTheItems(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        AsyncLocal<string> local = new() { Value = "caller" };
        ItemOutcome<int, string>[] outcomes = await RuntimeRun.AllAsync(form, runtime, RuntimeRun.Count(50), async (_, _) =>
        {
            string before = local.Value ?? "none";
            await Task.Yield();
            return before == local.Value ? before : "lost";
        });
        Assert.All(outcomes, static o => Assert.Equal("caller", o.Value));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task ProcessMany_TaskSourceThatThrowsAtOnCompleted_IsThatItemsFailure(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        ItemOutcome<int, int>[] outcomes = await RuntimeRun.AllAsync(
            form, runtime, RuntimeRun.Count(30), static (x, _) => x == 11 ? BrokenCall() : new ValueTask<int>(x));
        Assert.Equal("cannot wait", Assert.IsType<TestException>(outcomes[11].Error).Message);
        Assert.Equal(29, outcomes.Count(static o => o.IsSuccess));
        runtime.AssertIdle(29, 1);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task ProcessMany_FastItemsThenOneThatNeedsThoseAfterIt_IsNotInTheirWay(string name, RunForm form)
    {
        if (RuntimeCases.LimitOf(name) == 1)
        {
            return;
        }

        // Quick items are claimed many at a time; one that waits must not keep what was claimed with it. (An ordered stream reads 1,024 ahead.)
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        using RuntimeGate gate = new();
        int left = 1999;
        ItemOutcome<int, int>[] outcomes = await RuntimeRun.AllAsync(form, runtime, RuntimeRun.Count(2000), (x, _) =>
        {
            if (x == 1200)
            {
                return gate.PassAsync(x);
            }

            if (Interlocked.Decrement(ref left) == 0)
            {
                gate.Open();
            }

            return new ValueTask<int>(x);
        });
        Assert.All(outcomes, static o => Assert.True(o.IsSuccess));
    }

    /// <summary>A call that nobody calls back, and that cannot be waited for.</summary>
    private static ValueTask<int> BrokenCall() => new FaultyCall(0, FaultyCall.Fault.ThrowsAndCallsBack).Start();
}
