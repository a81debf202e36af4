using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using Weir.Observability;
using Weir.Runtimes;
using static Weir.Delivery.Tests.Hosts.ListSource;

namespace Weir.Delivery.Tests.Hosts;

/// <summary>The instruments and spans of hosts. Each test has a source of its own name, because other hosts run meanwhile.</summary>
public sealed class HostObservationTests
{
    private const int Limit = 120_000;

    [Fact(Timeout = Limit)]
    public async Task Meter_Host_CountsItemsBatchesAndLagAlsoAfterItsEnd()
    {
        const string name = "metered";
        using var gate = new Gate();
        var clock = new ManualTimeProvider();
        var source = new ListSource(AcknowledgementOrder.Delivery, Batch(0, 3), Batch(1, 2)) { Name = name };
        await using var runtime = new ConcurrentRuntime(8);
        var host = new WorkHost<int>(
            source,
            runtime,
            async (item, token) =>
            {
                if (item.Value == 101)
                {
                    await gate.WaitAsync(token);
                }
                else if (item.Value == 1)
                {
                    throw new TestException("No.");
                }
            },
            new WorkHostOptions<int> { DeadLetters = new MemoryDeadLetters(), Serializer = IntSerializer.Instance, TimeProvider = clock, MaxItemsPerCall = 1 });
        Assert.DoesNotContain("weir.work.in_flight", Observe(name).Keys);
        Task run = host.RunAsync();
        await Guard.UntilAsync(() => host.Statistics is { Succeeded: 3, DeadLettered: 1, AcknowledgedBatches: 1 }, "The others");
        clock.Advance(TimeSpan.FromSeconds(5));
        Dictionary<string, double> running = Observe(name);
        Assert.Equal((2, 5, 5), (running["weir.work.in_flight"], running["weir.work.lag"], running["weir.work.read"]));
        gate.Open();
        await run.WithinAsync();
        Dictionary<string, double> ended = Observe(name);
        Assert.Equal(
            [
                ("weir.work.batches", 2), ("weir.work.faults", 0), ("weir.work.in_flight", 0), ("weir.work.items dead_lettered", 1),
                ("weir.work.items failed", 1), ("weir.work.items redelivered", 0), ("weir.work.items returned", 0), ("weir.work.items succeeded", 4),
                ("weir.work.queued", 0), ("weir.work.read", 5),
            ],
            ended.OrderBy(static e => e.Key, StringComparer.Ordinal).Select(static e => (e.Key, e.Value)));
    }

