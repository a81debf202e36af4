using System.Text.RegularExpressions;
using Microsoft.Extensions.Logging;
using Weir.Delivery;
using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Logging.Tests;

/// <summary>Each line is a sentence, with and without a name, and for one as for many. Names and numbers are fields of it all the same.</summary>
public sealed partial class SentenceTests : IDisposable
{
    private readonly ManualTimeProvider _time = new();
    private readonly KeptLines _lines = new();
    private readonly ILoggerFactory _factory;

    public SentenceTests() => _factory = LoggerFactory.Create(builder => builder.SetMinimumLevel(LogLevel.Trace).AddProvider(_lines));

    public void Dispose()
    {
        _factory.Dispose();
        _lines.Dispose();
    }

    [Theory(Timeout = 90_000)]
    [InlineData(null, "SelectParallelAsync")]
    [InlineData("import", "SelectParallelAsync import")]
    public async Task Lines_OfARun_AreSentences(string? name, string run)
    {
        int calls = 0;
        Task<List<int>> results = new[] { 1 }.SelectParallelAsync(
            (x, _) => Interlocked.Increment(ref calls) < 3 ? throw new FormatException() : new ValueTask<int>(x),
            new ParallelRunOptions
            {
                OperationName = name, TimeProvider = _time, MaxRetries = 1, BaseDelay = TimeSpan.Zero, IsTransient = static _ => true,
                ErrorMode = ErrorMode.BestEffort,
            }.WithLogging(_factory));
        await Guard.UntilAsync(
            () =>
            {
                _time.Advance(TimeSpan.FromSeconds(1));
                return results.IsCompleted;
            },
            "the run");
        Assert.Empty(await results);
        AssertTexts(
            $"{run} starts, over 1 item.",
            $"{run}: attempt 1 of item 0 has failed, and the next comes in 0 s.",
            $"{run}: item 0 has failed.",
            $"{run} has ended (completed) after {Single(2).Fields["Seconds"]} s. Items succeeded: 0, failed: 1, cancelled: 0, retries: 1.");
        Assert.All(_lines.All, line => Assert.Equal(("SelectParallelAsync", name ?? ""), (line.Fields["Operation"], line.Fields["OperationName"])));
        Assert.Equal(1, _lines.All.First().Fields["TotalItems"]);
    }

    [Fact(Timeout = 90_000)]
    public async Task Lines_OfARunOfUnknownLengthThatFails_AreSentences()
    {
        static IEnumerable<int> Numbers()
        {
            yield return 1;
        }

        await Assert.ThrowsAsync<FormatException>(() => Numbers().ForEachParallelAsync(
            static (_, _) => throw new FormatException(), new ParallelRunOptions { TimeProvider = _time }.WithLogging(_factory)));
        AssertTexts(
            "ForEachParallelAsync starts, over an unknown number of items.",
            "ForEachParallelAsync: item 0 has failed.",
            "ForEachParallelAsync has failed after 0 s. Items succeeded: 0, failed: 1, cancelled: 0, retries: 0.");
        Assert.Null(_lines.All.First().Fields["TotalItems"]);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(null, "ForEachParallelAsync")]
    [InlineData("import", "ForEachParallelAsync import")]
    public async Task Lines_OfWaits_AreSentences(string? name, string run)
    {
        SharedConcurrencyLimit limit = new(1, maxWaiting: 2);
        Assert.True(limit.TryEnter());
        RunControl control = new();
        ParallelRunOptions options = new ParallelRunOptions
        {
            OperationName = name, TimeProvider = _time, ConcurrencyLimit = limit, MaxDegreeOfParallelism = 3, ErrorMode = ErrorMode.BestEffort,
            Control = control,
        }.WithLogging(_factory);
        Task run3 = new[] { 1, 2, 3 }.ForEachParallelAsync(static (_, _) => default, options);

        // The run counts them once it has looked at the clock, which is after they have joined the queue of the limit.
        await Guard.UntilAsync(() => control.Snapshot().Waiting == 2 && _lines.All.Any(static l => l.Id == 11), "the items at the limit");
        await Guard.UntilAsync(
            () =>
            {
                _time.Advance(TimeSpan.FromSeconds(1));
                return _lines.All.Any(static l => l.Id == 15);
            },
            "the line of waits");
        limit.Leave();
        await run3.WithinAsync("the run");
        string index = $"{Single(11).Fields["Index"]}";
        Assert.Equal($"{run}: item {index} was refused, because the concurrency limit is full. Calls at most: 1, waiting: 2.", Single(11).Text);
        KeptLine still = _lines.All.First(static l => l.Id == 15);
        Assert.Equal($"{run}: 2 items wait at their concurrency_limit, the first for {still.Fields["Seconds"]} s now.", still.Text);
        KeptLine[] waited = [.. _lines.All.Where(static l => l.Id == 12)];
        Assert.Equal($"{run}: an item has waited {waited[0].Fields["Seconds"]} s at its concurrency_limit.", waited[0].Text);
        AssertSentences();
    }

