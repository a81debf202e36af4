using System.Diagnostics.Metrics;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Core.Sinks;

namespace Weir.Observability;

/// <summary>
/// The instruments of the library. Counts that the workers keep anyway are read when a listener asks, from the runs that are under way then; only durations
/// are recorded as they occur.
/// </summary>
internal static class WeirMeter
{
    private const string Outcome = "weir.outcome";
    private const string CircuitState = "weir.circuit_breaker.state";
    private const string WaitFor = "weir.wait.for";

    private static readonly RunTotals Totals = new(mostLabels: 1000);

    private static readonly Meter Meter = new(WeirDiagnostics.MeterName, WeirDiagnostics.Version);

    private static readonly Instrument?[] Instruments =
    [
        SafeCall.Try(() => Meter.CreateObservableUpDownCounter(
            "weir.runs.active", () => Measure(static _ => 1, onlyRunning: true), "{run}", "Runs that have started and not ended.")),
        SafeCall.Try(() => Meter.CreateObservableUpDownCounter(
            "weir.items.active", () => Measure(static s => s.Active, onlyRunning: true), "{item}", "Items inside their call.")),
        SafeCall.Try(() => Meter.CreateObservableUpDownCounter(
            "weir.items.waiting", MeasureWaiting, "{item}", "Items that wait for a retry, a circuit breaker, a concurrency limit or a rate limit.")),
        SafeCall.Try(() => Meter.CreateObservableUpDownCounter(
            "weir.circuit_breakers", MeasureCircuits, "{circuit_breaker}", "The circuit breakers of the active runs, by state.")),
        SafeCall.Try(() => Meter.CreateObservableUpDownCounter(
            "weir.items.queued",
            () => Measure(RunObservation.QueueDepth, onlyRunning: true),
            "{item}",
            "Items that were read but have not started, items between two attempts, and results that the consumer has not taken.")),
        SafeCall.Try(() => Meter.CreateObservableUpDownCounter(
            "weir.items.backlog",
            () => Measure(static s => s.Unread, onlyRunning: true),
            "{item}",
            "Items that the source is known to have and that were not read: the rest of a list, or what a work queue has.")),
        SafeCall.Try(() => Meter.CreateObservableUpDownCounter(
            "weir.concurrency.limit", () => Measure(static s => s.Limit, onlyRunning: true), "{item}", "How many items may be inside their call.")),
        SafeCall.Try(() => Meter.CreateObservableCounter("weir.items", MeasureItems, "{item}", "Items that have ended.")),
        SafeCall.Try(() => Meter.CreateObservableCounter(
            "weir.retries", () => Measure(static s => s.Retries), "{attempt}", "Attempts after an item's first.")),
        SafeCall.Try(() => Meter.CreateObservableCounter(
            "weir.throttles", () => Measure(static s => s.Throttles), "{pause}", "Pauses in reading because a stream's consumer was behind.")),
        SafeCall.Try(() => Meter.CreateObservableCounter("weir.drains", () => Measure(static s => s.Drains), "{pause}", "Pauses in reading that have ended.")),
    ];

    private static readonly Histogram<double>? RunDuration =
        MakeDurations("weir.run.duration", "The duration of runs.");

    /// <summary>The duration of the user's calls: of each attempt by itself, without hooks and waits.</summary>
    private static readonly Histogram<double>? CallDuration =
        MakeDurations("weir.call.duration", "The duration of the calls for single items, for each attempt.");

    private static readonly Histogram<double>? WaitDuration =
        MakeDurations("weir.wait.duration", "How long items waited outside their call, for each wait.");

    // Last, when there is something to tell.
    private static readonly RunObserver Observer = RunObserver.Current = new MeterObserver();

    public static bool HasListeners
    {
        get
        {
            foreach (Instrument? instrument in Instruments)
            {
                if (instrument is { Enabled: true })
                {
                    return true;
                }
            }

            return RunDuration is { Enabled: true } || MeasuresCalls || MeasuresWaits;
        }
    }

    /// <summary>Whether somebody wants the duration of each call.</summary>
    public static bool MeasuresCalls => CallDuration is { Enabled: true };

    public static void End(LiveRun run, ItemStatus ending)
    {
        if (Totals.End(run) is not { } label)
        {
            return;
        }

        SafeCall.Invoke(
            static end => RunDuration?.Record(end.Elapsed.TotalSeconds, end.Label.With(new KeyValuePair<string, object?>(Outcome, end.Outcome))),
            (Elapsed: run.Time.GetElapsedTime(run.StartedAt), Label: label, Outcome: OutcomeOf(ending)));
    }