    [Fact(Timeout = Limit)]
    public async Task Spans_Items_ContinueThePublishersTraceAndEndWithTheirOutcome()
    {
        const string name = "traced";
        const string parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        var spans = new ConcurrentQueue<Activity>();
        using ActivityListener listener = ListenTo("process traced", spans.Enqueue);
        WorkItem<int>[] items =
        [
            new(new WorkId("a", 0), 1, headers: new Dictionary<string, string> { ["traceparent"] = parent, ["tracestate"] = "x=1" }),
            new(new WorkId("a", 1), 2, attempt: 3, headers: new Dictionary<string, string> { ["traceparent"] = "nonsense" }),
        ];
        var source = new ListSource(AcknowledgementOrder.Delivery, new WorkBatch<int>(items, "0")) { Name = name };
        await using var runtime = new ConcurrentRuntime(2);
        var inside = new ConcurrentDictionary<int, string?>();
        var host = new WorkHost<int>(
            source,
            runtime,
            async (item, _) =>
            {
                await Task.Yield();
                inside[item.Value] = Activity.Current?.SpanId.ToString();
                if (item.Value == 2)
                {
                    throw new TestException("No.");
                }
            },
            new WorkHostOptions<int> { DeadLetters = new MemoryDeadLetters(), Serializer = IntSerializer.Instance });
        await host.RunAsync().WithinAsync();
        Activity[] ended = [.. spans.OrderBy(static s => s.GetTagItem("weir.work.id"))];
        Assert.Equal(["a/0", "a/1"], ended.Select(static s => s.GetTagItem("weir.work.id")));
        Assert.Equal((parent, "x=1", true, ActivityKind.Consumer), (ended[0].ParentId, ended[0].TraceStateString, ended[0].HasRemoteParent, ended[0].Kind));
        Assert.False(ended[1].HasRemoteParent);
        Assert.Equal([1, 3], ended.Select(static s => s.GetTagItem("weir.work.attempt")));
        Assert.All(ended, static s => Assert.Equal(
            ("weir", "process", "process", "traced", s.GetTagItem("weir.work.id")),
            (s.GetTagItem("messaging.system"), s.GetTagItem("messaging.operation.name"), s.GetTagItem("messaging.operation.type"),
                s.GetTagItem("messaging.destination.name"), s.GetTagItem("messaging.message.id"))));
        Assert.All(ended, static s => Assert.Null(s.GetTagItem("messaging.batch.message_count")));
        Assert.Equal(["succeeded", "failed"], ended.Select(static s => s.GetTagItem("weir.outcome")));
        Assert.Equal((typeof(TestException).FullName, ActivityStatusCode.Error), (ended[1].GetTagItem("error.type"), ended[1].Status));
        Assert.Equal(ended.Select(static s => s.SpanId.ToString()), [inside[1], inside[2]]);
    }

    [Fact(Timeout = Limit)]
    public async Task Spans_CallIgnoresItsToken_EndsWhenItIsCancelled()
    {
        using var gate = new Gate();
        var clock = new ManualTimeProvider();
        var ended = new TaskCompletionSource<Activity>();
        using ActivityListener listener = ListenTo("process stubborn", span => ended.TrySetResult(span));
        var source = new ListSource(AcknowledgementOrder.Delivery, Batch(0, 1)) { Name = "stubborn" };
        using var runs = new Gate();
        await using var runtime = new ConcurrentRuntime(2);
        var host = new WorkHost<int>(
            source,
            runtime,
            async (_, _) =>
            {
                runs.Open();
                await gate.WaitAsync(CancellationToken.None);
            },
            new WorkHostOptions<int> { DeadLetters = new MemoryDeadLetters(), Serializer = IntSerializer.Instance, TimeProvider = clock });
        Task run = host.RunAsync();
        await runs.WaitAsync();
        host.Abort();
        Assert.Equal("cancelled", (await ended.Task.WithinAsync("The span")).GetTagItem("weir.outcome"));
        gate.Open();
        await run.WithinAsync();
    }

    [Fact(Timeout = Limit)]
    public async Task Sampler_OfASpan_SeesWhatTheSpanIsAbout()
    {
        var seen = new ConcurrentQueue<Dictionary<string, object?>>();
        using ActivityListener listener = new()
        {
            ShouldListenTo = static source => source.Name == WeirDiagnostics.ActivitySourceName,
            Sample = (ref ActivityCreationOptions<ActivityContext> options) =>
            {
                if (options.Name == "process sampled")
                {
                    seen.Enqueue(options.Tags!.ToDictionary(static t => t.Key, static t => t.Value));
                }

                return ActivitySamplingResult.None;
            },
        };
        ActivitySource.AddActivityListener(listener);
        var queue = new MemoryWorkQueue<string>("sampled", WorkSerializer.Text);
        await using (IWorkSink<string> sink = await queue.OpenSinkAsync())
        {
            await sink.WriteAsync(WorkItem.CreateMany(["a"]), position: null, CancellationToken.None);
        }

        queue.Complete();
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        await using var runtime = new ConcurrentRuntime(2);
        var host = new WorkHost<string>(
            source, runtime, static (_, _) => default, new WorkHostOptions<string> { DeadLetters = queue.DeadLetters, Serializer = WorkSerializer.Text });
        await host.RunAsync().WithinAsync();
        Dictionary<string, object?> tags = Assert.Single(seen);
        Assert.Equal(
            ("weir_memory", "process", "process", "sampled", tags["weir.work.id"]),
            (tags["messaging.system"], tags["messaging.operation.name"], tags["messaging.operation.type"], tags["messaging.destination.name"],
                tags["messaging.message.id"]));
    }

