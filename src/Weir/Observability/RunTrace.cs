using System.Collections.Concurrent;
using System.Diagnostics;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Policies;

namespace Weir.Observability;

/// <summary>The spans of one run: its own, and one for each item. All of them end with the run at the latest.</summary>
internal sealed class RunTrace
{
    // Null if a listener threw when it was notified of the source.
    private static readonly ActivitySource? Source =
        SafeCall.Invoke(static version => new ActivitySource(WeirDiagnostics.ActivitySourceName, version), WeirDiagnostics.Version);

    private readonly Activity _run;
    private readonly ConcurrentDictionary<long, ItemTrace> _open = new();

    private RunTrace(Activity run) => _run = run;

    public static bool HasListeners => Source?.HasListeners() == true;

    /// <summary>Starts the span of a run, as a child of the caller's current one, if anybody listens.</summary>
    /// <remarks>The new span is then the current one; the caller restores the previous one.</remarks>
    public static RunTrace? Start(RunLabel label, ParallelRunOptions options, int total)
    {
        Activity? run = SafeCall.Invoke(
            static label => Source?.StartActivity(label.Name ?? label.Operation, ActivityKind.Internal, parentContext: default, label.Tags), label);
        if (run is not { IsAllDataRequested: true })
        {
            Stop(run);
            return null;
        }

        run.SetTag("weir.concurrency.limit", options.AdaptiveConcurrency?.MaxConcurrency ?? options.MaxDegreeOfParallelism);
        if (total >= 0)
        {
            run.SetTag("weir.items.total", total);
        }

        return new RunTrace(run);
    }

    /// <summary>An attempt begins: its item's span is the current one from here until the calling asynchronous method ends.</summary>
    public ItemTrace? AttemptBegins(long index, bool isFirst)
    {
        ItemTrace? item = null;
        if (isFirst)
        {
            if (SafeCall.Invoke(static run => Source?.StartActivity("weir.item", ActivityKind.Internal, run.Context), _run) is { } activity)
            {
                activity.SetTag("weir.item.index", index);
                _open[index] = item = new ItemTrace(activity);
            }
        }
        else if (_open.TryGetValue(index, out item))
        {
            SetCurrent(item.Activity);
        }

        return item;
    }

    public static void AttemptEnded(ItemTrace item, Exception? error)
    {
        ActivityTagsCollection tags = new() { ["weir.attempt.number"] = ++item.Attempts };
        if (error is not null)
        {
            tags["error.type"] = error.GetType().FullName;
            tags["exception.message"] = MessageOf(error);
        }

        item.Activity.AddEvent(new ActivityEvent("weir.attempt", tags: tags));
    }

    /// <summary>An item has its outcome.</summary>
    public void ItemEnded(long index, ItemStatus status, Exception? error)
    {
        if (_open.TryRemove(index, out ItemTrace? item))
        {
            End(item.Activity, status, error);
        }
    }

    public void End(in RunSample sample, string outcome, Exception? firstError)
    {
        foreach (long index in _open.Keys)
        {
            // Items that were abandoned while they ran and never ended.
            ItemEnded(index, ItemStatus.Cancelled, null);
        }

        _run.SetTag("weir.items.succeeded", sample.Succeeded);
        _run.SetTag("weir.items.failed_or_cancelled", sample.Unsuccessful);
        _run.SetTag("weir.retries", sample.Retries);
        _run.SetTag("weir.outcome", outcome);
        if (firstError is { } error)
        {
            _run.SetStatus(ActivityStatusCode.Error, MessageOf(error));
            _run.SetTag("error.type", error.GetType().FullName);
        }

        Stop(_run);
    }

    /// <summary>Makes a span the current one on this thread.</summary>
    public static void SetCurrent(Activity? activity) => SafeCall.Invoke(static activity => Activity.Current = activity, activity);

