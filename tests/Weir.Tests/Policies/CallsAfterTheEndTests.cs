using Weir.Resilience;
using Weir.Runtimes;
using Weir.Tests.Operators.Support;
using Weir.Tests.Runtimes;

namespace Weir.Tests.Policies;

/// <summary>
/// No call begins after its item or its run has ended, wherever the item was at that moment: in a hook, or in any queue. Of two items, one is held there; then
/// it or the run ends, and only then may it go on.
/// </summary>
public sealed class CallsAfterTheEndTests : IDisposable
{
    private const int Held = 1;
    private const string Direct = "direct";

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan Long = TimeSpan.FromSeconds(1_000);

    private static readonly string[] Hooks =
        ["OnStartItemAsync", "Hooks.OnStartItemAsync", "OnStartItemAsync under a limit", "OnRetryAsync", "Hooks.OnRetryAsync"];

    // Where only the item that is held waits, and where both do.
    private static readonly string[] WaitsOfOne = ["ConcurrencyLimitByKey", "RateLimitByKey", "CircuitBreakerByKey", "retry delay"];
    private static readonly string[] WaitsOfAll = ["SharedConcurrencyLimit", "SharedRateLimit", "SharedCircuitBreaker"];
    private static readonly string[] ClockStands = ["ConcurrencyLimitByKey", "RateLimitByKey", "SharedConcurrencyLimit"];

    private static readonly string[] Operators = ["List", "Stream", "OrderedStream", "ForEach", "Outcomes"];
    private static readonly string[] Runtimes = [Direct, "concurrent 3", "parallel 2", "auto 3"];

    private readonly ManualTimeProvider _clock = new();
    private readonly Gate _hold = new();
    private readonly Gate _fail = new();
    private readonly TaskCompletionSource _arrived = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _otherCalled = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _stopped = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly SharedConcurrencyLimit _shared = new(1);
    private readonly RunControl _control = new();
    private readonly ConcurrencyProbe _probe = new();
    private readonly TokenBucket _bucket;
    private bool _throwsOnce;
    private bool _fails;
    private volatile bool _ended;
    private int _late;

    public CallsAfterTheEndTests() => _bucket = new TokenBucket(Rate);

    /// <summary>Where the item is held, how it ends, and what runs it.</summary>
    public static TheoryData<string, string, string> Grid
    {
        get
        {
            TheoryData<string, string, string> grid = [];
            foreach (string place in Hooks.Concat(WaitsOfOne).Concat(WaitsOfAll))
            {
                bool isOfAll = WaitsOfAll.Contains(place);
                foreach (string runner in Operators.Concat(Runtimes))
                {
                    bool isRuntime = Runtimes.Contains(runner);
                    grid.Add(place, "cancelled", runner);

                    // One item at a time, each waits for the rate with its worker, and is out of time only after the one before it.
                    AddIf(!ClockStands.Contains(place) && !(place == "SharedRateLimit" && runner == Direct), "timed out");
                    AddIf(!isOfAll && !isRuntime && runner != "Outcomes", "failed fast");

                    // Each step of a direct stream waits for an item of its own, so its consumer cannot leave while one is held.
                    AddIf(!isOfAll && (isRuntime ? runner != Direct : runner is "Stream" or "OrderedStream"), "left");
                    AddIf(isRuntime, "batch timed out");
                    AddIf(isRuntime, "disposed");

                    void AddIf(bool adds, string end)
                    {
                        if (adds)
                        {
                            grid.Add(place, end, runner);
                        }
                    }
                }
            }

            return grid;
        }
    }

    private RateLimitOptions Rate => new() { TokensPerSecond = 0.01, BurstCapacity = 1, TimeProvider = _clock };

    private CircuitBreakerOptions Circuit => new() { FailureThreshold = 1, OpenTimeout = Long / 2, TimeProvider = _clock };

