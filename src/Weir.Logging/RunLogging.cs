using Microsoft.Extensions.Logging;
using Weir.Resilience;

namespace Weir.Logging;

/// <summary>Writes log lines of runs and circuit breakers through <c>Microsoft.Extensions.Logging</c>.</summary>
/// <remarks>
/// The lines, with their event ids, are listed in docs/reference/observability.md. A line is written on the thread where it happens, so a logger that blocks holds up its
/// run; one that throws changes nothing. Only the line of waits that go on comes from a timer. Whoever does not call these methods pays nothing.
/// </remarks>
public static class RunLogging
{
    private static readonly TimeSpan UsualLongWait = TimeSpan.FromSeconds(10);

    /// <summary>The category of the log lines.</summary>
    public const string Category = "Weir";

    /// <summary>
    /// The options, with log lines of the start and the end of each run, of retries, of items that failed for good, of changes of the adaptive limit, and of
    /// the state of a circuit breaker that is the run's own (<see cref="ParallelRunOptions.CircuitBreaker"/>).
    /// </summary>
    /// <param name="options">The options. Set the circuit breaker and the adaptive limit before.</param>
    /// <param name="loggerFactory">Where the lines go.</param>
    /// <param name="longWait">
    /// How long an item must have waited at a concurrency limit, a rate limit or an open circuit for a line that tells of it: one while it waits, together with
    /// the others that wait there, and one when it goes on. Zero or more; <see langword="null"/> for 10 seconds, and <see cref="Timeout.InfiniteTimeSpan"/> for
    /// no such lines.
    /// </param>
    /// <returns>Changed options. The run's name and tags, and all hooks, stay as they are.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="options"/> or <paramref name="loggerFactory"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="longWait"/> is negative and not infinite.</exception>
    public static ParallelRunOptions WithLogging(this ParallelRunOptions options, ILoggerFactory loggerFactory, TimeSpan? longWait = null)
    {
        ArgumentNullException.ThrowIfNull(options);
        ArgumentNullException.ThrowIfNull(loggerFactory);
        TimeSpan wait = longWait ?? UsualLongWait;
        if (wait < TimeSpan.Zero && wait != Timeout.InfiniteTimeSpan)
        {
            throw new ArgumentOutOfRangeException(
                nameof(longWait), longWait, $"{nameof(longWait)} must be zero or more, or Timeout.InfiniteTimeSpan for no lines.");
        }

        ILogger logger = loggerFactory.CreateLogger(Category);
        string name = options.OperationName ?? "";
        return options with
        {
            Events = new LoggedRun(logger, options, "", wait),
            CircuitBreaker = options.CircuitBreaker is { IsShared: false } breaker ? With(breaker, logger, name) : options.CircuitBreaker,
            AdaptiveConcurrency = options.AdaptiveConcurrency is { } adaptive ? With(adaptive, logger, name) : null,
        };
    }

    /// <summary>The options of a circuit breaker, with a log line for each change of its state.</summary>
    /// <param name="options">The options. Their own <see cref="CircuitBreakerOptions.OnStateChange"/> is called too, after the line was written.</param>
    /// <param name="loggerFactory">Where the lines go.</param>
    /// <param name="name">What the lines call the circuit breaker, such as the name of the service.</param>
    /// <returns>Changed options.</returns>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    public static CircuitBreakerOptions WithLogging(this CircuitBreakerOptions options, ILoggerFactory loggerFactory, string name)
    {
        ArgumentNullException.ThrowIfNull(options);
        ArgumentNullException.ThrowIfNull(loggerFactory);
        ArgumentNullException.ThrowIfNull(name);
        return With(options, loggerFactory.CreateLogger(Category), name);
    }

    private static CircuitBreakerOptions With(CircuitBreakerOptions options, ILogger logger, string name)
    {
        Func<CircuitBreakerState, CircuitBreakerState, ValueTask>? then = options.OnStateChange;
        FieldLogger named = new(logger, new KeyValuePair<string, object?>("Circuit", name));
        return options with
        {
            OnStateChange = (from, to) =>
            {
                LoggedRun.Write(() => LogCircuit(named, Words.Circuit(name), to));
                return then?.Invoke(from, to) ?? default;
            },
        };
    }

