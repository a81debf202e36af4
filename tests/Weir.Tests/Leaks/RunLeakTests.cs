using System.Threading.Channels;
using Weir.Resilience;
using Weir.Tests.Operators.Support;
using static Weir.Tests.Leaks.TrackedRun;

namespace Weir.Tests.Leaks;

/// <summary>Does anything hold an ended run: what its options share, a pool of the engine, a thread that waits for work, or a static cache?</summary>
public class RunLeakTests
{
    public static TheoryData<OperatorFamily> Families => [.. Enum.GetValues<OperatorFamily>()];

    [Theory(Timeout = Selectors.Timeout, Explicit = IsLong)]
    [MemberData(nameof(Families))]
    public async Task EndedRun_UnderAnyOption_IsHeldByNothing(OperatorFamily family)
    {
        bool isBatch = family is OperatorFamily.BatchList or OperatorFamily.BatchStream;
        bool hasResults = family != OperatorFamily.ForEach;
        List<(string Name, ParallelRunOptions Options)> all =
            isBatch ? LeakOptions.All<IReadOnlyList<Item>>(hasResults, isRuns: true) : LeakOptions.All<Item>(hasResults, isRuns: true);
        Held held = new();
        foreach ((string name, ParallelRunOptions options) in all)
        {
            foreach (Ending ending in Enum.GetValues<Ending>())
            {
                ParallelRunOptions used = OptionsFor(options, ending);
                foreach (bool isLazy in (bool[])[false, true])
                {
                    await new TrackedRun(held, name, ending).RunAsync(
                        (source, call, leaves, token) => RunAsync(family, source, call, used, leaves, token), isLazy);
                }
            }
        }

        await held.GoneAsync();
        GC.KeepAlive(all);
    }

    [Theory(Timeout = Selectors.Timeout, Explicit = IsLong)]
    [InlineData("shared place")]
    [InlineData("place by key")]
    [InlineData("shared rate")]
    [InlineData("rate by key")]
    [InlineData("shared circuit")]
    [InlineData("circuit by key")]
    [InlineData("retry")]
    public async Task RunCancelledWhileItWaits_AtWhatLivesOn_IsHeldByNothing(string at)
    {
        // Nothing that is waited for ever comes.
        TimeSpan never = TimeSpan.FromDays(1);
        SharedConcurrencyLimit full = new(1);
        Assert.True(full.TryEnter());
        RateLimitOptions slow = new() { TokensPerSecond = 0.000_01, BurstCapacity = 1 };
        CircuitBreakerOptions opens = new() { FailureThreshold = 1, OpenTimeout = never };
        ParallelRunOptions waits = new() { MaxDegreeOfParallelism = 2, OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen };
        CircuitBreaker shared = new(opens);
        CircuitBreakers<int> byKey = CircuitBreakers.ByKey<Item, int>(static _ => 1, opens);
        ParallelRunOptions options = at switch
        {
            "shared place" => waits with { ConcurrencyLimit = full },
            "place by key" => waits with { ConcurrencyLimit = ConcurrencyLimits.ByKey<Item, int>(static _ => 1, 1) },
            "shared rate" => waits with { RateLimit = new TokenBucket(slow) },
            "rate by key" => waits with { RateLimit = RateLimits.ByKey<Item, int>(static _ => 1, slow) },
            "shared circuit" => waits with { CircuitBreaker = shared, ErrorMode = ErrorMode.BestEffort },
            "circuit by key" => waits with { CircuitBreaker = byKey, ErrorMode = ErrorMode.BestEffort },
            _ => waits with
            {
                Retry = new() { MaxRetries = 1, IsTransient = static _ => true, BaseDelay = never, MaxDelay = never }, ErrorMode = ErrorMode.BestEffort,
            },
        };
        Held held = new();
        for (int i = 0; i < 3; i++)
        {
            await new TrackedRun(held, at, Ending.Fails).RunAsync(
                (source, call, _, token) => source.SelectParallelAsync(
                    async (item, stop) =>
                    {
                        Result result = await call(item, stop);
                        await Task.Delay(at == "place by key" && item.Index == 0 ? Timeout.InfiniteTimeSpan : TimeSpan.Zero, TimeProvider.System, stop);
                        return result;
                    },
                    options,
                    token),
                isLazy: i == 1,
                async caller =>
                {
                    await Guard.SettleAsync();
                    await caller.CancelAsync();
                });
        }

        // An open circuit knows what opened it.
        await held.GoneAsync(except: at.Contains("circuit", StringComparison.Ordinal) ? $"{at}, {Ending.Fails}: exception" : null);
        shared.Close();
        byKey.Get(1).Close();
        await held.GoneAsync();
        GC.KeepAlive(options);
    }

