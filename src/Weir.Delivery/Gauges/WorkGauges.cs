using System.Diagnostics.Metrics;
using Weir.Core;
using Weir.Core.Live;
using Weir.Core.Metering;
using Weir.Observability;

namespace Weir.Delivery;

/// <summary>
/// Asks a queue or a change stream at intervals how much waits in it, and shows the last answer as gauges of the meter <c>Weir</c>. The instruments only show
/// what was read before, so a listener never waits for a server.
/// </summary>
/// <remarks>
/// Thread-safe. A reading that fails, or takes longer than <see cref="WorkGaugeOptions.ReadingTimeout"/>, leaves no values: the gauges are missing until one
/// succeeds. Readings of one object never overlap. See docs/reference/queue-gauges.md.
/// </remarks>
public sealed class WorkGauges : IAsyncDisposable
{
    private readonly IWorkStatistics _source;
    private readonly WorkGaugeOptions _options;
    private readonly CancellationTokenSource _stop = new();
    private readonly Task _reading;
    private Task _late = Task.CompletedTask;
    private volatile Reading _last = new(null, null, 0);
    private int _isDisposed;

    private WorkGauges(IWorkStatistics source, WorkGaugeOptions options)
    {
        _source = source;
        _options = options;
        Name = options.Name ?? source.Name;
        GaugeMeter.Add(this);

        // Not on the caller's thread: a source may work before it waits.
        _reading = Task.Run(ReadAllAsync);
    }

    /// <summary>The name in the metrics.</summary>
    public string Name { get; }

    /// <summary>What the last reading said.</summary>
    /// <value><see langword="null"/> if there was none yet, if the last one failed, or after <see cref="DisposeAsync"/>.</value>
    public WorkStatistics? Latest => _last.Statistics is { } statistics && IsFresh ? statistics : null;

    /// <summary>Why the last reading failed.</summary>
    /// <value><see langword="null"/> if there was none yet, or if it succeeded.</value>
    public Exception? Fault => _last.Fault;

    internal string MessagingSystem => _source.MessagingSystem;

    internal IWorkStatistics Source => _source;

    // A process that slept, or whose timers come late, shows nothing rather than what was true long ago.
    private bool IsFresh => _options.TimeProvider.GetElapsedTime(_last.At) <= _options.Interval + (2 * _options.ReadingTimeout);

    /// <summary>Begins to ask a queue or a change stream. The first reading begins at once.</summary>
    /// <param name="source">The queue or stream. It stays the caller's, who disposes it after this.</param>
    /// <param name="options">The options; <see langword="null"/> for the defaults.</param>
    /// <returns>The gauges. Dispose them to end the readings.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="source"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException">A value of <paramref name="options"/> is out of range. The exception names the property.</exception>
    public static WorkGauges Start(IWorkStatistics source, WorkGaugeOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(source);
        options ??= new WorkGaugeOptions();
        options.Validate();
        return new WorkGauges(source, options);
    }

    /// <summary>Ends the readings, also one that is under way, and removes the gauges.</summary>
    /// <returns>A task that completes when no reading is under way, or when one that does not end has had its time.</returns>
    public async ValueTask DisposeAsync()
    {
        GaugeMeter.Remove(this);
        if (Interlocked.Exchange(ref _isDisposed, 1) == 0)
        {
            SafeCancel.Now(_stop);
        }

        await _reading.ConfigureAwait(false);
        _last = new Reading(null, null, 0);
    }

    private async Task ReadAllAsync()
    {
        while (!_stop.IsCancellationRequested)
        {
            await ReadOnceAsync().ConfigureAwait(false);
            try
            {
                await Task.Delay(_options.Interval, _options.TimeProvider, _stop.Token).ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                return;
            }
        }
    }

    private async Task ReadOnceAsync()
    {
        try
        {
            if (!_late.IsCompleted)
            {
                // A second reading beside one that hangs would hang, too.
                throw new TimeoutException("An earlier reading has not ended yet, though it was cancelled.");
            }

            using var limit = new CancellationTokenSource(_options.ReadingTimeout, _options.TimeProvider);
            using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, _stop.Token);
            Task<WorkStatistics> reading = _source.GetStatisticsAsync(either.Token).AsTask();
            _late = reading.ContinueWith(
                static ended => _ = ended.Exception, CancellationToken.None, TaskContinuationOptions.ExecuteSynchronously, TaskScheduler.Default);
            WorkStatistics read;
            try
            {
                // A source that ignores its token is abandoned after another such time.
                read = await reading.WaitAsync(2 * _options.ReadingTimeout, _options.TimeProvider, CancellationToken.None).ConfigureAwait(false);
            }
            catch (Exception e) when (limit.IsCancellationRequested && e is OperationCanceledException or TimeoutException)
            {
                throw new TimeoutException($"A reading of '{Name}' has not ended within {_options.ReadingTimeout:c}.", e);
            }

            _last = new Reading(read, null, _options.TimeProvider.GetTimestamp());
            Tell(_options.OnReading, read);
        }
        catch (Exception e) when (!_stop.IsCancellationRequested)
        {
            _last = new Reading(null, e, _options.TimeProvider.GetTimestamp());
            Tell(_options.OnFault, e);
        }
        catch (Exception)
        {
            // Ended.
        }
    }

    private static void Tell<T>(Action<T>? listener, T what)
    {
        try
        {
            listener?.Invoke(what);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // A listener that fails must not end the readings.
        }
    }

    private sealed record Reading(WorkStatistics? Statistics, Exception? Fault, long At);
}

