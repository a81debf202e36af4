using System.Diagnostics;
using System.Diagnostics.Metrics;
using Weir.Core;
using Weir.Core.Live;
using Weir.Core.Metering;
using Weir.Observability;
using Weir.Resilience;

namespace Weir.Delivery;

/// <summary>What a <see cref="WorkHost{T}"/> has done so far.</summary>
public readonly record struct WorkHostStatistics
{
    /// <summary>What the host is doing.</summary>
    public WorkHostState State { get; init; }

    /// <summary>Items that were read.</summary>
    public long Read { get; init; }

    /// <summary>Items that were processed.</summary>
    public long Succeeded { get; init; }

    /// <summary>Failures and time-outs. An item counts each time.</summary>
    public long Failed { get; init; }

    /// <summary>Items that were stored for another attempt.</summary>
    public long Redelivered { get; init; }

    /// <summary>Items that became dead letters.</summary>
    public long DeadLettered { get; init; }

    /// <summary>Items that were returned because the host stopped.</summary>
    public long Returned { get; init; }

    /// <summary>Batches that were acknowledged.</summary>
    public long AcknowledgedBatches { get; init; }

    /// <summary>Items that were read but are not acknowledged yet.</summary>
    public long InFlight { get; init; }

    /// <summary>How long ago the oldest batch was read that is not acknowledged; zero if there is none. It says nothing about what nobody has read.</summary>
    public TimeSpan Lag { get; init; }

    /// <summary>Failed calls to read, acknowledge or store, which were repeated.</summary>
    public long Faults { get; init; }

    /// <summary>The exception of the last failed call; <see langword="null"/> if there was none, or if the same kind of call has succeeded since.</summary>
    public Exception? LastFault { get; init; }
}

/// <summary>What a <see cref="WorkHost{T}"/> is doing.</summary>
public enum WorkHostState
{
    /// <summary>It has not been started.</summary>
    Created,

    /// <summary>It reads and processes.</summary>
    Running,

    /// <summary>It has stopped reading, and finishes its items.</summary>
    Draining,

    /// <summary>It has ended normally: everything that was read is done or returned.</summary>
    Stopped,

    /// <summary>It has ended with an exception. Items that were read but are not done will be delivered again.</summary>
    Failed,
}

/// <summary>The instruments of the hosts. They read the hosts' own counts when a listener asks, so a host that nobody observes does nothing for them.</summary>
internal static class HostMeter
{
    /// <summary>When there are more names, hosts that have ended are counted together, because a program may use a new name for each run.</summary>
    private const int MostNames = 1000;
    // Not the name of a source.
    private const string Overflow = "\0";
    private const string Source = "weir.work.source";
    private const string Outcome = "weir.outcome";

    private static readonly Lock Lock = new();
    private static readonly Dictionary<IHostRun, (string Source, long Since)> Running = [];
    private static bool _isRead;
    private static readonly Dictionary<string, WorkHostStatistics> Ended = new(StringComparer.Ordinal);

    private static readonly Meter Meter = new(WeirDiagnostics.MeterName, typeof(HostMeter).Assembly.GetName().Version?.ToString(3));

    // Null if a listener threw when it was notified of the instrument.
    private static readonly Instrument?[] Instruments =
    [
        SafeCall.Try(static () => Meter.CreateObservableCounter("weir.work.items", MeasureItems, "{item}", "What became of the items of work hosts.")),
        SafeCall.Try(static () => Meter.CreateObservableCounter(
            "weir.work.read", static () => Measure(static s => s.Read), "{item}", "Items that were read.")),
        SafeCall.Try(static () => Meter.CreateObservableCounter(
            "weir.work.batches", static () => Measure(static s => s.AcknowledgedBatches), "{batch}", "Batches that were acknowledged.")),
        SafeCall.Try(static () => Meter.CreateObservableCounter(
            "weir.work.faults", static () => Measure(static s => s.Faults), "{call}", "Failed calls to read, acknowledge or store, which were repeated.")),
        SafeCall.Try(static () => Meter.CreateObservableUpDownCounter(
            "weir.work.in_flight",
            static () => Measure(static _ => 0, running: static run => run.Statistics.InFlight),
            "{item}",
            "Items that were read but not acknowledged.")),
        SafeCall.Try(static () => Meter.CreateObservableUpDownCounter(
            "weir.work.queued",
            static () => Measure(static _ => 0, running: static run => run.Queued),
            "{item}",
            "Items that were read and wait for their call.")),
        SafeCall.Try(static () => Meter.CreateObservableGauge(
            "weir.work.lag", MeasureLag, "s", "How long ago the oldest batch was read that is not acknowledged.")),
    ];

    public static void Begin(IHostRun run, string source)
    {
        lock (Lock)
        {
            // The first use of this class creates the instruments.
            _ = Instruments;
            Running[run] = (source, TimeProvider.System.GetTimestamp());
            if (!_isRead)
            {
                _isRead = true;
                LiveSource.Add(new LiveHosts());
            }
        }
    }

    /// <summary>The hosts that run, with the name of their source and when they began.</summary>
    public static List<(IHostRun Run, string Source, long Since)> UnderWay()
    {
        lock (Lock)
        {
            return [.. Running.Select(static running => (running.Key, running.Value.Source, running.Value.Since))];
        }
    }

