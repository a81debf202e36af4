using System.Diagnostics;
using Weir.Core.Metering;

namespace Weir.Dataflow.Metering;

/// <summary>The spans of messages. Listeners are user code, and what they throw changes nothing.</summary>
internal static class BlockTrace
{
    // Null if a listener threw when it was notified of the source.
    private static readonly ActivitySource? Source = SafeCall.Invoke(
        static name => new ActivitySource(name, typeof(BlockTrace).Assembly.GetName().Version?.ToString(3)), DiagnosticNames.Library);

    public static bool HasListeners => Source?.HasListeners() == true;

    /// <summary>Starts the span of a message, and makes it the current one of this thread.</summary>
    /// <param name="label">The block.</param>
    /// <param name="parent">Where the message came from. Null if that was not recorded: then the worker's own context, which is that of who woke it.</param>
    public static Activity? Start(BlockLabel label, ActivityContext? parent) => SafeCall.Invoke(
        static message =>
        {
            if (message.Parent == default(ActivityContext))
            {
                // The sender had no span: the span that is current here belongs to another message.
                Activity.Current = null;
            }

            return Source?.StartActivity("weir.message", ActivityKind.Internal, message.Parent ?? default, message.Label.Tags);
        },
        (Label: label, Parent: parent));

    /// <summary>Ends the span of a message.</summary>
    public static void End(Activity span, Exception? error, bool isCancelled) => SafeCall.Invoke(
        static end =>
        {
            end.Span.SetTag(DiagnosticNames.Outcome, end.Error is not null ? "failed" : end.IsCancelled ? "cancelled" : "succeeded");
            if (end.Error is not null)
            {
                end.Span.SetTag(DiagnosticNames.ErrorType, end.Error.GetType().FullName);
                end.Span.SetStatus(ActivityStatusCode.Error, end.Error.Message);
            }

            end.Span.Stop();
        },
        (Span: span, Error: error, IsCancelled: isCancelled));

    public static void SetCurrent(Activity? span) => SafeCall.Invoke(static span => Activity.Current = span, span);
}
