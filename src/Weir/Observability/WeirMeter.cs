using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text;
using Weir.Core;
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
            () => Measure(MetricsSnapshot.QueueDepthOf, onlyRunning: true),
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
        .. Measure(static s => Math.Max(0, s.Delayed - s.WaitingForCircuit - s.WaitingForPermit - s.WaitingForRate), WaitTag(WaitKind.Retry), onlyRunning: true),
        .. Measure(static s => s.WaitingForCircuit, WaitTag(WaitKind.CircuitBreaker), onlyRunning: true),
        .. Measure(static s => s.WaitingForPermit, WaitTag(WaitKind.ConcurrencyLimit), onlyRunning: true),
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

/// <summary>What tells the runs of a process apart in metrics and spans: the operator, the caller's own name and the caller's tags.</summary>
/// <remarks>Two labels are equal if they show the same. Only text is compared, so no user code runs in a comparison.</remarks>
internal sealed class RunLabel : IEquatable<RunLabel>
{
    private const string OperationTag = "weir.operation";
    private const string RuntimeTag = "weir.runtime";
    private const string NameTag = "weir.operation.name";

    private readonly string _shown;

    private RunLabel(string operation, string? name, IReadOnlyList<KeyValuePair<string, object?>>? tags, string? runtime = null)
    {
        Operation = operation;
        Name = name;
        List<KeyValuePair<string, object?>> all = [new(OperationTag, operation)];
        if (runtime is not null)
        {
            all.Add(new(RuntimeTag, runtime));
        }

        if (name is not null)
        {
            all.Add(new(NameTag, name));
        }

        foreach (KeyValuePair<string, object?> tag in tags ?? [])
        {
            all.Add(new(tag.Key, Plain(tag.Value)));
        }

        Tags = [.. all];
        _shown = TextOf(Tags);
    }

    /// <summary>The label under which the runs of too many labels are counted together, with the tag that OpenTelemetry has for it.</summary>
    public static RunLabel Overflow { get; } = new("overflow", null, [new("otel.metric.overflow", true)]);

    /// <summary>The name of the operator.</summary>
    public string Operation { get; }

    /// <summary>The caller's own name for the run.</summary>
    public string? Name { get; }

    /// <summary>All tags, in order: the operator, the runtime, the name, the caller's own.</summary>
    public KeyValuePair<string, object?>[] Tags { get; }

    public static RunLabel Of(string operation, ParallelRunOptions options) => new(operation, options.OperationName, options.Metrics?.Tags);

    /// <summary>The label of a call of a runtime.</summary>
    public static RunLabel Of(string operation, string? runtime, string? name, IReadOnlyList<KeyValuePair<string, object?>>? tags) =>
        new(operation, name, tags, runtime);

    /// <summary>The tags with some more after them.</summary>
    public KeyValuePair<string, object?>[] With(params ReadOnlySpan<KeyValuePair<string, object?>> more) => [.. Tags, .. more];

    public bool Equals(RunLabel? other) => other?._shown == _shown;

    public override bool Equals(object? obj) => Equals(obj as RunLabel);

    public override int GetHashCode() => _shown.GetHashCode(StringComparison.Ordinal);

    /// <summary>Values that listeners can have as they are; everything else as text.</summary>
    private static object? Plain(object? value) => value switch
    {
        null or string or bool or byte or short or int or long or float or double => value,
        _ => SafeCall.Invoke(static value => Convert.ToString(value, CultureInfo.InvariantCulture), value),
    };

    private static string TextOf(KeyValuePair<string, object?>[] tags)
    {
        StringBuilder text = new();
        foreach ((string key, object? value) in tags)
        {
            // Lengths first, so that no two different lists have one text.
            string shown = string.Create(CultureInfo.InvariantCulture, $"{value}");
            text.Append(CultureInfo.InvariantCulture, $"{key.Length}:{key}{shown.Length}:{shown}{value?.GetType().Name};");
        }

        return text.ToString();
    }
}

/// <summary>The counts of all runs, by label: those of the ended runs, and when somebody asks, those of the running ones. Thread-safe.</summary>
/// <param name="mostLabels">How many labels are kept. Further ones are counted together, so that names that never repeat do not fill the memory.</param>
internal sealed class RunTotals(int mostLabels)
{
    private readonly Lock _lock = new();
    private readonly Dictionary<IMeasuredRun, RunLabel> _running = [];
    private readonly Dictionary<RunLabel, RunSample> _ended = [];

    public void Begin(IMeasuredRun run)
    {
        lock (_lock)
        {
            BeginNeedsLock(run);
        }
    }

    /// <summary>Counts, from now on, the runs under way that are not counted yet, with all that they have done.</summary>
    public void BeginUnderWay()
    {
        if (StallWatch.Unseen() is not { } unseen)
        {
            return;
        }

        // Their labels are made before the lock is taken, because that runs the code of the tags' values.
        List<MeasuredRun> runs = unseen.ConvertAll(static run => new MeasuredRun(run));
        runs.ForEach(static run => _ = run.Label);
        lock (_lock)
        {
            foreach (MeasuredRun run in runs)
            {
                if (StallWatch.TrySee(run.Run))
                {
                    BeginNeedsLock(run);
                }
            }
        }
    }

    /// <summary>The label under which a run under way is counted, from now on if it was not.</summary>
    public RunLabel? LabelOf(LiveRun live)
    {
        MeasuredRun run = new(live);
        if (!live.IsSeen)
        {
            _ = run.Label;
        }

        lock (_lock)
        {
            if (StallWatch.TrySee(live))
            {
                BeginNeedsLock(run);
            }

            return _running.GetValueOrDefault(run);
        }
    }

