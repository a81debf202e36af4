using Microsoft.Extensions.Hosting;

namespace Weir.Hosting;

/// <summary>
/// A background service that processes the items of a source without a queue, such as a channel: with a limit and policies, a health that can be checked, and a
/// soft stop. Derive from it, and register it with <c>AddHostedService</c>.
/// </summary>
/// <typeparam name="T">The type of the items.</typeparam>
/// <remarks>
/// When the application stops, nothing more is read, and running items may end until the host's <c>ShutdownTimeout</c> has passed: then their token is
/// cancelled. Items that were not begun stay in their source. When the source ends, the service has ended. What the run throws ends the service, and the
/// application unless its <c>BackgroundServiceExceptionBehavior</c> says otherwise; the exit code of the process is then 1.
/// </remarks>
/// <param name="health">Watches the run; add it to the health checks with <see cref="WeirRunHealthExtensions.AddWeirRun"/>.</param>
public abstract class RunService<T>(RunHealth health) : BackgroundService
{
    // Never disposed: without a timer it holds nothing.
    private readonly CancellationTokenSource _abort = new();

    /// <summary>The options of the run, without a control.</summary>
    /// <value>The default goes on when an item fails (<see cref="ErrorMode.BestEffort"/>): the health check counts the failures.</value>
    protected virtual ParallelRunOptions Options => new() { ErrorMode = ErrorMode.BestEffort };

    /// <inheritdoc/>
    public override async Task StopAsync(CancellationToken cancellationToken)
    {
        using (cancellationToken.UnsafeRegister(static service => ((RunService<T>)service!).TryAbort(), this))
        {
            await base.StopAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Gets the items.</summary>
    /// <returns>
    /// The source, which is read as items are wanted. It may be endless: the token of its enumerator, such as that of <c>ReadAllAsync</c> of a channel, is
    /// cancelled when the application stops.
    /// </returns>
    protected abstract IAsyncEnumerable<T> GetItems();

    /// <summary>Processes an item, several at a time.</summary>
    /// <param name="item">The item.</param>
    /// <param name="cancellationToken">Cancelled at the item's time limit, and when the time for the stop has passed.</param>
    /// <returns>A task that completes when the item is done.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    protected abstract ValueTask ProcessAsync(T item, CancellationToken cancellationToken);

    /// <inheritdoc/>
    protected sealed override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        ParallelRunOptions options = health.Watch(Options);
        using (stoppingToken.UnsafeRegister(static control => TryAbort((RunControl)control!), options.Control))
        {
            try
            {
                await GetItems().ForEachParallelAsync(ProcessAsync, options, _abort.Token).ConfigureAwait(false);
            }
            catch (OperationCanceledException) when (_abort.IsCancellationRequested)
            {
                // Its time to stop has passed.
            }
            catch (Exception)
            {
                // As for a worker: the host stops as it does at the end of a day's work, and whoever started the process sees only this.
                Environment.ExitCode = 1;
                throw;
            }
        }
    }

    // Both are called where nobody would catch what a user's callback throws.
    private void TryAbort() => Try(_abort.Cancel);

    private static void TryAbort(RunControl control) => Try(control.Stop);

    private static void Try(Action action)
    {
        try
        {
            action();
        }
        catch (Exception)
        {
            // The others have been called.
        }
    }
}

/// <summary>
/// The health of runs that have no queue, such as a run over a channel that lasts as long as the application: whether they have stalled, and how many items
/// have failed in a row. Watch the options of the runs, and add the check with <see cref="WeirRunHealthExtensions.AddWeirRun"/>.
/// </summary>
/// <remarks>Thread-safe. Several runs may be watched as one, at a time or one after the other.</remarks>
public sealed class RunHealth
{
    // Immutable. The control is thread-safe.
    private readonly TimeProvider _clock;
    private readonly RunControl _control = new();
    private readonly TimeSpan _stalledAfter = TimeSpan.FromMinutes(5);
    private readonly int _maxFailuresInARow = 10;

    // Atomic: each item that begins or ends writes the time, one that succeeds sets the count to 0, and one that fails writes the failure and then counts.
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
