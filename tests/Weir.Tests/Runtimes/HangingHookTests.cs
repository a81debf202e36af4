using Weir.Runtimes;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Runtimes;

/// <summary>A hook that never ends is given up as a call is: the time limit of the call and the end of the runtime end it all the same.</summary>
public sealed class HangingHookTests : IDisposable
{
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(1);

    private static readonly string[] Hooks =
        ["OnErrorAsync", "Hooks.OnErrorAsync", "OnRetryAsync", "Hooks.OnRetryAsync", "OnFallback", "OnFallback after OnRetryAsync"];

    private readonly ManualTimeProvider _clock = new();
    private readonly Gate _hold = new();
    private readonly TaskCompletionSource _arrived = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private bool _blocks;
    private int _hooksAfter;

    public static TheoryData<string, string, bool, bool> Grid
    {
        get
        {
            TheoryData<string, string, bool, bool> grid = [];
            foreach (string hook in Hooks)
            {
                foreach (string runtime in new[] { "direct", "concurrent 3", "parallel 2", "auto 3" })
                {
                    foreach (bool disposes in new[] { false, true })
                    {
                        grid.Add(hook, runtime, disposes, false);

                        // On the caller's thread, the caller would wait for it.
                        if (runtime != "direct")
                        {
                            grid.Add(hook, runtime, disposes, true);
                        }
                    }
                }
            }

            return grid;
        }
    }