/// <summary>The instruments over what the gauges of this process have read. A value that is not known has no measurement.</summary>
internal static class GaugeMeter
{
    private static readonly Lock Lock = new();
    private static readonly List<WorkGauges> Shown = [];
    private static bool _isRead;
    private static readonly Meter Meter = new(WeirDiagnostics.MeterName, typeof(GaugeMeter).Assembly.GetName().Version?.ToString(3));

    // Null if a listener threw when it was notified of the instrument.
    private static readonly Instrument?[] Instruments =
    [
        Queue("waiting", "{item}", "Items of a queue that could be taken and that nobody has.", static s => s.Waiting),
        Queue("scheduled", "{item}", "Items of a queue that wait for their time.", static s => s.Scheduled),
        Queue("in_flight", "{item}", "Items of a queue that consumers have and did not acknowledge, in all processes.", static s => s.InFlight),
        Queue("dead_letters", "{item}", "Dead letters of a queue.", static s => s.DeadLetters),
        Queue("waiting_messages", "{message}", "Messages of a queue that could be taken and that nobody has.", static s => s.WaitingMessages),
        Queue("scheduled_messages", "{message}", "Messages of a queue that wait for their time.", static s => s.ScheduledMessages),
        Seconds("weir.queue.oldest_age", "weir.queue.name", "For how long the next item of a queue could have been taken.", static s => s.OldestAge),
        Stream("lag_bytes", "By", "How much of the log lies behind what a change stream has processed.", static s => s.LagBytes),
        Stream("retained", "By", "How much of its log the server keeps for a change stream.", static s => s.RetainedBytes),
        Stream("remaining", "By", "How much log may be written until a change stream can be lost.", static s => s.RemainingBytes),
        Stream("readers", "{reader}", "Whether somebody reads a change stream: 1 or 0.", static s => s.IsActive is { } active ? active ? 1 : 0 : null),
        Seconds("weir.stream.lag", "weir.stream.name", "For how long at least a change stream has been behind.", static s => s.Lag),
        SafeCall.Try(static () => Meter.CreateObservableGauge(
            "weir.stream.log_state", MeasureStates, "{stream}", "1 with the state of the log that a change stream needs.")),
    ];

    public static void Add(WorkGauges gauges)
    {
        lock (Lock)
        {
            // The first use of this class creates the instruments.
            _ = Instruments;
            Shown.Add(gauges);
            if (!_isRead)
            {
                _isRead = true;
                LiveSource.Add(new LiveQueues());
            }
        }
    }

    public static void Remove(WorkGauges gauges)
    {
        lock (Lock)
        {
            Shown.Remove(gauges);
        }
    }

    private static ObservableGauge<long>? Queue(string name, string unit, string description, Func<WorkStatistics, long?> read) =>
        SafeCall.Try(() => Meter.CreateObservableGauge(
            $"weir.queue.{name}", () => Measure("weir.queue.name", read, static value => value), unit, description));

    private static ObservableGauge<long>? Stream(string name, string unit, string description, Func<WorkStatistics, long?> read) =>
        SafeCall.Try(() => Meter.CreateObservableGauge(
            $"weir.stream.{name}", () => Measure("weir.stream.name", read, static value => value), unit, description));

    private static ObservableGauge<double>? Seconds(string name, string tag, string description, Func<WorkStatistics, TimeSpan?> read) =>
        SafeCall.Try(() => Meter.CreateObservableGauge(name, () => Measure(tag, read, static time => time.TotalSeconds), "s", description));

    private static List<Measurement<TValue>> Measure<TRead, TValue>(string tag, Func<WorkStatistics, TRead?> read, Func<TRead, TValue> convert)
        where TRead : struct
        where TValue : struct
    {
        List<Measurement<TValue>> all = [];
        foreach (WorkGauges gauges in All())
        {
            if (gauges.Latest is { } latest && read(latest) is { } value)
            {
                all.Add(new Measurement<TValue>(convert(value), Tags(tag, gauges)));
            }
        }

        return all;
    }