    private static AdaptiveConcurrencyOptions With(AdaptiveConcurrencyOptions options, ILogger logger, string name)
    {
        Func<int, int, ValueTask>? then = options.OnConcurrencyChange;
        FieldLogger named = new(logger, new KeyValuePair<string, object?>("OperationName", name));
        return options with
        {
            OnConcurrencyChange = (from, to) =>
            {
                LoggedRun.Write(() => Lines.LimitChanged(named, Words.SomeRun(name), from, to));
                return then?.Invoke(from, to) ?? default;
            },
        };
    }

    private static void LogCircuit(FieldLogger logger, string which, CircuitBreakerState to)
    {
        switch (to)
        {
            case CircuitBreakerState.Open:
                Lines.CircuitOpened(logger, which);
                break;
            case CircuitBreakerState.HalfOpen:
                Lines.CircuitHalfOpened(logger, which);
                break;
            default:
                Lines.CircuitClosed(logger, which);
                break;
        }
    }
}

/// <summary>Writes the log lines of one run, with its tags as a scope.</summary>
internal sealed class LoggedRun(ILogger logger, ParallelRunOptions options, string operation, TimeSpan longWait) : RunEvents
{
    private readonly FieldLogger _logger = new(logger, new("Operation", operation), new("OperationName", options.OperationName ?? ""));
    private readonly string _run = Words.Run(operation, options.OperationName ?? "");
    private readonly IReadOnlyList<KeyValuePair<string, object?>>? _tags = options.Metrics?.Tags is { Count: > 0 } tags ? tags : null;

    // Under overload nearly every item waits: after a line, the next ones are counted for as long as a wait must last to be one.
    private long _quietUntil = long.MinValue;
    private int _untold;

    public override TimeSpan LongWait => longWait;

    /// <summary>Calls a logger, whose failure must not become that of a run.</summary>
    public static void Write(Action write)
    {
        try
        {
            write();
        }
        catch (Exception)
        {
            // See above.
        }
    }

    public override RunEvents ForRun(ParallelRunOptions options, string operation) =>
        new LoggedRun(logger, options, operation, longWait);

    public override void Started(int? totalItems) => InScope(() => Lines.RunStarted(With("TotalItems", totalItems), _run, Words.Items(totalItems)));

    public override void Ended(
        string outcome, long succeeded, long failed, long cancelled, long retries, TimeSpan elapsed, Exception? error) => InScope(() =>
    {
        if (error is null)
        {
            Lines.RunEnded(_logger, _run, outcome, succeeded, failed, cancelled, retries, elapsed.TotalSeconds);
        }
        else
        {
            Lines.RunFailed(_logger, error, _run, succeeded, failed, cancelled, retries, elapsed.TotalSeconds);
        }
    });

    public override void Retrying(long index, int attempt, TimeSpan delay, Exception error) =>
        InScope(() => Lines.Retrying(_logger, error, _run, index, attempt, delay.TotalSeconds));

    public override void StillWaiting(string limit, int waiting, TimeSpan longest) =>
        InScope(() => Lines.StillWaiting(With("Waiting", waiting), _run, Words.WaitAtTheir(waiting), limit, longest.TotalSeconds));

    public override void WaitedLong(string limit, TimeSpan elapsed)
    {
        InScope(() =>
        {
            TimeProvider clock = options.TimeProvider;
            long now = clock.GetTimestamp();
            long until = Volatile.Read(ref _quietUntil);
            long next = now + (long)(longWait.TotalSeconds * clock.TimestampFrequency);
            if (now < until || Interlocked.CompareExchange(ref _quietUntil, next, until) != until)
            {
                Interlocked.Increment(ref _untold);
                return;
            }

            int others = Interlocked.Exchange(ref _untold, 0);
            Lines.WaitedLong(With("Others", others), _run, elapsed.TotalSeconds, limit, Words.AndOthers(others));
        });
    }

    public override void ItemFailed(long index, bool timedOut, Exception? error) => InScope(() =>
    {
        if (timedOut)
        {
            Lines.ItemTimedOut(_logger, error, _run, index);
        }
        else if (error is ConcurrencyLimitRejectedException refused)
        {
            // Without the exception: under overload there are many of these, and its stack tells nothing more.
            Lines.ItemRefused(_logger, _run, index, refused.Limit, refused.MaxWaiting);
        }
        else
        {
            Lines.ItemFailed(_logger, error, _run, index);
        }
    });

    private FieldLogger With(string field, object? value) => new(_logger, new KeyValuePair<string, object?>(field, value));

    private void InScope(Action write) => Write(() =>
    {
        using IDisposable? scope = _tags is null ? null : logger.BeginScope(_tags);
        write();
    });
}