    public void Dispose() => _hold.Dispose();

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Grid))]
    public async Task Hook_ThatNeverEnds_EndsWithItsCallAndItsRuntime(string hook, string name, bool disposes, bool blocks)
    {
        _blocks = blocks;
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, _clock, TimeSpan.Zero);
        ProcessManyOptions options = new() { Policies = PoliciesOf(hook), TotalTimeout = disposes ? null : Limit };
        Task<ItemOutcome<int, int>[]> run = Task.Run(() => runtime.ProcessManyAsync([0, 1, 2], CallAsync, options));
        await Guard.UntilAsync(
            () =>
            {
                // For a retry without a delay.
                _clock.Advance(TimeSpan.Zero);
                return _arrived.Task.IsCompleted;
            },
            "the hook");
        if (disposes)
        {
            await runtime.DisposeAsync().AsTask().WithinAsync("the end of the runtime");
        }
        else
        {
            await _clock.AdvanceUntilAsync(run, Limit);
        }

        ItemOutcome<int, int> outcome = (await run.WithinAsync("the call"))[0];
        if (hook is "OnErrorAsync" or "Hooks.OnErrorAsync")
        {
            // It had its outcome.
            Assert.Equal(ItemStatus.Failed, outcome.Status);
            Assert.IsType<TestException>(outcome.Error);
        }
        else if (disposes)
        {
            RuntimeRun.AssertCancelled(outcome);
        }
        else
        {
            RuntimeRun.AssertTimedOut(outcome);
        }

        Assert.Equal((0, 0), (runtime.Statistics.ActiveCalls, runtime.Statistics.InFlight));
        await _clock.AssertNoTimersAsync();
        _hold.Open();
        await Guard.SettleAsync();
        Assert.Equal(0, _hooksAfter);
        Assert.Equal(0, _clock.ArmedTimers);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData("concurrent 3", false, false)]
    [InlineData("parallel 2", false, false)]
    [InlineData("auto 3", false, true)]
    [InlineData("concurrent 3", true, true)]
    [InlineData("parallel 2", true, true)]
    [InlineData("auto 3", true, false)]
    public async Task PauseHook_ThatNeverEnds_EndsWithItsRuntime(string name, bool drain, bool blocks)
    {
        const int items = 20_000;
        _blocks = blocks;
        TaskCompletionSource paused = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, _clock, TimeSpan.Zero);
        ProcessManyOptions options = new()
        {
            Policies = new ParallelRunOptions
            {
                OnStartItemAsync = static _ => default,
                OnThrottleAsync = _ =>
                {
                    paused.TrySetResult();
                    return drain ? default : HoldAsync();
                },
                OnDrainAsync = _ => drain ? HoldAsync() : default,
            },
        };
        HashSet<int> seen = [];
        await using IAsyncEnumerator<(int Index, ItemOutcome<int, int> Outcome)> stream = runtime.ProcessManyStreamAsync(
            RuntimeRun.Count(items), static (item, _) => new ValueTask<int>(item), false, options).GetAsyncEnumerator();

        // The reading pauses when this consumer is behind, and goes on when it has caught up.
        Assert.True(await stream.MoveNextAsync().AsTask().WithinAsync("the first outcome"));
        Assert.True(seen.Add(stream.Current.Index));
        await paused.Task.WithinAsync("the pause");

        // It is as far behind as it may be, so these lie ready: enough for the reading to go on, and not so many that the stream could end before the hook.
        for (int i = 0; drain && i < 600; i++)
        {
            Assert.True(await stream.MoveNextAsync());
            Assert.True(seen.Add(stream.Current.Index));
        }

        await _arrived.Task.WithinAsync("the hook");
        await runtime.DisposeAsync().AsTask().WithinAsync("the end of the runtime");
        while (await stream.MoveNextAsync())
        {
            Assert.True(seen.Add(stream.Current.Index));
        }

        Assert.Equal(items, seen.Count);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false, false)]
    [InlineData(true, false)]
    [InlineData(false, true)]
    [InlineData(true, true)]
    public async Task PerItemTimeout_WhileOnRetryAsyncHangs_EndsTheItem(bool withFallback, bool blocks)
    {
        _blocks = blocks;
        RunControl control = new();
        ParallelRunOptions options = PoliciesOf("OnRetryAsync") with
        {
            MaxDegreeOfParallelism = 3,
            Control = control,
            PerItemTimeout = Limit,
            TimeProvider = _clock,
            OnFallback = withFallback ? Fallback.Of(static (_, error) => error.InnerException is ItemTimeoutException ? -1 : -2) : null,
        };
        Task<ItemOutcome<int, int>[]> run = new[] { 0, 1, 2 }.SelectParallelOutcomesAsync(CallAsync, options);
        await _arrived.Task.WithinAsync("the hook");

        // One of the others that is still inside its call would be out of time as well.
        await Guard.UntilAsync(() => control.Snapshot() is { Succeeded: 2, InFlight: 1 }, "the end of the others");
        await _clock.AdvanceUntilAsync(run, Limit);
        ItemOutcome<int, int>[] outcomes = await run;
        Assert.Equal(
            [withFallback ? ItemStatus.Succeeded : ItemStatus.TimedOut, ItemStatus.Succeeded, ItemStatus.Succeeded],
            outcomes.Select(static o => o.Status));
        Assert.Equal(withFallback ? -1 : 0, outcomes[0].ValueOrDefault);
    }

    private static ValueTask<int> CallAsync(int item, CancellationToken token) => item == 0 ? throw new TestException("item") : new(item);

    private ParallelRunOptions PoliciesOf(string hook)
    {
        ParallelRunOptions retries = new() { MaxRetries = 1, BaseDelay = TimeSpan.Zero, IsTransient = static error => error is TestException };
        return hook switch
        {
            "OnErrorAsync" => new()
            {
                OnErrorAsync = async (_, _) =>
                {
                    await HoldAsync();
                    return true;
                },
                Hooks = new ItemHooks<int> { OnErrorAsync = _ => new(CountAfter()) },
            },
            "Hooks.OnErrorAsync" => new()
            {
                Hooks = new ItemHooks<int>
                {
                    OnErrorAsync = async _ =>
                    {
                        await HoldAsync();
                        return true;
                    },
                },
            },
            "OnRetryAsync" => retries with
            {
                OnRetryAsync = (_, _, _) => HoldAsync(),
                Hooks = new ItemHooks<int>
                {
                    OnRetryAsync = _ =>
                    {
                        CountAfter();
                        return default;
                    },
                },
            },
            "Hooks.OnRetryAsync" => retries with { Hooks = new ItemHooks<int> { OnRetryAsync = _ => HoldAsync() } },
            _ => (hook == "OnFallback" ? new() : retries with { OnRetryAsync = static (_, _, _) => default }) with
            {
                OnFallback = Fallback.OfAsync<int>(async (_, _) =>
                {
                    await HoldAsync();
                    return -1;
                }),
            },
        };
    }

    /// <summary>A hook behind the one that hangs.</summary>
    private bool CountAfter()
    {
        Interlocked.Increment(ref _hooksAfter);
        return true;
    }

    private async ValueTask HoldAsync()
    {
        _arrived.TrySetResult();
        if (_blocks)
        {
            _hold.Wait();
        }
        else
        {
            await _hold.WaitAsync();
        }
    }
}
