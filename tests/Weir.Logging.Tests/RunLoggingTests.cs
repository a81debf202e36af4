using System.Text.RegularExpressions;
using Microsoft.Extensions.Logging;
using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Logging.Tests;

public sealed partial class RunLoggingTests : IDisposable
{
    private readonly ManualTimeProvider _time = new();
    private readonly KeptLines _lines = new();

    public void Dispose() => _lines.Dispose();

    private ParallelRunOptions Options => new()
    {
        OperationName = "import",
        Metrics = new() { Tags = [new("tenant", 7)] },
        ErrorMode = ErrorMode.BestEffort,
        MaxDegreeOfParallelism = 2,
        TimeProvider = _time,
    };

    [Fact(Timeout = 90_000)]
    public async Task Lines_OfARun_TellItsStartItsFailuresAndItsEnd()
    {
        using ILoggerFactory factory = Factory(_lines);
        List<int> results = await new[] { 1, 2, 3 }.SelectParallelAsync(
            static (x, _) => x == 2 ? throw new FormatException("two") : new ValueTask<int>(x), Options.WithLogging(factory));

        Assert.Equal([1, 3], results);
        Assert.Equal([1, 5, 2], _lines.All.Select(static l => l.Id));
        Assert.All(_lines.All, static l =>
        {
            Assert.Equal(RunLogging.Category, l.Category);
            Assert.Equal("SelectParallelAsync", l.Fields["Operation"]);
            Assert.Equal("import", l.Fields["OperationName"]);
            Assert.Equal(7, l.Fields["tenant"]);
        });
        KeptLine failed = _lines.All.ElementAt(1);
        Assert.Equal((LogLevel.Warning, 1L), (failed.Level, failed.Fields["Index"]));
        Assert.IsType<FormatException>(failed.Error);
        KeptLine end = _lines.All.Last();
        Assert.Equal(("completed", 2L, 1L), (end.Fields["Outcome"], end.Fields["Succeeded"], end.Fields["Failed"]));
    }

    [Fact(Timeout = 90_000)]
    public async Task Lines_OfRetries_HaveAttemptDelayAndError()
    {
        using ILoggerFactory factory = Factory(_lines);
        int calls = 0;
        Task run = new[] { 1 }.ForEachParallelAsync(
            (_, _) => Interlocked.Increment(ref calls) < 3 ? throw new FormatException() : default,
            (Options with
            {
                MaxRetries = 5, IsTransient = static _ => true, BackoffStrategy = BackoffStrategy.Linear, BaseDelay = TimeSpan.FromSeconds(1),
            }).WithLogging(factory));
        while (!run.IsCompleted)
        {
            _time.Advance(TimeSpan.FromSeconds(1));
            await Task.Yield();
        }

        await run;
        Assert.Equal([1, 4, 4, 2], _lines.All.Select(static l => l.Id));
        Assert.Equal([1, 2], _lines.All.Where(static l => l.Id == 4).Select(static l => l.Fields["Attempt"]));
        Assert.Equal([1.0, 2.0], _lines.All.Where(static l => l.Id == 4).Select(static l => l.Fields["DelaySeconds"]));
        Assert.Equal(2L, _lines.All.Last().Fields["Retries"]);
    }

    [Theory(Timeout = 90_000)]
    [InlineData("direct")]
    [InlineData("concurrent")]
    [InlineData("parallel")]
    [InlineData("auto")]
    public async Task Lines_OfARuntimesCall_TellWhatThoseOfARunDo(string name)
    {
        using ILoggerFactory factory = Factory(_lines);
        RuntimeOptions options = new()
        {
            Policies = new ParallelRunOptions { MaxRetries = 1, BaseDelay = TimeSpan.Zero, IsTransient = static _ => true }.WithLogging(factory),
        };
        await using (IExecutionRuntime runtime = Runtime(name, options))
        {
            await runtime.ProcessManyAsync(
                [1, 2],
                static (x, _) => x == 2 ? throw new FormatException("two") : new ValueTask<int>(x),
                new ProcessManyOptions { OperationName = "import", Tags = [new("tenant", 7)] });
        }

        Assert.Equal([1, 4, 5, 2], _lines.All.Select(static l => l.Id));
        Assert.All(
            _lines.All,
            static l => Assert.Equal(("ProcessManyAsync", "import", 7), (l.Fields["Operation"], l.Fields["OperationName"], l.Fields["tenant"])));
        KeptLine end = _lines.All.Last();
        Assert.Equal(("completed", 1L, 1L, 1L), (end.Fields["Outcome"], end.Fields["Succeeded"], end.Fields["Failed"], end.Fields["Retries"]));
    }

