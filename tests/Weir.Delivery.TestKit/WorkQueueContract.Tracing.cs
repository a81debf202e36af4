using System.Collections.Concurrent;
using System.Diagnostics;
using Weir.Observability;
using Weir.Runtimes;

namespace Weir.Delivery.TestKit;

/// <content>The trace context travels with the items, with no action of the user.</content>
public abstract partial class WorkQueueContract
{
    [Fact(Timeout = Limit)]
    public async Task Write_InsideAnActivity_IsTheParentOfWhatTheProcessorDoes()
    {
        const string Own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        await using IWorkQueue<string> queue = await NewQueueAsync();
        var spans = new ConcurrentDictionary<string, (ActivityTraceId Trace, ActivitySpanId Parent, string? State)>();
        using var listener = new ActivityListener
        {
            ShouldListenTo = static source => source.Name == WeirDiagnostics.ActivitySourceName,
            Sample = static (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllData,
        };
        ActivitySource.AddActivityListener(listener);
        using var publish = new Activity("publish") { TraceStateString = "x=1" };
        publish.SetIdFormat(ActivityIdFormat.W3C).Start();
        await PublishAsync(
            queue,
            [
                new(new WorkId("t", 0), "plain"),
                new(new WorkId("t", 1), "headers", headers: new Dictionary<string, string> { ["colour"] = "blue" }),
                new(new WorkId("t", 2), "own", headers: new Dictionary<string, string> { ["traceparent"] = Own }),
            ]);
        publish.Stop();
        await PublishAsync(queue, [new(new WorkId("t", 3), "outside")]);
        using var stop = new CancellationTokenSource();
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        await using var runtime = new ConcurrentRuntime(2);
        var colours = new ConcurrentBag<string>();
        var host = new WorkHost<string>(
            source,
            runtime,
            (item, _) =>
            {
                Activity span = Activity.Current!;
                spans[item.Value] = (span.TraceId, span.ParentSpanId, span.TraceStateString);
                colours.Add(item.Headers?.GetValueOrDefault("colour") ?? "none");
                return default;
            },
            new WorkHostOptions<string> { DeadLetters = queue.DeadLetters, Serializer = WorkSerializer.Text });
        Task running = host.RunAsync(stop.Token);
        await Guard.UntilAsync(() => spans.Count == 4, "All four");
        await stop.CancelAsync();
        await running.WithinAsync("the host");
        var published = (publish.TraceId, publish.SpanId, "x=1");
        Assert.Equal([published, published], [spans["plain"], spans["headers"]]);
        Assert.Equal(ActivityContext.Parse(Own, null).SpanId, spans["own"].Parent);
        Assert.NotEqual(publish.TraceId, spans["outside"].Trace);
        Assert.Single(colours, "blue");
    }
}