    /// <summary>A run has ended, whether it was counted before or not. In one step it leaves the runs under way and is counted as one that has ended.</summary>
    /// <returns>The label under which it was counted; <see langword="null"/> if that was done before.</returns>
    public RunLabel? End(LiveRun live)
    {
        MeasuredRun run = new(live);
        if (!live.IsSeen)
        {
            _ = run.Label;
        }

        lock (_lock)
        {
            RunSample sample = run.Sample();
            if (!StallWatch.Remove(live))
            {
                return null;
            }

            if (!_running.ContainsKey(run))
            {
                BeginNeedsLock(run);
            }

            return EndNeedsLock(run, sample);
        }
    }

    /// <summary>A run has ended, and cannot be counted.</summary>
    public void Drop(LiveRun live)
    {
        lock (_lock)
        {
            StallWatch.Remove(live);
            _running.Remove(new MeasuredRun(live));
        }
    }

    /// <returns>The label under which the run was counted; <see langword="null"/> if it was not, or has ended before.</returns>
    public RunLabel? End(IMeasuredRun run, in RunSample sample)
    {
        lock (_lock)
        {
            return EndNeedsLock(run, sample);
        }
    }

    /// <summary>The sums of all labels. Those without a run are zero rather than absent, so that nobody takes their last value for the present one.</summary>
    /// <param name="read">What is asked for.</param>
    /// <param name="onlyRunning">Whether ended runs count no more.</param>
    public Dictionary<RunLabel, long> Sum(Func<RunSample, long> read, bool onlyRunning)
    {
        Dictionary<RunLabel, long> sums = [];
        lock (_lock)
        {
            foreach ((RunLabel label, RunSample sample) in _ended)
            {
                sums[label] = onlyRunning ? 0 : read(sample);
            }

            foreach ((IMeasuredRun run, RunLabel label) in _running)
            {
                sums[label] += read(run.Sample());
            }
        }

        return sums;
    }

    private void BeginNeedsLock(IMeasuredRun run)
    {
        RunLabel label = _ended.ContainsKey(run.Label) || _ended.Count < mostLabels ? run.Label : RunLabel.Overflow;
        _ended.TryAdd(label, default);
        _running.Add(run, label);
    }

    private RunLabel? EndNeedsLock(IMeasuredRun run, in RunSample sample)
    {
        // In one step, so that a counter never decreases.
        if (_running.Remove(run, out RunLabel? label))
        {
            RunSample sum = _ended[label];
            sum.Succeeded += sample.Succeeded;
            sum.Unsuccessful += sample.Unsuccessful;
            sum.Cancelled += sample.Cancelled;
            sum.TimedOut += sample.TimedOut;
            sum.Retries += sample.Retries;
            sum.Throttles += sample.Throttles;
            sum.Drains += sample.Drains;
            _ended[label] = sum;
        }

        return label;
    }
}

/// <summary>Counts the runs of the process for the meter: those under way, also if they began before anybody listened, and those that end meanwhile.</summary>
internal sealed class MeterObserver : RunObserver
{
    public override bool WantsEnds => WeirMeter.HasListeners;

    public override bool WantsWaits => WeirMeter.MeasuresWaits;

    public override void Waited(LiveRun run, WaitKind kind, TimeSpan elapsed)
    {
        try
        {
            WeirMeter.Waited(run, kind, elapsed);
        }
        catch (Exception)
        {
            // As below.
        }
    }

    public override void Ended(LiveRun run, ItemStatus ending)
    {
        try
        {
            WeirMeter.End(run, ending);
        }
        catch (Exception)
        {
            // Its clock or its tags may be the user's, and there may be no memory: the run is not counted then, and ends as it would.
            WeirMeter.Drop(run);
        }
    }
}

/// <summary>A run under way, as the meter counts it. Two are equal if they are of the same run.</summary>
internal sealed class MeasuredRun(LiveRun run) : IMeasuredRun, IEquatable<MeasuredRun>
{
    private readonly IMeasuredRun? _own = run.About as IMeasuredRun;
    private RunLabel? _label;

    public LiveRun Run => run;

    /// <summary>The label. To ask for it the first time shows the caller's tags as text, which may run user code.</summary>
    public RunLabel Label => _label ??= _own?.Label ?? RunLabel.Of(run.Operation!, run.About as ParallelRunOptions ?? ParallelRunOptions.Default);

    public RunSample Sample() => _own?.Sample() ?? run.Sample();

    public bool Equals(MeasuredRun? other) => other?.Run == run;

    public override bool Equals(object? obj) => Equals(obj as MeasuredRun);

    public override int GetHashCode() => RuntimeHelpers.GetHashCode(run);
}

/// <summary>A run whose counts can be read at any time.</summary>
internal interface IMeasuredRun
{
    RunLabel Label { get; }

    RunSample Sample();
}

/// <summary>Wraps the user's selector and records the duration of each call.</summary>
internal static class MeasuredCalls
{
    public static Func<TItem, CancellationToken, ValueTask<TResult>> Of<TItem, TResult>(
        RunLabel label, Func<TItem, CancellationToken, ValueTask<TResult>> selector) =>
        async (item, cancellationToken) =>
        {
            long started = Stopwatch.GetTimestamp();
            Exception? failure = null;
            try
            {
                return await selector(item, cancellationToken).ConfigureAwait(false);
            }
            catch (Exception error)
            {
                failure = error;
                throw;
            }
            finally
            {
                WeirMeter.Call(label, Stopwatch.GetElapsedTime(started), failure);
            }
        };
}
