using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.Runtimes;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies;

/// <summary>No hook is called for an item that was given up, when its call returns all the same.</summary>
public sealed class CompletionHookTests : IDisposable
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _time = new();
    private readonly Gate _first = new();
    private readonly Gate _second = new();
    private readonly ConcurrentQueue<string> _hooks = [];
    private readonly ConcurrentQueue<int> _begun = [];
    private readonly ConcurrentQueue<int> _returned = [];

    public static MatrixTheoryData<string, bool, bool> Cases { get; } = new(["index", "item", "both", "under a limit"], [false, true], [false, true]);

    public void Dispose()
    {
        _first.Dispose();
        _second.Dispose();
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(Cases))]
    public async Task Item_PassedItsLimit_HasNoCompletionHook(string hooks, bool blocks, bool stops)
    {
        using CancellationTokenSource cancelling = new();
        Task<ItemOutcome<int, int>[]> run = new[] { 0, 1 }.SelectParallelOutcomesAsync(
            (item, _) => CallAsync(item, blocks),
            Options(hooks) with { MaxDegreeOfParallelism = 1, PerItemTimeout = Second },
            cancelling.Token);
        await Guard.UntilAsync(() => _begun.Contains(0), "the first call");
        await _time.AdvanceUntilAsync(Guard.UntilAsync(() => _begun.Contains(1), "the second call"), Second);
        if (stops)
        {
            // The run is over, and waits for the second item.
            await cancelling.CancelAsync();
        }

        _first.Open();
        await Guard.UntilAsync(() => _returned.Contains(0), "the end of the first call");
        await Guard.SettleAsync();
        Assert.Empty(_hooks);

        // This one was not given up: it ends well, whether the run goes on or not.
        _second.Open();
        if (stops)
        {
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.WithinAsync());
        }
        else
        {
            Assert.Equal([ItemStatus.TimedOut, ItemStatus.Succeeded], (await run.WithinAsync()).Select(static o => o.Status));
        }

        Assert.Equal(hooks == "both" ? ["index 1", "item 1"] : [hooks == "item" ? "item 1" : "index 1"], _hooks);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(Cases))]
    public async Task Item_GivenUpByTheEndOfItsRun_HasNoCompletionHook(string hooks, bool blocks, bool timesOut)
    {
        await using IExecutionRuntime runtime = new ConcurrentRuntime(1, new RuntimeOptions { TimeProvider = _time, GracePeriod = TimeSpan.Zero });
        Task<ItemOutcome<int, int>[]> run = runtime.ProcessManyAsync(
            new[] { 0 },
            (item, _) => CallAsync(item, blocks),
            new ProcessManyOptions { Policies = Options(hooks), TotalTimeout = timesOut ? Second : null });
        await Guard.UntilAsync(() => _begun.Contains(0), "the call");
        if (timesOut)
        {
            await _time.AdvanceUntilAsync(run, Second);
            Assert.Equal(ItemStatus.TimedOut, Assert.Single(await run).Status);
        }
        else
        {
            await runtime.DisposeAsync().AsTask().WithinAsync();
            await run.EndsAsync();
        }

        _first.Open();
        await Guard.UntilAsync(() => _returned.Contains(0), "the end of the call");
        await Guard.SettleAsync();
        Assert.Empty(_hooks);
    }

    [Fact(Timeout = 90_000)]
    public async Task Item_GivenUpInItsFirstStartHook_HasNoOther()
    {
        Task<ItemOutcome<int, int>[]> run = new[] { 0 }.SelectParallelOutcomesAsync(
            static (item, _) => new ValueTask<int>(item),
            new ParallelRunOptions
            {
                PerItemTimeout = Second,
                TimeProvider = _time,
                Hooks = new RunHooks
                {
                    OnStartItemAsync = async _ =>
                    {
                        _begun.Enqueue(0);
                        await _first.WaitAsync();
                        _returned.Enqueue(0);
                    },
                    Items = new ItemHooks<int> { OnStartItemAsync = item => Note("item", item.Item) },
                },
            });
        await Guard.UntilAsync(() => _begun.Contains(0), "the hook");
        await _time.AdvanceUntilAsync(run, Second);
        Assert.Equal(ItemStatus.TimedOut, Assert.Single(await run).Status);
        _first.Open();
        await Guard.UntilAsync(() => _returned.Contains(0), "the end of the hook");
        await Guard.SettleAsync();
        Assert.Empty(_hooks);
    }

    private async ValueTask<int> CallAsync(int item, bool blocks)
    {
        _begun.Enqueue(item);
        Gate gate = item == 0 ? _first : _second;
        if (blocks)
        {
            gate.Wait();
        }
        else
        {
            await gate.WaitAsync();
        }

        _returned.Enqueue(item);
        return item;
    }

    private ValueTask Note(string hook, int item)
    {
        _hooks.Enqueue($"{hook} {item}");
        return default;
    }

    private ParallelRunOptions Options(string hooks) => new()
    {
        TimeProvider = _time,
        ConcurrencyLimit = hooks == "under a limit" ? new SharedConcurrencyLimit(5) : null,
        Hooks = new RunHooks
        {
            OnCompleteItemAsync = hooks == "item" ? null : index => Note("index", index),
            Items = hooks is "item" or "both" ? new ItemHooks<int> { OnCompleteItemAsync = item => Note("item", item.Item) } : null,
        },
    };
}