    [Fact(Timeout = Limit)]
    public async Task DeadLetter_ItemFailedWithVeryManyFailures_HasAnErrorThatCanBeStored()
    {
        var letters = new MemoryDeadLetters();
        var source = new ListSource(AcknowledgementOrder.Delivery, Batch(0, 2)) { Name = "large" };
        await using var runtime = new ConcurrentRuntime(2);
        int calls = 0;
        var host = new WorkHost<int>(
            source,
            runtime,
            (item, _) =>
            {
                Interlocked.Increment(ref calls);
                throw item.Value == 0
                    ? new AggregateException(Enumerable.Range(0, 50_000).Select(static i => new IOException($"Part {i} has failed, with some more words")))
                    : new Unreadable();
            },
            new WorkHostOptions<int>
            {
                DeadLetters = letters,
                Serializer = IntSerializer.Instance,
                MaxAttempts = 1,
                Retry = new() { MaxRetries = 2, BaseDelay = TimeSpan.Zero, IsTransient = static _ => true },
            });
        await host.RunAsync().WithinAsync();
        List<DeadLetter> all = await letters.ListAsync().ToListAsync();
        Assert.Equal((2, 6), (all.Count, calls));
        Assert.All(all, static letter => Assert.InRange(letter.Error.Length, 20, 20_000));
        Assert.All(all, static letter => Assert.Equal((1, 3), (letter.Attempts, letter.Calls)));
        Assert.Contains(all, static letter => letter.Error.Contains("Part 0", StringComparison.Ordinal));
        Assert.Contains(all, static letter => letter.Error.Contains("50,000", StringComparison.Ordinal));
        Assert.Contains(all, static letter => letter.Error.Contains(nameof(Unreadable), StringComparison.Ordinal));
    }

    private static ActivityListener ListenTo(string operation, Action<Activity> ended)
    {
        ActivityListener listener = new()
        {
            ShouldListenTo = static source => source.Name == WeirDiagnostics.ActivitySourceName,
            Sample = static (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllDataAndRecorded,
            ActivityStopped = span =>
            {
                if (span.OperationName == operation)
                {
                    ended(span);
                }
            },
        };
        ActivitySource.AddActivityListener(listener);
        return listener;
    }

    private static Dictionary<string, double> Observe(string source)
    {
        Dictionary<string, double> values = [];
        using MeterListener listener = new();
        listener.InstrumentPublished = static (instrument, listener) =>
        {
            if (instrument.Meter.Name == WeirDiagnostics.MeterName && instrument.Name.StartsWith("weir.work.", StringComparison.Ordinal))
            {
                listener.EnableMeasurementEvents(instrument);
            }
        };
        void Keep(Instrument instrument, double value, ReadOnlySpan<KeyValuePair<string, object?>> tags)
        {
            if (source.Equals(tags[0].Value))
            {
                values[tags.Length > 1 ? $"{instrument.Name} {tags[1].Value}" : instrument.Name] = value;
            }
        }

        listener.SetMeasurementEventCallback<long>((instrument, value, tags, _) => Keep(instrument, value, tags));
        listener.SetMeasurementEventCallback<double>((instrument, value, tags, _) => Keep(instrument, value, tags));
        listener.Start();
        listener.RecordObservableInstruments();
        return values;
    }

    private sealed class Unreadable : Exception
    {
        public override string Message => throw new InvalidOperationException("no message");

        public override string ToString() => throw new InvalidOperationException("no text");
    }
}