    private static void End(Activity item, ItemStatus status, Exception? error)
    {
        item.SetTag("weir.outcome", OutcomeOf(status));
        if (status is ItemStatus.Failed or ItemStatus.TimedOut)
        {
            item.SetStatus(ActivityStatusCode.Error, error is null ? null : MessageOf(error));
            item.SetTag("error.type", error?.GetType().FullName);
        }

        Stop(item);
    }

    /// <summary>Ends a span without changing the current span of this thread.</summary>
    private static void Stop(Activity? activity)
    {
        Activity? current = Activity.Current;
        SafeCall.Invoke(static activity => activity?.Stop(), activity);
        SetCurrent(current == activity ? activity?.Parent : current);
    }

    // An exception's Message can run user code too.
    private static string OutcomeOf(ItemStatus status) => status switch
    {
        ItemStatus.Succeeded => "succeeded",
        ItemStatus.TimedOut => "timed_out",
        ItemStatus.Cancelled => "cancelled",
        ItemStatus.NotRun => "not_run",
        _ => "failed",
    };

    private static string? MessageOf(Exception error) => SafeCall.Invoke(static error => error.Message, error);
}

/// <summary>The span of one item, over all its attempts.</summary>
internal sealed class ItemTrace(Activity activity)
{
    public Activity Activity { get; } = activity;

    /// <summary>The number of attempts so far. Attempts of one item never overlap.</summary>
    public int Attempts { get; set; }
}

/// <summary>Wraps a call and runs it inside the span of its item.</summary>
internal readonly struct TracedCall<TItem, TResult, TPending, TCall>(TCall inner, RunTrace trace) : ICall<TItem, PendingResult<TResult>>
    where TPending : struct, IPending<TResult>
    where TCall : struct, ICall<TItem, TPending>
{
    public bool UsesInvokeInto => false;

    public PendingResult<TResult> Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken) =>
        new(InvokeAsync(inner, trace, item, index, isFirst, cancellationToken));

    public void InvokeInto(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref PendingResult<TResult> pending) =>
        pending = Invoke(item, index, isFirst, cancellationToken);

    public void GivenUp(TItem? item, long index) => inner.GivenUp(item, index);

    public void AddTo(ref RunSample sample) => inner.AddTo(ref sample);

    private static async ValueTask<TResult> InvokeAsync(
        TCall inner, RunTrace trace, TItem item, long index, bool isFirst, CancellationToken cancellationToken)
    {
        ItemTrace? span = trace.AttemptBegins(index, isFirst);
        try
        {
            TResult result = await new PendingAwaiter<TResult, TPending>(inner.Invoke(item, index, isFirst, cancellationToken));
            if (span is not null)
            {
                RunTrace.AttemptEnded(span, null);
            }

            return result;
        }
        catch (Exception error) when (Note(span, error))
        {
            throw;
        }
    }

    private static bool Note(ItemTrace? span, Exception error)
    {
        // An item whose call was not made, such as one that has to wait for its permit, has attempted nothing.
        if (span is not null && error is not NotBegunException)
        {
            RunTrace.AttemptEnded(span, error is RefusedResultException<TResult> ? null : error);
        }

        return false;
    }
}

/// <summary>Wraps a sink and notifies the spans when an item has ended.</summary>
internal readonly struct TracedSink<TResult, TSink>(TSink inner, RunTrace trace) : ISink<TResult>
    where TSink : struct, ISink<TResult>
{
    private readonly TSink _inner = inner;

    public bool HasSlots => false;

    public bool HasChunks => false;

    public long Ceiling => _inner.Ceiling;

    public long Undelivered(long ended) => _inner.Undelivered(ended);

    public Span<TResult> Slots(long first, int count) => default;

    public void Succeeded(long index, TResult result)
    {
        trace.ItemEnded(index, ItemStatus.Succeeded, null);
        _inner.Succeeded(index, result);
    }

    public void Unsuccessful(long index, ItemStatus status, Exception? error)
    {
        trace.ItemEnded(index, status, error);
        _inner.Unsuccessful(index, status, error);
    }

    public void Complete(RunEnd end) => _inner.Complete(end);
}
