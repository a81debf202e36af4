using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using Weir.Observability;
using Weir.Runtimes;
using Weir.Tests.Operators.Budgets;
using Weir.Tests.Operators.Support;
using Weir.Tests.Runtimes;

namespace Weir.Tests.Observability;

/// <summary>The spans and call durations of the runtimes' calls. Alone, because a listener is one for the whole process.</summary>
[Collection(nameof(Alone))]
public sealed class RuntimeTracingTests : IDisposable
{
    private readonly ConcurrentQueue<Activity> _started = new();
    private readonly ConcurrentQueue<Activity> _stopped = new();
    private readonly ConcurrentQueue<string> _durations = new();
    private readonly ActivityListener _listener;
    private readonly MeterListener _meter = new();

    public RuntimeTracingTests()
    {
        _listener = new ActivityListener
        {
            ShouldListenTo = static source => source.Name == WeirDiagnostics.ActivitySourceName,
            Sample = static (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllDataAndRecorded,
            ActivityStarted = _started.Enqueue,
            ActivityStopped = _stopped.Enqueue,
        };
        ActivitySource.AddActivityListener(_listener);
        _meter.InstrumentPublished = static (instrument, listener) =>
        {
            if (instrument.Meter.Name == WeirDiagnostics.MeterName && instrument.Name == "weir.call.duration")
            {
                listener.EnableMeasurementEvents(instrument);
            }
        };
        _meter.SetMeasurementEventCallback<double>(
            (_, _, tags, _) => _durations.Enqueue(string.Join(',', tags.ToArray().Select(static tag => $"{tag.Key}={tag.Value}"))));
        _meter.Start();
    }

    public static TheoryData<string, bool> Cases => new()
    {
        { "concurrent 3", false }, { "concurrent 3", true }, { "parallel 2", false }, { "parallel 2", true }, { "direct", true }, { "auto 3", true },
        { "direct", false }, { "auto 3", false },
    };

    public void Dispose()
    {
        _listener.Dispose();
        _meter.Dispose();
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(Cases))]
    public async Task Call_ThatIsListenedTo_HasASpanWithItsItemsAndDurations(string name, bool hasPolicies)
    {
        ParallelRunOptions policies = new() { MaxRetries = 1, BaseDelay = TimeSpan.Zero, IsTransient = static e => e is TestException };
        ProcessManyOptions options = new() { OperationName = "import", Tags = [new("tenant", 7)], Policies = hasPolicies ? policies : null };
        await using (IExecutionRuntime runtime = RuntimeCases.Create(name))
        {
            foreach (RunForm form in Enum.GetValues<RunForm>())
            {
                int failed = 0;
                await RuntimeRun.Start(
                    form,
                    runtime,
                    RuntimeRun.Count(5),
                    async (item, _) =>
                    {
                        Assert.Equal("weir.item", Activity.Current?.OperationName);
                        await Task.Yield();
                        return item == 3 && Interlocked.Increment(ref failed) == 1 ? throw new TestException("once") : item;
                    },
                    options).WithinAsync("the call");
            }
        }

        Activity[] calls = Spans("import");
        Assert.Equal(
            ["ProcessManyAsync", "ProcessManyStreamAsync", "ProcessManyStreamAsync"], calls.Select(static call => call.GetTagItem("weir.operation")));
        Assert.All(calls, call =>
        {
            Assert.Equal((name.Split(' ')[0], 7), (call.GetTagItem("weir.runtime"), call.GetTagItem("tenant")));
            Assert.Equal(("completed", 5, RuntimeCases.LimitOf(name)), (
                call.GetTagItem("weir.outcome"), call.GetTagItem("weir.items.total"), call.GetTagItem("weir.concurrency.limit")));
            Assert.Equal((hasPolicies ? 5L : 4L, hasPolicies ? 1L : 0L), (call.GetTagItem("weir.items.succeeded"), call.GetTagItem("weir.retries")));
            Activity[] items = [.. Spans("weir.item").Where(item => item.ParentSpanId == call.SpanId)];
            Assert.Equal([0L, 1, 2, 3, 4], items.Select(static item => (long)item.GetTagItem("weir.item.index")!).Order());
            Activity third = items.Single(static item => (long)item.GetTagItem("weir.item.index")! == 3);
            Assert.Equal((hasPolicies ? "succeeded" : "failed", hasPolicies ? 2 : 1), (third.GetTagItem("weir.outcome"), third.Events.Count()));
        });
        string tags = $"weir.runtime={name.Split(' ')[0]},weir.operation.name=import,tenant=7";
        Assert.Equal(hasPolicies ? 18 : 15, _durations.Count(told => told.Contains(tags, StringComparison.Ordinal)));
        Assert.Equal(3, _durations.Count(told => told.EndsWith($"{tags},error.type=Weir.TestKit.TestException", StringComparison.Ordinal)));
        NoneIsOpen();
    }

