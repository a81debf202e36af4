using System.Collections.Concurrent;
using System.Diagnostics;
using Weir.Observability;
using Weir.Resilience;
using Weir.TestKit;
using Weir.Tests.Operators.Budgets;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Observability;

/// <summary>The spans of runs and items. Alone, because a listener is one for the whole process.</summary>
[Collection(nameof(Alone))]
public sealed class TracingTests : IDisposable
{
    private static readonly ActivitySource Own = new("Weir.Tests");

    private readonly ConcurrentQueue<Activity> _started = new();
    private readonly ConcurrentQueue<Activity> _stopped = new();
    private readonly ActivityListener _listener;

    public TracingTests()
    {
        _listener = new ActivityListener
        {
            ShouldListenTo = static source => source.Name is WeirDiagnostics.ActivitySourceName or "Weir.Tests",
            Sample = static (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllDataAndRecorded,
            ActivityStarted = _started.Enqueue,
            ActivityStopped = _stopped.Enqueue,
        };
        ActivitySource.AddActivityListener(_listener);
    }

    public void Dispose() => _listener.Dispose();

    [Fact(Timeout = 90_000)]
    public async Task Span_OfARunWithANameAndTags_HasThem()
    {
        await new[] { 1 }.ForEachParallelAsync(
            static (_, _) => default, new ParallelRunOptions { OperationName = "import", Metrics = new() { Tags = [new("tenant", 7)] } });

        Activity span = Assert.Single(Spans("import"));
        Assert.Equal(
            ("ForEachParallelAsync", "import", 7),
            (span.GetTagItem("weir.operation"), span.GetTagItem("weir.operation.name"), span.GetTagItem("tenant")));
    }

    [Fact(Timeout = 90_000)]
    public async Task Span_OfARunThatCannotBeMade_Ends()
    {
        FaultyTimeProvider clock = new(TimeProvider.System);
        clock.FailAfter(0);
        await Assert.ThrowsAsync<IOException>(() => new[] { 1 }.ForEachParallelAsync(
            static (_, _) => default, new ParallelRunOptions { RateLimit = new RateLimitOptions { TimeProvider = clock } }));
        Assert.Equal("failed", Assert.Single(Spans("ForEachParallelAsync")).GetTagItem("weir.outcome"));
        NoneIsOpen();
    }

    [Fact(Timeout = 90_000)]
    public async Task Spans_OfARun_AreOneForItAndOneAnItemUnderIt()
    {
        using Activity? outer = Own.StartActivity("outer");
        ConcurrentDictionary<int, Activity?> current = new();
        Task<List<int>> run = Enumerable.Range(0, 5).SelectParallelAsync(async (x, _) =>
        {
            await Task.Yield();
            current[x] = Activity.Current;
            return x;
        });
        Assert.Same(outer, Activity.Current);
        await run;
        Assert.Same(outer, Activity.Current);

        Activity span = Assert.Single(Spans("SelectParallelAsync"));
        Assert.Same(outer, span.Parent);
        Assert.Equal("completed", span.GetTagItem("weir.outcome"));
        Assert.Equal(
            (5, 5L, 0L), (span.GetTagItem("weir.items.total"), span.GetTagItem("weir.items.succeeded"), span.GetTagItem("weir.items.failed_or_cancelled")));
        Activity[] items = Spans("weir.item");
        Assert.Equal(5, items.Length);
        Assert.All(items, item => Assert.Equal((span.SpanId, ActivityStatusCode.Unset), (item.ParentSpanId, item.Status)));
        Assert.All(items, item => Assert.Equal("weir.attempt", Assert.Single(item.Events).Name));
        Assert.Equal([0L, 1, 2, 3, 4], items.Select(static i => (long)i.GetTagItem("weir.item.index")!).Order());
        Assert.All(current, pair => Assert.Equal((long)pair.Key, pair.Value!.GetTagItem("weir.item.index")));
        NoneIsOpen();
    }

    [Fact(Timeout = 90_000)]
    public async Task Attempts_OfARetriedItem_AreEventsOfOneSpan()
    {
        ManualTimeProvider time = new();
        int calls = 0;
        Task<List<int>> run = new[] { 1 }.SelectParallelAsync(
            (x, _) => ++calls < 3 ? throw new FormatException("no") : new ValueTask<int>(x),
            new ParallelRunOptions
            {
                MaxRetries = 2, IsTransient = static e => e is FormatException, TimeProvider = time, CircuitBreaker = new CircuitBreakerOptions(),
            });
        await time.DriveAsync(run, TimeSpan.FromSeconds(1));
        await run;
        Activity item = Assert.Single(Spans("weir.item"));
        Assert.Equal("succeeded", item.GetTagItem("weir.outcome"));
        ActivityEvent[] events = [.. item.Events];
        Assert.Equal([1, 2, 3], events.Select(static e => e.Tags.First(static t => t.Key == "weir.attempt.number").Value));
        Assert.Equal(["System.FormatException", "System.FormatException", null],
            events.Select(static e => e.Tags.FirstOrDefault(static t => t.Key == "error.type").Value));
        Assert.Equal(2L, Assert.Single(Spans("SelectParallelAsync")).GetTagItem("weir.retries"));
        NoneIsOpen();
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Failures_EndTheirSpansWithTheError(bool adaptive)
    {
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 1, AdaptiveConcurrency = adaptive ? new() : null };
        await Assert.ThrowsAsync<FormatException>(() => new[] { 1 }.ForEachParallelAsync(static (_, _) => throw new FormatException("no"), options));
        Activity item = Assert.Single(Spans("weir.item"));
        Activity run = Assert.Single(Spans("ForEachParallelAsync"));
        Assert.All(new[] { item, run },
            static a => Assert.Equal((ActivityStatusCode.Error, "no", "System.FormatException"), (a.Status, a.StatusDescription, a.GetTagItem("error.type"))));
        Assert.Equal(("failed", "failed"), (item.GetTagItem("weir.outcome"), run.GetTagItem("weir.outcome")));
        NoneIsOpen();
    }

    [Fact(Timeout = 90_000)]
    public async Task Spans_OfCancelledTimedOutAndLeftStreams_AreAllEnded()
    {
        ManualTimeProvider time = new();
        TaskCompletionSource<int> never = new();
        int begun = 0;
        Task<ItemOutcome<int, int>[]> timed = new[] { 1, 2 }.SelectParallelOutcomesAsync(
            (_, _) =>
            {
                Interlocked.Increment(ref begun);
                return new ValueTask<int>(never.Task);
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 2, PerItemTimeout = TimeSpan.FromSeconds(1), TimeProvider = time });
        await Guard.UntilAsync(() => Volatile.Read(ref begun) == 2, "the begin of both items");
        await time.DriveAsync(timed, TimeSpan.FromSeconds(1));
        Assert.All(await timed, static o => Assert.Equal(ItemStatus.TimedOut, o.Status));
        Assert.Equal(2, Spans("weir.item").Count(static a => a.GetTagItem("weir.outcome") is "timed_out"));

        await foreach (int x in Enumerable.Range(0, 1000).SelectParallelStreamAsync(static (x, _) => new ValueTask<int>(x)))
        {
            break;
        }

        using CancellationTokenSource cancel = new();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Enumerable.Range(0, 4).SelectParallelAsync(
            async (x, token) =>
            {
                await cancel.CancelAsync();
                await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                return x;
            },
            null,
            cancel.Token));
        Assert.Equal("cancelled", Assert.Single(Spans("SelectParallelAsync")).GetTagItem("weir.outcome"));
        NoneIsOpen();
        never.SetResult(1);
    }

    private Activity[] Spans(string name) => [.. _stopped.Where(a => a.OperationName == name)];

    private void NoneIsOpen() => Assert.Empty(_started.Where(static a => a.Source.Name == WeirDiagnostics.ActivitySourceName).Except(_stopped));
}