    private static List<Measurement<long>> MeasureStates()
    {
        List<Measurement<long>> all = [];
        foreach (WorkGauges gauges in All())
        {
            if (gauges.Latest?.LogState is { } state)
            {
                string text = state switch
                {
                    WorkLogState.Reserved => "reserved",
                    WorkLogState.Extended => "extended",
                    WorkLogState.Unreserved => "unreserved",
                    _ => "lost",
                };
                all.Add(new Measurement<long>(1, [.. Tags("weir.stream.name", gauges), new("weir.stream.log_state", text)]));
            }
        }

        return all;
    }

    private static KeyValuePair<string, object?>[] Tags(string tag, WorkGauges gauges) =>
        [new(tag, gauges.Name), new("messaging.system", gauges.MessagingSystem)];

    /// <summary>The gauges that are shown.</summary>
    public static WorkGauges[] All()
    {
        lock (Lock)
        {
            return [.. Shown];
        }
    }
}

/// <summary>Reads the queues that have gauges for snapshots: what their servers said last, so nobody waits for a server.</summary>
internal sealed class LiveQueues : LiveSource
{
    public override void Read(LiveReading reading)
    {
        foreach (WorkGauges gauges in GaugeMeter.All())
        {
            WorkStatistics? latest = gauges.Latest;
            IWorkContents? contents = gauges.Source as IWorkContents;
            reading.Entries.Add(new LiveEntry
            {
                Id = LiveIds.Of(LiveKind.Queue, gauges),
                Kind = LiveKind.Queue,
                Type = gauges.MessagingSystem,
                Name = gauges.Name,
                State = gauges.Fault is not null ? LiveState.Failed
                    : latest is { Waiting: > 0 } or { InFlight: > 0 } ? LiveState.Running
                    : LiveState.Idle,
                LastError = LiveError.Of(gauges.Fault),
                Queue = latest is null ? null : new LiveQueue
                {
                    Backlog = latest.Waiting,
                    Scheduled = latest.Scheduled,
                    InFlight = latest.InFlight,
                    DeadLetters = latest.DeadLetters,
                    OldestSeconds = latest.OldestAge?.TotalSeconds,
                },
                Actions = contents is null ? [] : contents.QueuedItems is null ? [LiveAction.DeadLetters] : [LiveAction.DeadLetters, LiveAction.Items],
            });
        }
    }

    protected override IEnumerable<object> Targets() => GaugeMeter.All();

    protected override IEnumerable<object?> Sides(object target)
    {
        WorkGauges gauges = (WorkGauges)target;
        IWorkContents? contents = gauges.Source as IWorkContents;
        return [gauges, gauges.Source, contents?.DeadLetters, contents?.QueuedItems];
    }
}

/// <summary>The options of <see cref="WorkGauges"/>. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record WorkGaugeOptions
{
    /// <summary>How long after one reading the next begins.</summary>
    /// <value>From 100 milliseconds to 1 day. The default is 15 seconds.</value>
    public TimeSpan Interval { get; init; } = TimeSpan.FromSeconds(15);

    /// <summary>How long a reading may take. One that takes longer has failed.</summary>
    /// <value>From 100 milliseconds to 1 hour. The default is 10 seconds.</value>
    public TimeSpan ReadingTimeout { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>The name in the metrics, if it is not that of the queue or stream: for two of the same name in one process.</summary>
    /// <value>Any text but an empty one; <see langword="null"/>, the default, for the name of the queue or stream.</value>
    public string? Name { get; init; }

    /// <summary>Called after each reading that failed, with the reason. There are no values then until one succeeds.</summary>
    /// <value><see langword="null"/>, the default, for none. It must return quickly. Its exceptions are ignored.</value>
    public Action<Exception>? OnFault { get; init; }

    /// <summary>Called after each reading that succeeded.</summary>
    /// <value><see langword="null"/>, the default, for none. It must return quickly. Its exceptions are ignored.</value>
    public Action<WorkStatistics>? OnReading { get; init; }

    /// <summary>The clock for the interval and the time limit.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        foreach ((bool isInRange, TimeSpan value, string name, string range) in Ranges())
        {
            Require.Range(isInRange, value, name, range);
        }

        Require.NotEmpty(Name, nameof(Name));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }

    /// <summary>The times, and whether each is in its range.</summary>
    internal IEnumerable<(bool IsInRange, TimeSpan Value, string Name, string Range)> Ranges() =>
    [
        (Interval >= TimeSpan.FromMilliseconds(100) && Interval <= TimeSpan.FromDays(1), Interval, nameof(Interval), "from 100 milliseconds to 1 day"),
        (ReadingTimeout >= TimeSpan.FromMilliseconds(100) && ReadingTimeout <= TimeSpan.FromHours(1), ReadingTimeout, nameof(ReadingTimeout),
            "from 100 milliseconds to 1 hour"),
    ];
}
