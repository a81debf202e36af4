using Weir.Core;

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
                // Another reading beside one that hangs would only be one more that hangs.
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
                // A source that ignores its token is left behind after as long again.
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