    public static void End(IHostRun run)
    {
        lock (Lock)
        {
            if (Running.Remove(run, out (string Source, long Since) running))
            {
                string source = running.Source;
                string name = Ended.Count < MostNames || Ended.ContainsKey(source) ? source : Overflow;
                Ended[name] = Sum(Ended.GetValueOrDefault(name), run.Statistics);
            }
        }
    }

    private static List<Measurement<long>> MeasureItems() =>
    [
        .. Measure(static s => s.Succeeded, outcome: "succeeded"),
        .. Measure(static s => s.Failed, outcome: "failed"),
        .. Measure(static s => s.Redelivered, outcome: "redelivered"),
        .. Measure(static s => s.DeadLettered, outcome: "dead_lettered"),
        .. Measure(static s => s.Returned, outcome: "returned"),
    ];

    private static List<Measurement<double>> MeasureLag()
    {
        Dictionary<string, double> lags = new(StringComparer.Ordinal);
        lock (Lock)
        {
            foreach ((IHostRun run, (string source, _)) in Running)
            {
                lags[source] = Math.Max(lags.GetValueOrDefault(source), run.Statistics.Lag.TotalSeconds);
            }
        }

        return [.. lags.Select(static lag => new Measurement<double>(lag.Value, Tag(lag.Key)))];
    }

    /// <param name="read">What a host's counts say; up-down counters end at zero rather than disappear.</param>
    /// <param name="outcome">The outcome that is counted, or null.</param>
    /// <param name="running">What a running host is asked for instead, or null.</param>
    private static List<Measurement<long>> Measure(Func<WorkHostStatistics, long> read, string? outcome = null, Func<IHostRun, long>? running = null)
    {
        Dictionary<string, long> sums = new(StringComparer.Ordinal);
        lock (Lock)
        {
            foreach ((string source, WorkHostStatistics ended) in Ended)
            {
                sums[source] = read(ended);
            }

            foreach ((IHostRun run, (string source, _)) in Running)
            {
                sums[source] = sums.GetValueOrDefault(source) + (running is null ? read(run.Statistics) : running(run));
            }
        }

        return
        [
            .. sums.Select(sum => outcome is null
                ? new Measurement<long>(sum.Value, Tag(sum.Key))
                : new Measurement<long>(sum.Value, Tag(sum.Key), new KeyValuePair<string, object?>(Outcome, outcome))),
        ];
    }

    private static KeyValuePair<string, object?> Tag(string source) => source == Overflow ? new("otel.metric.overflow", true) : new(Source, source);

    private static WorkHostStatistics Sum(WorkHostStatistics a, WorkHostStatistics b) => new()
    {
        Read = a.Read + b.Read,
        Succeeded = a.Succeeded + b.Succeeded,
        Failed = a.Failed + b.Failed,
        Redelivered = a.Redelivered + b.Redelivered,
        DeadLettered = a.DeadLettered + b.DeadLettered,
        Returned = a.Returned + b.Returned,
        AcknowledgedBatches = a.AcknowledgedBatches + b.AcknowledgedBatches,
        Faults = a.Faults + b.Faults,
    };
}

/// <summary>Reads the hosts that run for snapshots.</summary>
internal sealed class LiveHosts : LiveSource
{
    public override void Read(LiveReading reading)
    {
        foreach ((IHostRun run, string source, long since) in HostMeter.UnderWay())
        {
            WorkHostStatistics statistics = run.Statistics;
            reading.Entries.Add(new LiveEntry
            {
                Id = LiveIds.Of(LiveKind.Host, run),
                Kind = LiveKind.Host,
                Type = "WorkHost",
                Name = run.Name is { } name ? name : source,
                State = statistics.State switch
                {
                    WorkHostState.Draining => LiveState.Stopping,
                    WorkHostState.Stopped => LiveState.Stopped,
                    WorkHostState.Failed => LiveState.Failed,
                    _ => LiveState.Running,
                },
                Since = reading.At(TimeProvider.System, since),
                Done = statistics.Succeeded,
                Failed = statistics.Failed,
                Cancelled = statistics.Returned,
                Retried = statistics.Redelivered,
                InFlight = Math.Max(0, statistics.InFlight - run.Queued),
                Waiting = run.Queued,
                Limit = run.Limit,
                LastError = LiveError.Of(statistics.LastFault),
                Queue = new LiveQueue { DeadLetters = statistics.DeadLettered },
                Actions = [LiveAction.DeadLetters],
            });
        }
    }

    protected override IEnumerable<object> Targets() => HostMeter.UnderWay().Select(static running => (object)running.Run);

    protected override IEnumerable<object?> Sides(object target) => [((IHostRun)target).DeadLetters];
}

/// <summary>The run of a host, independent of the type of its results.</summary>
internal interface IHostRun
{
    /// <summary>The name that the options give it, or null.</summary>
    string? Name { get; }

    /// <summary>How many items it has read and not acknowledged at most.</summary>
    int Limit { get; }

    /// <summary>Where it puts what it cannot process.</summary>
    IDeadLetters DeadLetters { get; }

    WorkHostStatistics Statistics { get; }

    /// <summary>How many items were read and wait for their call.</summary>
    int Queued { get; }

    Task RunAsync(CancellationToken stop);

    void Abort();
}

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
