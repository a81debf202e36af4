using Weir.Runtimes;
using Weir.TestKit;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Runtimes;

/// <summary>What a runtime says about itself, while it works and after.</summary>
public class RuntimeStatisticsTests
{
    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Statistics_OverSeveralCalls_AddUp(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        runtime.AssertIdle(0, 0);
        for (int call = 1; call <= 5; call++)
        {
            await RuntimeRun.AllAsync(form, runtime, RuntimeRun.Count(100), static (x, _) =>
                x % 10 == 0 ? throw new InvalidDataException() : new ValueTask<int>(x));
            runtime.AssertIdle(call * 90, call * 10);
        }

        Assert.Equal(0, runtime.Statistics.AbandonedWorkers);
        Assert.Equal(0, runtime.Statistics.ReplacedThreads);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Statistics_WhileACallRuns_CountWhatHasEnded(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        using RuntimeGate gate = new();
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(form, runtime, RuntimeRun.Count(20), (x, _) => x switch
        {
            3 => throw new InvalidDataException(),
            19 => gate.PassAsync(x),
            _ => new ValueTask<int>(x),
        });
        Assert.True(
            await RuntimeRun.UntilAsync(() => runtime.Statistics is { ActiveCalls: 1, InFlight: 1, Succeeded: 18, Failed: 1, Cancelled: 0 }),
            $"{runtime.Statistics}");
        gate.Open();
        await call;
        runtime.AssertIdle(19, 1);
    }

    [Theory(Timeout = 90_000)]
    [InlineData("concurrent 2", false)]
    [InlineData("concurrent 2", true)]
    [InlineData("parallel 2", false)]
    [InlineData("parallel 2", true)]
    public async Task Statistics_ItemGivenUpWhileItsCallGoesOn_IsNoLongerInFlight(string name, bool blocks)
    {
        ManualTimeProvider clock = new();
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, clock);
        using RuntimeGate stuck = new();
        RuntimeGate[] gates = [.. RuntimeRun.Count(2).Select(static _ => new RuntimeGate())];
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(
            RunForm.Array, runtime, RuntimeRun.Count(3), (x, _) => x > 0 ? gates[x - 1].PassAsync(x) : blocks ? new(stuck.Block(x)) : stuck.PassAsync(x),
            new ProcessManyOptions { PerItemTimeout = TimeSpan.FromSeconds(5) });
        await stuck.ArrivedAsync(1);
        await gates[0].ArrivedAsync(1);
        Assert.True(await RuntimeRun.UntilAsync(() => runtime.Statistics.InFlight == 2), $"{runtime.Statistics}");

        // The third item starts three seconds after the first, whose time is up two seconds later.
        clock.Advance(TimeSpan.FromSeconds(3));
        gates[0].Open();
        await gates[1].ArrivedAsync(1);

        // Not on with real time: on a busy machine, the time of the third would be up as well.
        Task<bool> givenUp = RuntimeRun.UntilAsync(() => runtime.Statistics is { AbandonedWorkers: 1, Failed: 1 });
        await clock.AdvanceUntilAsync(givenUp, TimeSpan.FromSeconds(2));
        Assert.True(await givenUp, $"{runtime.Statistics}");
        Assert.True(await RuntimeRun.UntilAsync(() => runtime.Statistics.InFlight == 1), $"{runtime.Statistics}");
        stuck.Open();
        gates[1].Open();
        RuntimeRun.AssertTimedOut((await call)[0]);
        runtime.AssertIdle(2, 1);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Statistics_StrayItemsReturnWhileTheirCallGoesOn_AreNotCountedAgain(string name, RunForm form)
    {
        ManualTimeProvider clock = new();
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, clock);
        StraySource stray = new(null);
        TaskCompletionSource givenUp = new(TaskCreationOptions.RunContinuationsAsynchronously);
        using RuntimeGate gate = new();
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(form, runtime, RuntimeRun.Count(3), async (x, token) =>
        {
            if (x == 0)
            {
                token.Register(givenUp.SetResult);
                return await stray.Start();
            }

            // Holds the call open while the stray item ends, and is itself given up at most once.
            return x == 1 ? await gate.PassAsync(x) : x;
        }, new ProcessManyOptions { PerItemTimeout = TimeSpan.FromSeconds(5) });
        await stray.Waited;

        // The other items may be given up before it.
        await clock.PassAsync(TimeSpan.FromSeconds(5), givenUp.Task);
        stray.End();
        Assert.True(await RuntimeRun.UntilAsync(() => stray.Looks == 1));
        gate.Open();
        ItemOutcome<int, int>[] outcomes = await call;
        RuntimeRun.AssertTimedOut(outcomes[0]);
        int succeeded = outcomes.Count(static o => o.IsSuccess);
        runtime.AssertIdle(succeeded, 3 - succeeded);
    }

    [Fact(Timeout = 90_000)]
    public async Task StallWatch_CallsThatEndInEveryWay_KeepsNoneOfThem()
    {
        WeakReference[] tokens = [.. await RunInEveryWayAsync()];
        Assert.True(await RuntimeRun.UntilAsync(() =>
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
            return tokens.All(static t => !t.IsAlive);
        }), $"{tokens.Count(static t => t.IsAlive)} of {tokens.Length} are still held, as the runs are that know them.");

        static async Task<List<WeakReference>> RunInEveryWayAsync()
        {
            List<WeakReference> items = [];
            await using ConcurrentRuntime runtime = new(8);
            using CancellationTokenSource cancelled = new();
            await cancelled.CancelAsync();
            using CancellationTokenSource caller = new();
            for (int i = 0; i < 30; i++)
            {
                object[] source = [new(), new(), new()];
                items.Add(new WeakReference(source));
                ProcessManyOptions options = new() { TotalTimeout = i % 3 == 0 ? TimeSpan.FromTicks(1) : null };
                CancellationToken token = i % 2 == 0 ? cancelled.Token : caller.Token;
                try
                {
                    await foreach ((int _, ItemOutcome<object, int> _) in runtime.ProcessManyStreamAsync(
                        source, static (_, _) => new ValueTask<int>(1), false, options, token))
                    {
                        if (i % 5 == 0)
                        {
                            break;
                        }
                    }
                }
                catch (OperationCanceledException)
                {
                    // Every second one.
                }
            }

            return items;
        }
    }
}