    [Fact(Timeout = 90_000)]
    public async Task Call_PastItsTime_AndAStreamOfADisposedRuntime_EndTheirSpans()
    {
        using Gate gate = new();
        ManualTimeProvider clock = new();
        ConcurrentRuntime runtime = new(2, new RuntimeOptions { TimeProvider = clock });
        TaskCompletionSource inside = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task<ItemOutcome<int, int>[]> late = runtime.ProcessManyAsync(
            [1],
            async (x, _) =>
            {
                inside.TrySetResult();
                await gate.WaitAsync(CancellationToken.None);
                return x;
            },
            new ProcessManyOptions { OperationName = "late", TotalTimeout = TimeSpan.FromSeconds(1) });
        await inside.Task.WithinAsync("the item");
        clock.Advance(TimeSpan.FromSeconds(1));
        RuntimeRun.AssertTimedOut((await late.WithinAsync("a call whose time is up"))[0]);
        Assert.Equal("timed_out", Assert.Single(Spans("late")).GetTagItem("weir.outcome"));

        IAsyncEnumerable<(int, ItemOutcome<int, int>)> stream = runtime.ProcessManyStreamAsync(
            [1], static (x, _) => new ValueTask<int>(x), false, new ProcessManyOptions { OperationName = "never" });
        gate.Open();
        await runtime.DisposeAsync();
        await Assert.ThrowsAsync<ObjectDisposedException>(async () => await stream.GetAsyncEnumerator().MoveNextAsync());
        Assert.Equal("failed", Assert.Single(Spans("never")).GetTagItem("weir.outcome"));
        NoneIsOpen();
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(Cases))]
    public async Task CallOverAQueueOfWork_HasASpanForEachOfItsItems(string name, bool hasPolicies)
    {
        ProcessManyOptions options = new() { OperationName = "crawl", Policies = hasPolicies ? new() { MaxRetries = 1 } : null };
        await using (IExecutionRuntime runtime = RuntimeCases.Create(name))
        {
            foreach (RunForm form in Enum.GetValues<RunForm>())
            {
                WorkQueue<int> queue = WorkTree.Begun();
                ItemOutcome<int, int>[] outcomes = await QueueRun.Start(
                    form,
                    runtime,
                    queue,
                    async (item, _) =>
                    {
                        Assert.Equal("weir.item", Activity.Current?.OperationName);
                        await Task.Yield();
                        return item < 4 && queue.Add(item + 1) ? item : throw new TestException("the last");
                    },
                    options,
                    keyed: form == RunForm.Stream).WithinAsync("the call");
                Assert.Equal([0, 1, 2, 3], outcomes.Values());
                queue.AssertEnded();
            }
        }

        Activity[] calls = Spans("crawl");
        Assert.Equal(3, calls.Length);
        Assert.All(calls, call =>
        {
            Assert.Equal(("completed", 4L), (call.GetTagItem("weir.outcome"), call.GetTagItem("weir.items.succeeded")));
            Activity[] items = [.. Spans("weir.item").Where(item => item.ParentSpanId == call.SpanId)];
            Assert.Equal([0L, 1, 2, 3, 4], items.Select(static item => (long)item.GetTagItem("weir.item.index")!).Order());
            Assert.Equal(1, items.Count(static item => "failed".Equals(item.GetTagItem("weir.outcome"))));
        });
        NoneIsOpen();
    }

    private Activity[] Spans(string name) => [.. _stopped.Where(a => a.OperationName == name)];

    private void NoneIsOpen() => Assert.Empty(_started.Except(_stopped));
}