    /// <summary>Whether somebody wants the duration of each wait.</summary>
    public static bool MeasuresWaits => WaitDuration is { Enabled: true };

    public static void Waited(LiveRun run, WaitKind kind, TimeSpan elapsed)
    {
        if (Totals.LabelOf(run) is { } label)
        {
            SafeCall.Invoke(
                static wait => WaitDuration?.Record(wait.Elapsed.TotalSeconds, wait.Label.With(WaitTag(wait.Kind))),
                (Elapsed: elapsed, Label: label, Kind: kind));
        }
    }

    public static void Drop(LiveRun run) => Totals.Drop(run);

    public static void Call(RunLabel label, TimeSpan elapsed, Exception? error)
    {
        SafeCall.Invoke(
            static call => CallDuration?.Record(
                call.Seconds,
                call.Error is null ? call.Label.Tags : call.Label.With(new KeyValuePair<string, object?>("error.type", call.Error.GetType().FullName))),
            (Label: label, Seconds: elapsed.TotalSeconds, Error: error));
    }

    private static List<Measurement<long>> MeasureWaiting() =>
    [
        .. Measure(static s => Math.Max(0, s.Delayed - s.WaitingForCircuit - s.WaitingForPlace - s.WaitingForRate), WaitTag(WaitKind.Retry), onlyRunning: true),
        .. Measure(static s => s.WaitingForCircuit, WaitTag(WaitKind.CircuitBreaker), onlyRunning: true),
        .. Measure(static s => s.WaitingForPlace, WaitTag(WaitKind.ConcurrencyLimit), onlyRunning: true),
        .. Measure(static s => s.AtRateLimit + s.WaitingForRate, WaitTag(WaitKind.RateLimit), onlyRunning: true),
    ];

    private static List<Measurement<long>> MeasureCircuits() =>
    [
        .. Measure(static s => s.CircuitsClosed, new KeyValuePair<string, object?>(CircuitState, "closed"), onlyRunning: true),
        .. Measure(static s => s.CircuitsOpen, new KeyValuePair<string, object?>(CircuitState, "open"), onlyRunning: true),
        .. Measure(static s => s.CircuitsHalfOpen, new KeyValuePair<string, object?>(CircuitState, "half_open"), onlyRunning: true),
    ];

    private static KeyValuePair<string, object?> WaitTag(WaitKind kind) => new(WaitFor, kind switch
    {
        WaitKind.Retry => "retry",
        WaitKind.CircuitBreaker => "circuit_breaker",
        WaitKind.ConcurrencyLimit => "concurrency_limit",
        _ => "rate_limit",
    });

    private static string OutcomeOf(ItemStatus ending) => ending switch
    {
        ItemStatus.Succeeded => "completed",
        ItemStatus.TimedOut => "timed_out",
        ItemStatus.Cancelled => "cancelled",
        _ => "failed",
    };

    private static Histogram<double>? MakeDurations(string name, string description) => SafeCall.Try(() => Durations.Create(Meter, name, description));

    private static List<Measurement<long>> MeasureItems() =>
    [
        .. Measure(static s => s.Succeeded, new KeyValuePair<string, object?>(Outcome, "succeeded")),
        .. Measure(static s => Math.Max(0, s.Failed - s.TimedOut), new KeyValuePair<string, object?>(Outcome, "failed")),
        .. Measure(static s => s.TimedOut, new KeyValuePair<string, object?>(Outcome, "timed_out")),
        .. Measure(static s => s.Cancelled, new KeyValuePair<string, object?>(Outcome, "cancelled")),
    ];

    private static List<Measurement<long>> Measure(Func<RunSample, long> read, bool onlyRunning) => Measure(read, null, onlyRunning);

    private static List<Measurement<long>> Measure(Func<RunSample, long> read, KeyValuePair<string, object?>? tag = null, bool onlyRunning = false)
    {
        List<Measurement<long>> measurements = [];
        Totals.BeginUnderWay();
        foreach ((RunLabel label, long sum) in Totals.Sum(read, onlyRunning))
        {
            measurements.Add(new Measurement<long>(sum, tag is { } extra ? label.With(extra) : label.Tags));
        }

        return measurements;
    }
}
