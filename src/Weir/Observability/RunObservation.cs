using System.Diagnostics;
using System.Runtime.CompilerServices;
using Weir.Checkpoints;
using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Threads;
using TimerDelay = Weir.Resilience.TimerDelay;

namespace Weir.Observability;

/// <summary>Everything that observes one run. A run that nobody observes has none. It only reads counts that the workers keep anyway.</summary>
internal sealed class RunObservation
{
    private static readonly ListenerDetector Listeners =
        new(DiagnosticNames.ListenersAssembly, static () => _ = RunTrace.HasListeners | WeirMeter.HasListeners, WatchTime.For(TimeProvider.System));

    private readonly TimeProvider _time;
    private readonly int? _total;
    private readonly long? _toReport;
    private readonly ProgressStream? _bytes;
    private readonly ResumeSession? _resume;
    private readonly RunEvents? _events;
    private readonly LongWaits? _waits;
    private readonly PeriodicReport? _progress;
    private readonly PeriodicReport? _metrics;
    private Activity? _outer;
    private bool _isTraced;
    private Pump? _pump;
    private long _started;

    private RunObservation(ParallelRunOptions options, RunLabel label, int total)
    {
        Label = label;
        _time = options.TimeProvider;
        _total = total >= 0 ? total : null;
        _resume = options.Session;
        _toReport = options.Progress?.Total ?? _resume?.Total;
        _bytes = options.Progress?.Bytes;
        _events = options.Events;
        _waits = LongWaits.Of(options);
        MeasuresCalls = Listeners.IsPossible && HasCallListeners();
        if (options.Progress is { HasReports: true } progress)
        {
            _progress = new PeriodicReport(
                progress.ReportInterval, progress.CallbackTimeout, _time, isFinal => progress.Report(Progress(isFinal)));
        }

        if (options.Metrics is { OnMetricsSample: { } onSample } metrics)
        {
            _metrics = new PeriodicReport(
                metrics.SampleInterval, metrics.CallbackTimeout, _time, isFinal => onSample(Metrics(isFinal)));
        }
    }

    /// <summary>What tells the run apart from others.</summary>
    public RunLabel Label { get; }

    /// <summary>The spans, if the run is sampled.</summary>
    public RunTrace? Trace { get; private set; }

    /// <summary>Who is told of each wait, or null.</summary>
    public WaitListener? Waits => _waits;

    /// <summary>Whether somebody wants the duration of each call.</summary>
    public bool MeasuresCalls { get; }

    /// <summary>Whether anybody counts runs now.</summary>
    public static bool IsMetered => Listeners.IsPossible && HasMeterListeners();

    /// <summary>Whether anybody observes the items of a run that starts now. The meter does not: it reads what the run counts anyway.</summary>
    public static bool IsWanted(ParallelRunOptions options) =>
        options.Progress is { HasReports: true } || options.Metrics?.OnMetricsSample is not null || options.Events is not null
        || WantsItems;

    /// <summary>Whether anybody listens to items: to their spans, or to the durations of their calls.</summary>
    public static bool WantsItems => Listeners.IsPossible && HasAnyListeners();

    /// <summary>Whether a run that starts now is noticed at all, even if it has no items.</summary>
    public static bool IsNoticed(ParallelRunOptions options) => IsWanted(options) || IsMetered;

    /// <summary>Begins to observe. Between this and <see cref="Started"/>, the run's span is the current one.</summary>
    /// <param name="options">The options of the run.</param>
    /// <param name="label">What tells it apart from others.</param>
    /// <param name="total">The number of items, or -1 if it is not known.</param>
    public static RunObservation Begin(ParallelRunOptions options, RunLabel label, int total)
    {
        RunObservation observation = new(options, label, total);
        if (Listeners.IsPossible)
        {
            observation.BeginTrace(options, total);
        }

        return observation;
    }

    /// <summary>The run has been created and is about to start.</summary>
    public void Attach(Pump pump)
    {
        _pump = pump;
        _waits?.Attach(pump);
        _started = _time.GetTimestamp();
        _events?.Started(_total);
        _progress?.Start();
        _metrics?.Start();
    }

    /// <summary>The run has started: the caller's own span is the current one again.</summary>
    public void Started()
    {
        if (_isTraced)
        {
            RunTrace.SetCurrent(_outer);
        }
    }

    public RunSample Sample() => _pump!.Sample();

