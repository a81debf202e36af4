namespace Weir.Hosting;

/// <summary>
/// The health of runs that have no queue, such as a run over a channel that lasts as long as the application: whether they have stalled, and how many items
/// have failed in a row. Watch the options of the runs, and add the check with <see cref="WeirRunHealthExtensions.AddWeirRun"/>.
/// </summary>
/// <remarks>Thread-safe. Several runs may be watched as one, at a time or one after the other.</remarks>
public sealed class RunHealth
{
    private readonly TimeProvider _clock;
    private readonly RunControl _control = new();
    private readonly TimeSpan _stalledAfter = TimeSpan.FromMinutes(5);
    private readonly int _maxFailuresInARow = 10;
    private long _moved;
    private int _failuresInARow;
    private volatile Exception? _lastFailure;

    /// <summary>Creates it. Nothing has begun yet, so it is healthy.</summary>
    /// <param name="name">The name in health checks, not empty.</param>
    /// <param name="timeProvider">The clock; <see langword="null"/> for the system's.</param>
    /// <exception cref="ArgumentNullException"><paramref name="name"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException"><paramref name="name"/> is empty.</exception>
    public RunHealth(string name, TimeProvider? timeProvider = null)
    {
        ArgumentException.ThrowIfNullOrEmpty(name);
        Name = name;
        _clock = timeProvider ?? TimeProvider.System;
        Moved();
    }

    /// <summary>The name in health checks.</summary>
    public string Name { get; }

    /// <summary>How long no item may begin or end while some are in flight.</summary>
    /// <value>More than zero. The default is 5 minutes.</value>
    /// <exception cref="ArgumentOutOfRangeException">The value is zero or less.</exception>
    public TimeSpan StalledAfter
    {
        get => _stalledAfter;
        init
        {
            ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(value, TimeSpan.Zero, nameof(StalledAfter));
            _stalledAfter = value;
        }
    }

    /// <summary>How many items may fail one after the other before the run counts as not healthy.</summary>
    /// <value>At least 1. The default is 10.</value>
    /// <exception cref="ArgumentOutOfRangeException">The value is below 1.</exception>
    public int MaxFailuresInARow
    {
        get => _maxFailuresInARow;
        init
        {
            ArgumentOutOfRangeException.ThrowIfLessThan(value, 1, nameof(MaxFailuresInARow));
            _maxFailuresInARow = value;
        }
    }

    /// <summary>How many items have failed since one succeeded.</summary>
    public int FailuresInARow => Volatile.Read(ref _failuresInARow);

    /// <summary>Whether items are in flight and none has begun or ended for <see cref="StalledAfter"/>. A run that is paused does not stall.</summary>
    public bool IsStalled => SinceMoved >= StalledAfter && Now is { InFlight: > 0, IsPaused: false };

    internal Exception? LastFailure => FailuresInARow > 0 ? _lastFailure : null;

    internal RunControlSnapshot Now => _control.Snapshot();

    internal TimeSpan SinceMoved => _clock.GetElapsedTime(Volatile.Read(ref _moved));

    /// <summary>Makes options whose runs are watched. Their own hooks are called as before.</summary>
    /// <param name="options">The options of a run, without a <see cref="ParallelRunOptions.Control"/>; <see langword="null"/> for the defaults.</param>
    /// <returns>A copy with hooks, and with a control that pauses and stops the watched runs: take it from there.</returns>
    /// <exception cref="ArgumentException">The options have a control of their own.</exception>
    public ParallelRunOptions Watch(ParallelRunOptions? options = null)
    {
        options ??= new ParallelRunOptions();
        if (options.Control is not null)
        {
            throw new ArgumentException("options must have no Control: the one of the result watches the run, and may be used.", nameof(options));
        }

        (Func<int, ValueTask>? start, Func<int, ValueTask>? complete) = (options.OnStartItemAsync, options.OnCompleteItemAsync);
        Func<int, Exception, ValueTask<bool>>? error = options.OnErrorAsync;
        return options with
        {
            Control = _control,
            OnStartItemAsync = index =>
            {
                Moved();
                return start is null ? default : start(index);
            },
            OnCompleteItemAsync = index =>
            {
                Volatile.Write(ref _failuresInARow, 0);
                Moved();
                return complete is null ? default : complete(index);
            },
            OnErrorAsync = (index, exception) =>
            {
                _lastFailure = exception;
                Interlocked.Increment(ref _failuresInARow);
                Moved();
                return error is null ? new ValueTask<bool>(true) : error(index, exception);
            },
        };
    }

    private void Moved() => Volatile.Write(ref _moved, _clock.GetTimestamp());
}