    [Fact(Timeout = 90_000)]
    public async Task Lines_OfARunThatFails_EndWithItsError()
    {
        using ILoggerFactory factory = Factory(_lines);
        await Assert.ThrowsAsync<FormatException>(() => new[] { 1 }.ForEachParallelAsync(
            static (_, _) => throw new FormatException(), (Options with { ErrorMode = ErrorMode.FailFast }).WithLogging(factory)));

        Assert.Equal([1, 5, 3], _lines.All.Select(static l => l.Id));
        Assert.Equal((LogLevel.Error, true), (_lines.All.Last().Level, _lines.All.Last().Error is FormatException));
    }

    [Fact(Timeout = 90_000)]
    public async Task Lines_OfAnItemThatTimesOut_SayThatItWasGivenUp()
    {
        using ILoggerFactory factory = Factory(_lines);
        using Gate never = new();
        int inside = 0;
        Task run = new[] { 1 }.ForEachParallelAsync(
            async (_, token) =>
            {
                Interlocked.Increment(ref inside);
                await never.WaitAsync(token);
            },
            (Options with { PerItemTimeout = TimeSpan.FromSeconds(1) }).WithLogging(factory));
        await Guard.UntilAsync(() => Volatile.Read(ref inside) == 1, "the item");
        while (!run.IsCompleted)
        {
            _time.Advance(TimeSpan.FromSeconds(1));
            await Task.Yield();
        }

        await run;
        Assert.Equal([1, 6, 2], _lines.All.Select(static l => l.Id));
    }