    /// <summary>An item has ended without a result.</summary>
    public void ItemEnded(long index, ItemStatus status, Exception? error)
    {
        if (status is ItemStatus.Failed or ItemStatus.TimedOut)
        {
            _events?.ItemFailed(index, status == ItemStatus.TimedOut, error);
        }
    }

    /// <summary>The run has ended. It completes after the last reports.</summary>
    public void End(RunEnd end, Action<RunEnd> complete) => _ = EndAsync(end, complete);

    private static string OutcomeOf(RunEnd end) => end.Result switch
    {
        RunResult.Cancelled => "cancelled",
        RunResult.Completed => "completed",
        _ => "failed",
    };

    private static long StartedOf(RunSample sample) => sample.Succeeded + sample.Unsuccessful + sample.InFlight + sample.Delayed;

    // The methods that ask are separate because compiling them loads the assembly that listeners need, and then there may be some: see ListenerDetector.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool HasAnyListeners() => RunTrace.HasListeners || WeirMeter.MeasuresCalls;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool HasMeterListeners() => WeirMeter.HasListeners;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool HasCallListeners() => WeirMeter.MeasuresCalls;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void BeginTrace(ParallelRunOptions options, int total)
    {
        if (RunTrace.HasListeners)
        {
            _isTraced = true;
            _outer = Activity.Current;
            Trace = RunTrace.Start(Label, options, total);
        }
    }

    private async Task EndAsync(RunEnd end, Action<RunEnd> complete)
    {
        // A listener that throws, or a lack of memory, must not change the outcome, and must not keep anybody else from learning of the end.
        try
        {
            _waits?.Dispose();

            // A run that could not be made has a span all the same.
            RunSample sample = _pump?.Sample() ?? default;
            string outcome = _pump?.StoppedAs == ItemStatus.TimedOut ? "timed_out" : OutcomeOf(end);
            InvokeSafely(() => Trace?.End(sample, outcome, end.FirstError));
            if (_pump is not null)
            {
                _events?.Ended(
                    outcome, sample.Succeeded, sample.Failed, sample.Cancelled, sample.Retries, _time.GetElapsedTime(_started), end.FirstError);
                await Task.WhenAll(_progress?.EndAsync() ?? Task.CompletedTask, _metrics?.EndAsync() ?? Task.CompletedTask).ConfigureAwait(false);
            }
        }
        catch (Exception)
        {
            // The clock may be the user's.
        }

        try
        {
            complete(end);
        }
        catch (Exception e)
        {
            complete(RunEnd.Broken(e));
        }
    }

    private static void InvokeSafely(Action tell)
    {
        try
        {
            tell();
        }
        catch (Exception)
        {
            // A listener's exception must not fail the run.
        }
    }

    private ProgressSnapshot Progress(bool isFinal)
    {
        RunSample sample = Sample();
        ProgressSnapshot snapshot = new()
        {
            OperationName = Label.Name,
            Started = StartedOf(sample),
            Succeeded = sample.Succeeded,
            Failed = sample.Failed,
            Skipped = _resume?.Skipped ?? 0,
            TotalItems = _toReport ?? _pump!.Total,
            BytesRead = _bytes?.BytesRead,
            TotalBytes = _bytes?.TotalBytes,
            Elapsed = _time.GetElapsedTime(_started),
            IsFinal = isFinal,
        };
        if (_pump!.Tally is not { } tally)
        {
            return snapshot;
        }

        long ended = tally.Succeeded + tally.Failed + tally.Cancelled;
        return snapshot with
        {
            // Those in flight are as many as full batches have.
            Started = Math.Min(ended + ((snapshot.Started - sample.Succeeded - sample.Unsuccessful) * tally.BatchSize), tally.Total ?? long.MaxValue),
            Succeeded = tally.Succeeded,
            Failed = tally.Failed,
            Batches = sample.Succeeded + sample.Unsuccessful,
        };
    }

    private MetricsSnapshot Metrics(bool isFinal)
    {
        RunSample sample = Sample();
        return new MetricsSnapshot
        {
            OperationName = Label.Name,
            ActiveWorkers = sample.Active,
            ConcurrencyLimit = sample.Limit,
            QueueDepth = MetricsSnapshot.QueueDepthOf(sample),
            WaitingForRetry = sample.Delayed,
            Started = StartedOf(sample),
            Succeeded = sample.Succeeded,
            Failed = sample.Failed,
            Retries = sample.Retries,
            ThrottleEvents = sample.Throttles,
            DrainEvents = sample.Drains,
            Elapsed = _time.GetElapsedTime(_started),
            IsFinal = isFinal,
        };
    }
}

