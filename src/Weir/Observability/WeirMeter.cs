using System.Diagnostics.Metrics;
using Weir.Core.Metering;

namespace Weir.Observability;

/// <summary>
/// The instruments of the library. Counts that the workers keep anyway are read when a listener asks; only durations are recorded as they occur. A run that
/// starts while nobody listens is not seen later either, which is why it costs nothing.
/// </summary>
internal static class WeirMeter
{
    private const string Operation = "weir.operation";
    private const string Outcome = "weir.outcome";

    private static readonly Lock Lock = new();
    private static readonly HashSet<RunObservation> Running = [];
    private static readonly Dictionary<string, RunSample> Ended = [];

    private static readonly Meter Meter = new(WeirDiagnostics.MeterName, WeirDiagnostics.Version);

    private static readonly Instrument?[] Instruments =
    [
        Make(() => Meter.CreateObservableUpDownCounter(
            "weir.runs.active", () => Measure(static _ => 1, onlyRunning: true), "{run}", "Runs that have started and not ended.")),
        Make(() => Meter.CreateObservableUpDownCounter(
            "weir.items.active", () => Measure(static s => s.InFlight, onlyRunning: true), "{item}", "Items inside their call.")),
        Make(() => Meter.CreateObservableUpDownCounter(
            "weir.items.queued",
            () => Measure(RunObservation.QueueDepth, onlyRunning: true),
            "{item}",
            "Items that were read but have not started, items between two attempts, and results that the consumer has not taken.")),
        Make(() => Meter.CreateObservableUpDownCounter(
            "weir.concurrency.limit", () => Measure(static s => s.Limit, onlyRunning: true), "{item}", "How many items may be inside their call.")),
        Make(() => Meter.CreateObservableCounter("weir.items", MeasureItems, "{item}", "Items that have ended.")),
        Make(() => Meter.CreateObservableCounter("weir.retries", () => Measure(static s => s.Retries), "{attempt}", "Attempts after an item's first.")),
        Make(() => Meter.CreateObservableCounter(
            "weir.throttles", () => Measure(static s => s.Throttles), "{pause}", "Pauses in reading because a stream's consumer was behind.")),
        Make(() => Meter.CreateObservableCounter("weir.drains", () => Measure(static s => s.Drains), "{pause}", "Pauses in reading that have ended.")),
    ];

    private static readonly Histogram<double>? RunDuration =
        Make(static () => Meter.CreateHistogram<double>("weir.run.duration", "s", "The duration of runs."));

    /// <summary>The duration of the user's calls: of each attempt by itself, without hooks and waits.</summary>
    private static readonly Histogram<double>? CallDuration =
        Make(static () => Meter.CreateHistogram<double>("weir.call.duration", "s", "The duration of the calls for single items, for each attempt."));

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

            return RunDuration is { Enabled: true } || MeasuresCalls;
        }
    }

    /// <summary>Whether somebody wants the duration of each call.</summary>
    public static bool MeasuresCalls => CallDuration is { Enabled: true };

    public static void Begin(RunObservation run)
    {
        lock (Lock)
        {
            Running.Add(run);
        }
    }

    public static void End(RunObservation run, in RunSample sample, TimeSpan elapsed, string outcome)
    {
        lock (Lock)
        {
            // In one step, so that a counter never decreases.
            if (!Running.Remove(run))
            {
                return;
            }

            RunSample sum = Ended.GetValueOrDefault(run.Operation);
            sum.Succeeded += sample.Succeeded;
            sum.Unsuccessful += sample.Unsuccessful;
            sum.Retries += sample.Retries;
            sum.Throttles += sample.Throttles;
            sum.Drains += sample.Drains;
            Ended[run.Operation] = sum;
        }

        Quietly.Do(
            static end => RunDuration?.Record(end.Seconds, new(Operation, end.Run), new(Outcome, end.Outcome)),
            (Seconds: elapsed.TotalSeconds, Run: run.Operation, Outcome: outcome));
    }

    public static void Call(string operation, TimeSpan elapsed, Exception? error)
    {
        Quietly.Do(
            static call =>
            {
                KeyValuePair<string, object?> operation = new(Operation, call.Operation);
                if (call.Error is null)
                {
                    CallDuration?.Record(call.Seconds, operation);
                }
                else
                {
                    CallDuration?.Record(call.Seconds, operation, new("error.type", call.Error.GetType().FullName));
                }
            },
            (Operation: operation, Seconds: elapsed.TotalSeconds, Error: error));
    }

    // Null if a listener threw when it was notified of the instrument.
    private static TInstrument? Make<TInstrument>(Func<TInstrument> create)
        where TInstrument : Instrument =>
        Quietly.Get(static create => create(), create);

    private static List<Measurement<long>> MeasureItems() =>
    [
        .. Measure(static s => s.Succeeded, new KeyValuePair<string, object?>(Outcome, "succeeded")),
        .. Measure(static s => s.Unsuccessful, new KeyValuePair<string, object?>(Outcome, "unsuccessful")),
    ];

    private static List<Measurement<long>> Measure(Func<RunSample, long> read, bool onlyRunning) => Measure(read, null, onlyRunning);

    private static List<Measurement<long>> Measure(Func<RunSample, long> read, KeyValuePair<string, object?>? tag = null, bool onlyRunning = false)
    {
        Dictionary<string, long> sums = [];
        lock (Lock)
        {
            if (!onlyRunning)
            {
                foreach ((string operation, RunSample sample) in Ended)
                {
                    sums[operation] = read(sample);
                }
            }

            foreach (RunObservation run in Running)
            {
                sums[run.Operation] = sums.GetValueOrDefault(run.Operation) + read(run.Sample());
            }
        }

        List<Measurement<long>> measurements = [];
        foreach ((string operation, long sum) in sums)
        {
            KeyValuePair<string, object?> name = new(Operation, operation);
            measurements.Add(tag is { } extra ? new Measurement<long>(sum, name, extra) : new Measurement<long>(sum, name));
        }

        return measurements;
    }
}