    [Theory(Timeout = 90_000)]
    [InlineData("", "A circuit")]
    [InlineData("orders", "The circuit orders")]
    public async Task Lines_OfACircuit_AreSentences(string name, string which)
    {
        CircuitBreaker breaker = new(new CircuitBreakerOptions
        {
            FailureThreshold = 1, SuccessThreshold = 1, OpenTimeout = TimeSpan.FromSeconds(1), TimeProvider = _time,
        }.WithLogging(_factory, name));
        Assert.True(breaker.TryEnter(out CircuitTicket ticket));
        breaker.Failed(ticket);
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.True(breaker.TryEnter(out ticket));
        breaker.Succeeded(ticket);
        await Guard.UntilAsync(() => _lines.All.Count == 3, "the changes");
        AssertTexts($"{which} has opened.", $"{which} is half-open.", $"{which} has closed.");
        Assert.All(_lines.All, line => Assert.Equal(name, line.Fields["Circuit"]));
    }

    [Theory(Timeout = 90_000)]
    [InlineData(null, "A work host")]
    [InlineData("orders.enter", "orders.enter")]
    public async Task Lines_OfAWorkHost_AreSentencesAndCountTheCalls(string? name, string who)
    {
        MemoryWorkQueue<string> queue = new("orders", WorkSerializer.Text);
        await using (IWorkSink<string> sink = await queue.OpenSinkAsync())
        {
            await sink.WriteAsync(WorkItem.CreateMany(["bad"]), position: null, CancellationToken.None);
        }

        queue.Complete();
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        await using DirectRuntime runtime = new();
        WorkHostOptions<string> options = new WorkHostOptions<string>
        {
            DeadLetters = queue.DeadLetters,
            Serializer = WorkSerializer.Text,
            MaxAttempts = 1,
            OperationName = name,
            Retry = new RetryOptions { MaxRetries = 2, BaseDelay = TimeSpan.Zero, IsTransient = static _ => true },
        }.WithLogging(_factory);
        WorkHost<string> host = new(source, runtime, static (_, _) => throw new FormatException(), options);
        await host.RunAsync(CancellationToken.None).WithinAsync("the host");
        options.OnFault!(new IOException());
        string id = (string)Single(13).Fields["Id"]!;
        AssertTexts(
            $"{who}: attempt 1 of item {id} of orders has failed. It was the last.",
            $"{who}: item {id} of orders was stored as a dead letter (Failed). Attempts: 1, calls of the processor in the last one: 3.",
            $"{who}: a call to read, acknowledge or store has failed, and is repeated.");
        Assert.Equal((1, 3, name ?? ""), (Single(13).Fields["Attempts"], Single(13).Fields["Calls"], Single(13).Fields["OperationName"]));
    }

    [Theory]
    [InlineData(null, "The concurrency limit of a run has changed from 2 to 1.")]
    [InlineData("import", "The concurrency limit of import has changed from 2 to 1.")]
    public async Task Lines_OfAnAdaptiveLimit_AreSentences(string? name, string text)
    {
        ParallelRunOptions options = new ParallelRunOptions { OperationName = name, AdaptiveConcurrency = new() }.WithLogging(_factory);
        await options.AdaptiveConcurrency!.OnConcurrencyChange!(2, 1);
        AssertTexts(text);
    }

    [Theory]
    [InlineData(null, "an unknown number of items")]
    [InlineData(0, "0 items")]
    [InlineData(1, "1 item")]
    [InlineData(2, "2 items")]
    public async Task Lines_OfAStart_CountTheItems(int? count, string items)
    {
        int[] all = [.. Enumerable.Range(0, count ?? 3)];
        await (count is null ? all.Where(static _ => true) : all).ForEachParallelAsync(
            static (_, _) => default, new ParallelRunOptions { TimeProvider = _time }.WithLogging(_factory));
        Assert.Equal($"ForEachParallelAsync starts, over {items}.", Single(1).Text);
        Assert.Equal(count, Single(1).Fields["TotalItems"]);
    }

    private KeptLine Single(int id) => Assert.Single(_lines.All, line => line.Id == id);

    private void AssertTexts(params string[] texts)
    {
        Assert.Equal(texts, _lines.All.Select(static line => line.Text));
        AssertSentences();
    }

    private void AssertSentences() => Assert.All(_lines.All, static line =>
    {
        Assert.Matches(@"^[A-Za-z].*\.$", line.Text);
        Assert.DoesNotMatch(Broken(), line.Text);
    });

    // Two blanks or a blank before a mark where a name is missing, a null, and one of something in the plural.
    [GeneratedRegex(@"  | [:,.]|\(null\)|\b1 (items|others|calls|attempts|retries)\b")]
    private static partial Regex Broken();
}