/// <summary>Wraps a sink and delays its completion until the last report has been made.</summary>
internal readonly struct ObservedSink<TResult, TSink>(TSink inner, RunObservation observation) : ISink<TResult>
    where TSink : struct, ISink<TResult>
{
    private readonly TSink _inner = inner;

    public bool HasSlots => _inner.HasSlots;

    public bool HasChunks => _inner.HasChunks;

    public long Ceiling => _inner.Ceiling;

    public Span<TResult> Slots(long first, int count) => _inner.Slots(first, count);

    public int Open(ref ResultChunk? chunk, long first, int count) => _inner.Open(ref chunk, first, count);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Store(ResultChunk chunk, long index, TResult result) => _inner.Store(chunk, index, result);

    public void Close(ref ResultChunk? chunk) => _inner.Close(ref chunk);

    public bool WaitForRoom(long index) => _inner.WaitForRoom(index);

    public long Undelivered(long ended) => _inner.Undelivered(ended);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeeded(long index, TResult result) => _inner.Succeeded(index, result);

    public void Unsuccessful(long index, ItemStatus status, Exception? error)
    {
        _inner.Unsuccessful(index, status, error);
        observation.ItemEnded(index, status, error);
    }

    public void Complete(RunEnd end)
    {
        TSink sink = _inner;
        observation.End(end, sink.Complete);
    }
}

/// <summary>Calls a user's callback at intervals, never two at a time, and once at the end. It never waits for the callback longer than its timeout.</summary>
internal sealed class PeriodicReport(TimeSpan interval, TimeSpan callbackTimeout, TimeProvider time, Func<bool, ValueTask> report)
{
    private readonly Lock _lock = new();
    private ITimer? _timer;
    private Task _current = Task.CompletedTask;
    private bool _ended;

    // A report that could not be made is one that is missing. A timer counts whole milliseconds, and with a period of none it would fire only once.
    public void Start()
    {
        TimeSpan period = interval == Timeout.InfiniteTimeSpan ? interval : TimerDelay.RoundUp(interval);
        _timer = time.CreateTimer(
            static report => Unattended.Run((PeriodicReport)report!, static report => report.Tick()), this, period, period);
    }

    /// <summary>Makes the final report.</summary>
    public async Task EndAsync()
    {
        Task current;
        lock (_lock)
        {
            _ended = true;
            current = _current;
        }

        _timer?.Dispose();
        long started = time.GetTimestamp();
        await WaitAsync(current, callbackTimeout / 2).ConfigureAwait(false);

        // On another thread, because a callback may block the thread it is called on.
        Task last = Task.Run(() => ReportAsync(isFinal: true));
        await WaitAsync(last, callbackTimeout - time.GetElapsedTime(started)).ConfigureAwait(false);
    }

    private void Tick()
    {
        lock (_lock)
        {
            if (!_ended && _current.IsCompleted)
            {
                _current = Task.Run(() => ReportAsync(isFinal: false));
            }
        }
    }

    private async Task ReportAsync(bool isFinal)
    {
        try
        {
            await report(isFinal).ConfigureAwait(false);
        }
        catch (Exception)
        {
            // A callback's failure must not fail the run, as the options document.
        }
    }

    private async Task WaitAsync(Task callback, TimeSpan limit)
    {
        if (!callback.IsCompleted && limit > TimeSpan.Zero)
        {
            // Not Task.WaitAsync: it leaks its timer if the task ends while the wait is being set up.
            TaskCompletionSource timeIsUp = new(TaskCreationOptions.RunContinuationsAsynchronously);
            using ITimer timer = time.CreateTimer(
                static timeIsUp => Unattended.Run(
                    (TaskCompletionSource)timeIsUp!, static timeIsUp => timeIsUp.TrySetResult(), static (timeIsUp, _) => timeIsUp.TrySetResult()),
                timeIsUp,
                limit,
                Timeout.InfiniteTimeSpan);
            await Task.WhenAny(callback, timeIsUp.Task).ConfigureAwait(false);
        }
    }
}
