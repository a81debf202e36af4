using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.Runtimes;
using Weir.Tests.Operators.Support;
using Weir.Tests.Runtimes;

namespace Weir.Tests.Policies;

/// <summary>A cancelled run over a queue of work calls each item or leaves it in the queue: none is lost, wherever it waited.</summary>
public sealed class StoppedQueueTests : IDisposable
{
    private const string RuntimesLimit = "limit of a runtime";

    private static readonly string[] Policies =
        ["shared limit", "limit by key", "rate limit", "rate by key", "circuit", "circuit by key", "limit and rate by key", "hook", "hook and shared limit",
            RuntimesLimit];

    private static readonly string[] Runners = ["ForEach", "Outcomes", "Stream", "direct", "concurrent 4", "parallel 3", "auto 4"];

    private readonly Gate _gate = new();

    public static TheoryData<string, int> Seeds
    {
        get
        {
            TheoryData<string, int> seeds = [];
            foreach (string policy in Policies)
            {
                seeds.Add(policy, 1);
                seeds.Add(policy, 2);
                seeds.Add(policy, 3);
            }

            return seeds;
        }
    }

    public void Dispose() => _gate.Dispose();

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Seeds))]
    public async Task Cancel_InsideAnItem_LosesNoItemOfTheQueue(string policy, int seed)
    {
        Random random = new(seed);
        for (int round = 0; round < 8; round++)
        {
            int count = 5 + random.Next(60);
            WorkQueue<int> queue = new();
            queue.AddRange(Enumerable.Range(0, count));
            ConcurrentQueue<int> called = [];
            ParallelRunOptions options = OptionsOf(policy, random) with
            {
                MaxDegreeOfParallelism = 1 + random.Next(8),
                PerItemTimeout = random.Next(3) == 0 ? TimeSpan.FromMinutes(5) : null,
                ErrorMode = ErrorMode.BestEffort,
            };
            bool suspends = random.Next(2) == 0;
            for (int run = 0; !queue.IsCompleted; run++)
            {
                int last = run > 4 ? int.MaxValue : 1 + random.Next(count);
                string runner = policy == RuntimesLimit ? Runners[3 + random.Next(Runners.Length - 3)] : Runners[random.Next(Runners.Length)];
                using CancellationTokenSource cancel = new();
                int calls = 0;
                async ValueTask<int> CallAsync(int item, CancellationToken token)
                {
                    called.Enqueue(item);
                    int call = Interlocked.Increment(ref calls);
                    if (suspends)
                    {
                        await Task.Yield();
                    }

                    if (call == last)
                    {
                        cancel.Cancel();
                    }

                    // Opens circuits, of which some close again.
                    return item % 5 == 1 ? throw new TestException("item") : item;
                }

                string plan = $"{policy} {seed}, round {round}, {runner}, {options.MaxDegreeOfParallelism}, cancelled at {last} of {count}";
                try
                {
                    await RunAsync(runner, policy == RuntimesLimit, queue, CallAsync, options, cancel.Token).WithinAsync(plan);
                }
                catch (OperationCanceledException) when (cancel.IsCancellationRequested)
                {
                }

                Assert.Equal(0, queue.Running);
                Assert.True(queue.Count + called.Count == count, $"{plan}: {called.Count} were called, and {queue.Count} are left");
            }

            called.AssertOnce(count);
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData("shared limit")]
    [InlineData("limit by key")]
    [InlineData("rate limit")]
    [InlineData("rate by key")]
    public async Task Cancel_WhileItemsWait_LeavesThemNotRun(string policy)
    {
        using CancellationTokenSource cancel = new();
        RunControl control = new();
        Task<ItemOutcome<int, int>[]> run = Enumerable.Range(0, 5).ToArray().SelectParallelOutcomesAsync(
            async (item, _) =>
            {
                await _gate.WaitAsync(CancellationToken.None);
                return item;
            },
            OptionsOf(policy, new Random(1)) with { MaxDegreeOfParallelism = 5, Control = control, ReturnOutcomesOnCancellation = true },
            cancel.Token);
        await Guard.UntilAsync(() => control.Snapshot() is { Started: 5 }, "all items");
        cancel.Cancel();
        _gate.Open();
        ItemOutcome<int, int>[] outcomes = await run.WithinAsync();
        Assert.All(outcomes, static outcome => Assert.True(outcome.Status is ItemStatus.Succeeded or ItemStatus.NotRun, $"{outcome.Status}"));
    }

    private static async Task RunAsync(
        string runner,
        bool hasLimit,
        WorkQueue<int> queue,
        Func<int, CancellationToken, ValueTask<int>> call,
        ParallelRunOptions options,
        CancellationToken token)
    {
        switch (runner)
        {
            case "ForEach":
                await queue.ForEachParallelAsync(async (item, stop) => await call(item, stop), options, token);
                break;
            case "Outcomes":
                await queue.SelectParallelOutcomesAsync(call, options, token);
                break;
            case "Stream":
                await OperatorRunner.GatherAsync(queue.SelectParallelStreamAsync(call, options, token));
                break;
            default:
                await using (IExecutionRuntime runtime = RuntimeCases.Create(runner, new RuntimeOptions { TotalConcurrency = hasLimit ? 2 : null }))
                {
                    await QueueRun.Start(
                        RunForm.Array,
                        runtime,
                        queue,
                        call,
                        new ProcessManyOptions { Policies = hasLimit ? null : options, PerItemTimeout = options.PerItemTimeout },
                        cancellationToken: token);
                }

                break;
        }
    }

    private static ParallelRunOptions OptionsOf(string policy, Random random)
    {
        RateLimitOptions rate = new() { TokensPerSecond = 2_000 + random.Next(20_000), BurstCapacity = 1 + random.Next(4) };
        CircuitBreakerOptions circuit = new() { FailureThreshold = 1, SuccessThreshold = 1, OpenTimeout = TimeSpan.FromMilliseconds(1 + random.Next(2)) };
        int limit = 1 + random.Next(3);
        ParallelRunOptions options = new() { OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen };
        return policy switch
        {
            "shared limit" => options with { SharedConcurrencyLimit = new SharedConcurrencyLimit(limit) },
            "limit by key" => options with { ConcurrencyLimitByKey = ConcurrencyLimits.ByKey<int, int>(static item => item % 3, limit) },
            "rate limit" => options with { RateLimit = rate },
            "rate by key" => options with { RateLimitByKey = RateLimits.ByKey<int, int>(static item => item % 3, rate) },
            "circuit" => options with { SharedCircuitBreaker = new CircuitBreaker(circuit) },
            "circuit by key" => options with { CircuitBreakerByKey = CircuitBreakers.ByKey<int, int>(static item => item % 3, circuit) },
            "limit and rate by key" => options with
            {
                ConcurrencyLimitByKey = ConcurrencyLimits.ByKey<int, int>(static item => item % 3, limit),
                RateLimitByKey = RateLimits.ByKey<int, int>(static item => item % 3, rate),
            },
            "hook" => options with { OnStartItemAsync = YieldAsync },
            RuntimesLimit => options,
            _ => options with { OnStartItemAsync = YieldAsync, SharedConcurrencyLimit = new SharedConcurrencyLimit(limit) },
        };
    }

    private static async ValueTask YieldAsync(int item)
    {
        if (item % 2 == 0)
        {
            await Task.Yield();
        }
    }
}
