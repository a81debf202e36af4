using System.Diagnostics;
using Weir.Core;
using Weir.Core.Metering;
using Weir.Observability;
using Weir.Resilience;

namespace Weir.Delivery;

/// <summary>The span of an item: what the processor does for it, with all immediate attempts.</summary>
internal static class HostTrace
{
    private const string Outcome = "weir.outcome";
    private const string Operation = "process";

    private static readonly ActivitySource? Source = SafeCall.Try(
        static () => new ActivitySource(WeirDiagnostics.ActivitySourceName, typeof(HostTrace).Assembly.GetName().Version?.ToString(3)));

    public static bool HasListeners => Source?.HasListeners() == true;

    /// <summary>Runs a call inside the span of its item.</summary>
    public static async ValueTask<TResult> RunAsync<T, TState, TResult>(
        IWorkSource<T> source,
        WorkItem<T> item,
        Func<TState, CancellationToken, ValueTask<TResult>> call,
        TState state,
        CancellationToken cancellationToken)
    {
        Activity? span = Start(source, item);
        if (span is null)
        {
            return await call(state, cancellationToken).ConfigureAwait(false);
        }

        // A call that ignores its token may never end, but its span must.
        using CancellationTokenRegistration atCancellation = cancellationToken.UnsafeRegister(
            static span => Unattended.Run((Activity)span!, static span => End(span, "cancelled", null)), span);
        try
        {
            TResult result = await call(state, cancellationToken).ConfigureAwait(false);
            End(span, "succeeded", null);
            return result;
        }
        catch (Exception error)
        {
            bool isCancelled = error is OperationCanceledException && cancellationToken.IsCancellationRequested;
            End(span, isCancelled ? "cancelled" : "failed", isCancelled ? null : error);
            throw;
        }
    }

    private static Activity? Start<T>(IWorkSource<T> source, WorkItem<T> item) => SafeCall.Try(() =>
    {
        // The publisher's context, if the item brings one; otherwise the current span is the parent.
        string? parent = item.Headers?.GetValueOrDefault(TraceContext.Parent);
        ActivityContext context = default;
        if (parent is not null)
        {
            ActivityContext.TryParse(parent, item.Headers!.GetValueOrDefault(TraceContext.State), isRemote: true, out context);
        }

        // The attributes that OpenTelemetry's conventions list for a consumer. Set when the span begins, so that samplers see them. No number of messages,
        // because the span is that of one item.
        string id = item.Id.ToString();
        KeyValuePair<string, object?>[] tags =
        [
            new("messaging.system", source.MessagingSystem),
            new("messaging.operation.name", Operation),
            new("messaging.operation.type", Operation),
            new("messaging.destination.name", source.Name),
            new("messaging.message.id", id),
            new("weir.work.source", source.Name),
            new("weir.work.id", id),
            new("weir.work.attempt", item.Attempt),
        ];
        return Source?.StartActivity($"{Operation} {source.Name}", ActivityKind.Consumer, context, tags);
    });

    private static void End(Activity span, string outcome, Exception? error) => SafeCall.Try(() =>
    {
        if (span.IsStopped)
        {
            return span;
        }

        span.SetTag(Outcome, outcome);
        if (error is not null)
        {
            span.SetTag("error.type", error.GetType().FullName);
            span.SetStatus(ActivityStatusCode.Error, error.Message);
        }

        span.Stop();
        return span;
    });
}