    public void Dispose()
    {
        _hold.Dispose();
        _fail.Dispose();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Grid))]
    public async Task Call_OfAnItemThatHasEnded_IsNotMade(string place, string end, string runner)
    {
        ParallelRunOptions options = await OptionsAsync(place);
        _fails = end == "failed fast";
        options = options with { ErrorMode = _fails ? ErrorMode.FailFast : ErrorMode.BestEffort };
        TimeSpan? perItem = end == "timed out" ? Limit : null;
        if (perItem is not null && place == "retry delay")
        {
            // A longer one is not waited for.
            options = options with { BaseDelay = Limit };
        }

        using CancellationTokenSource cancel = new();
        IExecutionRuntime? runtime = Runtimes.Contains(runner)
            ? RuntimeCases.Create(runner, new RuntimeOptions { TimeProvider = _clock, GracePeriod = TimeSpan.Zero })
            : null;
        ProcessManyOptions call = new()
        {
            Policies = options,
            PerItemTimeout = perItem,
            TotalTimeout = end == "batch timed out" ? Limit : null,
            Control = Hooks.Contains(place) ? null : _control,
        };
        options = options with { PerItemTimeout = perItem, Control = call.Control };
        Task run;
        if (end == "left")
        {
            await using IAsyncEnumerator<int> stream = (runtime is null
                ? Enum.Parse<OperatorFamily>(runner).Open(TestSource.Of(SourceKind.Array, 2), CallAsync, options)
                : Values(runtime.ProcessManyStreamAsync([0, 1], CallAsync, false, call))).GetAsyncEnumerator();
            Assert.True(await stream.MoveNextAsync().AsTask().WithinAsync("the first result"));
            await HeldAsync(place, runner);
            Task leaving = stream.DisposeAsync().AsTask();
            _ended = true;
            run = leaving;
            await GoOnAsync(place, run);
        }
        else
        {
            run = runtime is null
                ? Task.Run(() => Enum.Parse<OperatorFamily>(runner).RunAsync(TestSource.Of(SourceKind.Array, 2), CallAsync, options, cancel.Token))
                : Task.Run(() => runtime.ProcessManyAsync([0, 1], CallAsync, call, cancel.Token));
            await HeldAsync(place, runner);
            switch (end)
            {
                case "cancelled":
                    cancel.Cancel();
                    break;
                case "failed fast":
                    _fail.Open();
                    await _stopped.Task.WithinAsync("the stop");
                    break;
                case "disposed":
                    await runtime!.DisposeAsync().AsTask().WithinAsync("the end of the runtime");
                    break;
                default:
                    await _clock.AdvanceUntilAsync(run, Limit);
                    break;
            }

            _ended = true;
            await GoOnAsync(place, run);
        }

        Assert.Equal(0, _late);
        Assert.InRange(_probe.Most, 0, place is "SharedConcurrencyLimit" or "OnStartItemAsync under a limit" ? 1 : 2);
        await Guard.UntilAsync(() => (_shared.InUse, _shared.Waiting) == (0, 0), "the return of all places");
        if (runtime is not null)
        {
            await runtime.DisposeAsync();
        }
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task SharedConcurrencyLimit_ItemsTimedOutInTheirHooks_MakeNoCallAndTakeNoPlace()
    {
        int started = 0;
        Task<ItemOutcome<int, int>[]> run = Enumerable.Range(0, 6).ToArray().SelectParallelOutcomesAsync(CallAsync, new ParallelRunOptions
        {
            MaxDegreeOfParallelism = 6,
            PerItemTimeout = Limit,
            ConcurrencyLimit = _shared,
            TimeProvider = _clock,
            OnStartItemAsync = async _ =>
            {
                Interlocked.Increment(ref started);
                await _hold.WaitAsync();
            },
        });
        await Guard.UntilAsync(() => Volatile.Read(ref started) == 6, "all hooks");
        await _clock.AdvanceUntilAsync(run, Limit);
        Assert.All(await run, static outcome => Assert.Equal(ItemStatus.TimedOut, outcome.Status));
        _hold.Open();
        await Guard.SettleAsync();

        // On its way out, an item may have a place for a moment, which it gives back when it sees its token.
        await Guard.UntilAsync(() => (_shared.InUse, _shared.Waiting) == (0, 0), "the return of all places");
        Assert.Equal(0, _probe.Entered);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Item_WhoseHookCancelsTheRun_IsNotRun(bool suspends)
    {
        using CancellationTokenSource cancel = new();
        ItemOutcome<int, int>[] outcomes = await Enumerable.Range(0, 3).ToArray().SelectParallelOutcomesAsync(
            CallAsync,
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 1,
                Output = new() { ReturnOutcomesOnCancellation = true },
                OnStartItemAsync = async i =>
                {
                    if (suspends)
                    {
                        await Task.Yield();
                    }

                    if (i == 1)
                    {
                        cancel.Cancel();
                        _ended = true;
                    }
                },
            },
            cancel.Token).WithinAsync();
        Assert.Equal([ItemStatus.Succeeded, ItemStatus.NotRun, ItemStatus.NotRun], outcomes.Select(static o => o.Status));
        Assert.Equal((1, 0), (_probe.Entered, _late));
    }

    private static async IAsyncEnumerable<int> Values(IAsyncEnumerable<(int Index, ItemOutcome<int, int> Outcome)> outcomes)
    {
        await foreach ((int index, _) in outcomes)
        {
            yield return index;
        }
    }

    private async ValueTask<int> CallAsync(int item, CancellationToken token)
    {
        Interlocked.Add(ref _late, _ended ? 1 : 0);
        if (item != Held)
        {
            _otherCalled.TrySetResult();
        }

        using (_probe.Enter())
        {
            if (item == Held && _throwsOnce)
            {
                _throwsOnce = false;
                throw new TestException("once");
            }

            if (item == 0 && _fails)
            {
                // Until the token is cancelled, which is after this call's end.
                token.Register(() =>
                {
                    _ended = true;
                    _stopped.TrySetResult();
                });
                await _fail.WaitAsync(CancellationToken.None);
                throw new FormatException();
            }

            return item;
        }
    }

    private async Task<ParallelRunOptions> OptionsAsync(string place)
    {
        ParallelRunOptions options = new()
        {
            MaxDegreeOfParallelism = 2,
            TimeProvider = _clock,
            OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen,
            Retry = new()
            {
                MaxRetries = 0,
                IsTransient = static error => error is TestException,
                BaseDelay = Long / 2,
                MaxDelay = Long,
                BackoffStrategy = BackoffStrategy.Linear,
            },
        };
        ParallelRunOptions retries = options with { MaxRetries = 1 };
        _throwsOnce = place is "OnRetryAsync" or "Hooks.OnRetryAsync" or "retry delay";
        switch (place)
        {
            case "OnStartItemAsync":
                return options with { OnStartItemAsync = HoldAsync };
            case "OnStartItemAsync under a limit":
                return options with { OnStartItemAsync = HoldAsync, ConcurrencyLimit = _shared };
            case "Hooks.OnStartItemAsync":
                return options with { Hooks = new ItemHooks<int> { OnStartItemAsync = item => HoldAsync(item.Item) } };
            case "OnRetryAsync":
                return retries with { OnRetryAsync = (item, _, _) => HoldAsync(item), BaseDelay = TimeSpan.Zero };
            case "Hooks.OnRetryAsync":
                return retries with { Hooks = new ItemHooks<int> { OnRetryAsync = item => HoldAsync(item.Item) }, BaseDelay = TimeSpan.Zero };
            case "retry delay":
                return retries;
            case "SharedConcurrencyLimit":
                Assert.True(_shared.TryEnter());
                return options with { ConcurrencyLimit = _shared };
            case "SharedRateLimit":
                Assert.True(_bucket.TryEnter());
                return options with { RateLimit = _bucket };
            case "SharedCircuitBreaker":
                options = options with { CircuitBreaker = new CircuitBreaker(Circuit) };
                break;
            case "ConcurrencyLimitByKey":
                options = options with { ConcurrencyLimit = ConcurrencyLimits.ByKey<int, int>(static item => item, 1) };
                break;
            case "RateLimitByKey":
                options = options with { RateLimit = RateLimits.ByKey<int, int>(static item => item, Rate) };
                break;
            default:
                options = options with { CircuitBreaker = CircuitBreakers.ByKey<int, int>(static item => item, Circuit) };
                break;
        }

        // Another run has the key's place or token, or has opened its circuit.
        Task other = new[] { Held }.ForEachParallelAsync(
            async (_, _) =>
            {
                _arrived.TrySetResult();
                if (place == "ConcurrencyLimitByKey")
                {
                    await _hold.WaitAsync();
                }

                throw new TestException("other");
            },
            options with { ErrorMode = ErrorMode.BestEffort });
        await (place == "ConcurrencyLimitByKey" ? _arrived.Task : other).WithinAsync("the other run");
        return options;
    }

    private async ValueTask HoldAsync(int item)
    {
        if (item == Held)
        {
            _arrived.TrySetResult();
            await _hold.WaitAsync();
        }
    }

    /// <summary>
    /// Waits until the item is where it is to be held. Where both wait, both: the time of the other one begins with its own wait, which could come after the
    /// clock has moved. Where the other one does not wait, it has been called: a call that had begun to begin at the end of the run would count as late.
    /// </summary>
    private async Task HeldAsync(string place, string runner)
    {
        bool all = WaitsOfAll.Contains(place);
        if (!all)
        {
            await _otherCalled.Task.WithinAsync("the call of the other item");
        }

        if (Hooks.Contains(place))
        {
            await _arrived.Task.WithinAsync("the hook");
        }
        else if (place == "SharedRateLimit")
        {
            await Guard.UntilAsync(() => _bucket.RetryAfter > TimeSpan.FromSeconds(runner != Direct ? 200 : 100), "the waits for tokens");
        }
        else
        {
            await Guard.UntilAsync(() => _control.Snapshot().Waiting >= (all ? 2 : 1), "the waits");
        }
    }

    /// <summary>Lets the item go on, and waits until nothing more can come of it.</summary>
    private async Task GoOnAsync(string place, Task run)
    {
        _hold.Open();
        if (place == "SharedConcurrencyLimit")
        {
            _shared.Leave();
        }

        await Guard.SettleAsync();
        _clock.Advance(Long);
        await run.EndsAsync("the run");
        await Guard.SettleAsync();
    }
}