    [Theory(Timeout = 90_000)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Lines_OfAnItemThatASharedLimitRefuses_HaveTheLimitAndNoStack(bool onARuntime)
    {
        using ILoggerFactory factory = Factory(_lines);
        SharedConcurrencyLimit limit = new(1, maxWaiting: 0);
        Assert.True(limit.TryEnter());
        if (onARuntime)
        {
            ParallelRunOptions policies = new() { ConcurrencyLimit = limit };
            await using ConcurrentRuntime runtime = new(options: new RuntimeOptions { Policies = policies.WithLogging(factory) });
            await runtime.ProcessManyAsync([1], static (x, _) => new ValueTask<int>(x), new ProcessManyOptions { OperationName = "import" });
        }
        else
        {
            await new[] { 1 }.ForEachParallelAsync(static (_, _) => default, (Options with { ConcurrencyLimit = limit }).WithLogging(factory));
        }

        Assert.Equal([1, 11, 2], _lines.All.Select(static l => l.Id));
        KeptLine refused = _lines.All.ElementAt(1);
        Assert.Equal((LogLevel.Warning, null), (refused.Level, refused.Error));
        Assert.Equal(("import", 0L, 1, 0), (refused.Fields["OperationName"], refused.Fields["Index"], refused.Fields["Limit"], refused.Fields["MaxWaiting"]));
    }

    [Fact(Timeout = 90_000)]
    public async Task Lines_OfLongWaitsAtASharedLimit_AreNotOneForEachItem()
    {
        using ILoggerFactory factory = Factory(_lines);
        await RunAtFullLimitAsync(options => options.WithLogging(factory, longWait: TimeSpan.FromSeconds(5)));

        // Line 15 may come in between: its look is on another thread. See LongWaitTests.
        Assert.Equal([1, 12, 12, 2], _lines.All.Select(static l => l.Id).Where(static id => id != 15));
        KeptLine[] waits = [.. _lines.All.Where(static l => l.Id == 12)];
        Assert.Equal([(7.0, 0), (12.0, 1)], waits.Select(static l => ((double)l.Fields["Seconds"]!, (int)l.Fields["Others"]!)));
        Assert.All(waits, static l => Assert.Equal(
            (LogLevel.Warning, "concurrency_limit", "import", 7), (l.Level, l.Fields["Limit"], l.Fields["OperationName"], l.Fields["tenant"])));
    }

    [Theory(Timeout = 90_000)]
    [InlineData(13)]
    [InlineData(null)]
    public async Task Lines_OfShorterWaits_AreNone(int? seconds)
    {
        using ILoggerFactory factory = Factory(_lines);
        await RunAtFullLimitAsync(options => options.WithLogging(factory, seconds is { } s ? TimeSpan.FromSeconds(s) : Timeout.InfiniteTimeSpan));
        Assert.Equal([1, 2], _lines.All.Select(static l => l.Id));
    }

    [Fact]
    public void WithLogging_NegativeWait_Throws()
    {
        using ILoggerFactory factory = Factory(_lines);
        Assert.Throws<ArgumentOutOfRangeException>("longWait", () => Options.WithLogging(factory, TimeSpan.FromSeconds(-2)));
    }

    [Fact(Timeout = 90_000)]
    public async Task Lines_OfACircuit_TellEachChange_AndTheCallersOwnCallbackIsCalled()
    {
        using ILoggerFactory factory = Factory(_lines);
        int own = 0;
        CircuitBreaker breaker = new(new CircuitBreakerOptions
        {
            FailureThreshold = 1,
            SuccessThreshold = 1,
            OpenTimeout = TimeSpan.FromSeconds(1),
            TimeProvider = _time,
            OnStateChange = (_, _) =>
            {
                Interlocked.Increment(ref own);
                return default;
            },
        }.WithLogging(factory, "orders"));
        Assert.True(breaker.TryEnter(out CircuitTicket ticket));
        breaker.Failed(ticket);
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.True(breaker.TryEnter(out ticket));
        breaker.Succeeded(ticket);

        await Guard.UntilAsync(() => Volatile.Read(ref own) == 3, "the changes");
        Assert.Equal([7, 8, 9], _lines.All.Select(static l => l.Id));
        Assert.All(_lines.All, static l => Assert.Equal("orders", l.Fields["Circuit"]));
    }

    [Fact(Timeout = 90_000)]
    public async Task Logger_ThatThrowsAtEachCall_ChangesNothing()
    {
        KeptLines lines = new() { Throws = true };
        using ILoggerFactory factory = Factory(lines);
        int calls = 0;
        ParallelRunOptions options = Options with
        {
            Metrics = null, Retry = new() { MaxRetries = 1, IsTransient = static _ => true, BaseDelay = TimeSpan.Zero, MaxDelay = TimeSpan.Zero },
        };
        Task<List<int>> run = Enumerable.Range(0, 20).SelectParallelAsync(
            (x, _) =>
            {
                Interlocked.Increment(ref calls);
                return x % 2 == 0 ? throw new FormatException() : new ValueTask<int>(x);
            },
            options.WithLogging(factory));
        while (!run.IsCompleted)
        {
            _time.Advance(TimeSpan.FromSeconds(1));
            await Task.Yield();
        }

        Assert.Equal(Enumerable.Range(0, 10).Select(static x => (2 * x) + 1), await run);
        Assert.Equal(30, calls);
        Assert.Equal(22, lines.All.Count);
    }

    [Fact]
    public void Ids_Each_IsInTheDocumentation()
    {
        string page = File.ReadAllText(Path.Combine(Repository.Root, "docs", "reference", "observability.md"));
        string lines = File.ReadAllText(Path.Combine(Repository.Root, "src", "Weir.Logging", "Lines.cs"));
        (string Id, string Level)[] all = [.. LineOf().Matches(lines).Select(static m => (m.Groups[1].Value, m.Groups[2].Value))];
        Assert.Equal(17, all.Distinct().Count());
        Assert.All(all, line => Assert.Contains($"| {line.Id} | {line.Level} |", page, StringComparison.Ordinal));
    }

    /// <summary>Of four items, two wait for 7 s, and two for 12 s.</summary>
    private async Task RunAtFullLimitAsync(Func<ParallelRunOptions, ParallelRunOptions> log)
    {
        SharedConcurrencyLimit limit = new(2);
        Assert.True(limit.TryEnter());
        Assert.True(limit.TryEnter());
        using Gate gate = new();
        RunControl control = new();
        int inside = 0;
        Task run = new[] { 1, 2, 3, 4 }.ForEachParallelAsync(
            async (_, token) =>
            {
                Interlocked.Increment(ref inside);
                await gate.WaitAsync(token);
            },
            log(Options with { ConcurrencyLimit = limit, MaxDegreeOfParallelism = 4, Control = control }));

        // The run counts them once it has looked at the clock, which is after they have joined the queue of the limit.
        await Guard.UntilAsync(() => control.Snapshot().Waiting == 4, "the items at the limit");
        _time.Advance(TimeSpan.FromSeconds(7));
        limit.Leave();
        limit.Leave();
        await Guard.UntilAsync(() => Volatile.Read(ref inside) == 2, "the first items");
        _time.Advance(TimeSpan.FromSeconds(5));
        gate.Open();
        await run.WithinAsync("the run");
    }

    internal static IExecutionRuntime Runtime(string name, RuntimeOptions options) => name switch
    {
        "direct" => new DirectRuntime(options),
        "concurrent" => new ConcurrentRuntime(options: options),
        "parallel" => new ParallelRuntime(options: options),
        _ => new AutoRuntime(options: options),
    };

    private static ILoggerFactory Factory(KeptLines lines) =>
        LoggerFactory.Create(builder => builder.SetMinimumLevel(LogLevel.Trace).AddProvider(lines));

    [GeneratedRegex(@"LoggerMessage\(\s*(\d+),\s*LogLevel\.(\w+)")]
    private static partial Regex LineOf();
}