    [Fact(Timeout = Selectors.Timeout, Explicit = IsLong)]
    public async Task ItemsOfAWorkQueue_ThatHaveEnded_AreHeldByNothingWhileTheRunWaits()
    {
        Held held = new();
        List<(WorkQueue<Item> Queue, IDisposable Open, Task Run)> idle = [];
        foreach ((string name, ParallelRunOptions options) in LeakOptions.All<Item>(hasResults: false, isRuns: true))
        {
            foreach (ParallelRunOptions used in (ParallelRunOptions[])[options, OptionsFor(options, Ending.TimesOut)])
            {
                WorkQueue<Item> queue = new();
                IDisposable open = queue.KeepOpen();
                Task run = await FeedAsync(queue, held, name, used);
                idle.Add((queue, open, run));
            }
        }

        await held.GoneAsync();
        foreach ((_, IDisposable open, Task run) in idle)
        {
            open.Dispose();
            await run.WithinAsync();
        }
    }

    [Fact(Timeout = Selectors.Timeout, Explicit = IsLong)]
    public async Task ItemsOfAnEndlessStream_ThatHaveEnded_AreHeldByNothing()
    {
        Channel<Item> channel = Channel.CreateUnbounded<Item>();
        Held held = new();
        await using IAsyncEnumerator<Result> stream = channel.Reader
            .SelectParallelStreamAsync(static (item, _) => new ValueTask<Result>(new Result(item)), new ParallelRunOptions { OrderedOutput = true })
            .GetAsyncEnumerator(TestContext.Current.CancellationToken);
        for (int i = 0; i < 50; i++)
        {
            await ReadAsync(channel, stream, held);
        }

        // The last one is Current.
        await channel.Writer.WriteAsync(new Item(-1), TestContext.Current.CancellationToken);
        Assert.True(await stream.MoveNextAsync());
        await held.GoneAsync();
        channel.Writer.Complete();
        Assert.False(await stream.MoveNextAsync());
    }

    public static ParallelRunOptions OptionsFor(ParallelRunOptions options, Ending ending) =>
        ending is Ending.TimesOut or Ending.TimesOutForever ? options with { PerItemTimeout = TimeSpan.FromMilliseconds(10) } : options;

    private static async Task<Task> FeedAsync(WorkQueue<Item> queue, Held held, string name, ParallelRunOptions options)
    {
        Task run = queue.ForEachParallelAsync(
            async (item, _) =>
            {
                if (item.Index % 2 == 0)
                {
                    await Task.Yield();
                }
            },
            options with { ErrorMode = ErrorMode.BestEffort });
        for (int i = 0; i < 10; i++)
        {
            queue.Add(held.Add($"{name}: item", new Item(i)));
        }

        // With a time limit, an item may be out of time before its call is made.
        await Guard.UntilAsync(() => queue is { Count: 0, Running: 0 }, "the end of all items");
        return run;
    }

    private static async Task ReadAsync(Channel<Item> channel, IAsyncEnumerator<Result> stream, Held held)
    {
        await channel.Writer.WriteAsync(held.Add("item", new Item(1)));
        Assert.True(await stream.MoveNextAsync().WithinAsync());
        held.Add("result", stream.Current);
    }

    private static async Task RunAsync(
        OperatorFamily family,
        IEnumerable<Item> source,
        Func<Item, CancellationToken, ValueTask<Result>> call,
        ParallelRunOptions options,
        bool leaves,
        CancellationToken token)
    {
        switch (family)
        {
            case OperatorFamily.List:
                await source.SelectParallelAsync(call, options, token);
                break;
            case OperatorFamily.ForEach:
                await source.ForEachParallelAsync(async (item, stop) => await call(item, stop), options, token);
                break;
            case OperatorFamily.BatchList:
                await source.BatchParallelAsync(1, (batch, stop) => call(batch[0], stop), options, token);
                break;
            case OperatorFamily.Outcomes:
                await source.SelectParallelOutcomesAsync(call, options, token);
                await ReadAsync(source.SelectParallelOutcomesStreamAsync(call, options, token), leaves);
                break;
            case OperatorFamily.Stream:
                await ReadAsync(source.SelectParallelStreamAsync(call, options, token), leaves);
                break;
            case OperatorFamily.OrderedStream:
                await ReadAsync(source.SelectParallelStreamAsync(call, options with { OrderedOutput = true }, token), leaves);
                break;
            default:
                await ReadAsync(source.BatchParallelStreamAsync(1, (batch, stop) => call(batch[0], stop), options: options, cancellationToken: token), leaves);
                break;
        }
    }

    internal static async Task ReadAsync<T>(IAsyncEnumerable<T> stream, bool leaves)
    {
        await foreach (T _ in stream)
        {
            if (leaves)
            {
                break;
            }
        }
    }
}
