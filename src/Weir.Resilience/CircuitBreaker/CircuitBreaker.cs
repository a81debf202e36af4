using System.Diagnostics;

namespace Weir.Resilience;

/// <summary>Stops calls to a service that keeps failing, and admits a few calls after a while to see whether the service has recovered.</summary>
/// <remarks>
/// <para>
/// One instance represents one called service and is shared by everything that calls it: calls, chains and runs. All members are thread-safe. While the
/// circuit is closed and nothing has failed, a call costs two reads and no atomic operation, lock or allocation (one atomic addition with
/// <see cref="CircuitBreakerOptions.FailureRatio"/>).
/// </para>
/// <para>
/// A caller asks <see cref="TryEnter"/>, and returns the ticket exactly once, with <see cref="Succeeded"/>, <see cref="Failed"/>, <see cref="Ignored"/>, or
/// <see cref="Report"/>, which chooses among them. A circuit leaves <see cref="CircuitBreakerState.Open"/> when the first call asks after
/// <see cref="CircuitBreakerOptions.OpenTimeout"/>, not by a timer.
/// </para>
/// </remarks>
[DebuggerDisplay("{State}, retry after {RetryAfter}")]
public sealed partial class CircuitBreaker : IMeteredPolicy
{
    // The word: generation, 2 bits of state, 32 bits of consecutive failures. Generation and state are changed only under the lock; the count is changed by
    // any thread, with a compare-and-swap that fails if the generation is no longer that of its ticket. So a count never ends up in a generation that it does
    // not belong to. What a new state needs (the time of the first probe, a new failure rate) is written before the word that announces it, so that
    // a thread that reads the word first finds it. In the other order, it would admit a call by the old time, or count it in the old rate.
    private const int StateShift = 32;
    private const int GenerationShift = 34;
    private const long StateMask = 3L << StateShift;
    private const long CountMask = (1L << StateShift) - 1;

    private readonly Clock _clock;
    private readonly long _openTicks;
    private readonly Func<int, TimeSpan>? _openTimeoutOf;
    private readonly int _failureThreshold;
    private readonly int _successThreshold;
    private readonly Func<Exception, bool>? _isFailure;
    private readonly StateNotifier? _notifier;
    private readonly FailureWindow? _window;
    private readonly Func<FailureRate>? _newRate;
    private readonly Lock _lock = new();

    private long _word;
    private FailureRate? _rate;
    private long _tryableAt;
    private int _admitted;
    private int _probeSuccesses;
    private TaskCompletionSource? _change;
    private int _openings;
    private Exception? _openedBy;

    /// <summary>Creates a closed circuit.</summary>
    /// <param name="options">When it opens and closes; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentOutOfRangeException">A value is out of range. The exception names the property.</exception>
    public CircuitBreaker(CircuitBreakerOptions? options = null)
        : this(options ?? new CircuitBreakerOptions(), group: null)
    {
        PolicyRegistry.Add(this);
    }

    /// <summary>Creates a circuit that is counted with its group, or with its run.</summary>
    internal CircuitBreaker(CircuitBreakerOptions options, object? group)
    {
        options.Validate();
        Group = group;
        Name = options.Name;
        _clock = new Clock(options.TimeProvider);
        _openTicks = _clock.ToTicks(options.OpenTimeout);
        _openTimeoutOf = options.OpenTimeoutGenerator;
        _failureThreshold = options.FailureThreshold;
        _successThreshold = options.SuccessThreshold;
        _isFailure = options.IsFailure;
        _notifier = options.OnStateChange is { } callback ? new StateNotifier(callback) : null;
        if (options.SamplingDuration is { } sampling)
        {
            long ticks = _clock.ToTicks(sampling);
            if (options.FailureRatio is { } ratio)
            {
                int minimum = options.MinimumThroughput;
                _newRate = () => new FailureRate(ratio, minimum, ticks);
                _rate = _newRate();
            }
            else
            {
                _window = new FailureWindow(options.FailureThreshold, ticks);
            }
        }

        _word = EraOf(generation: 1, CircuitBreakerState.Closed);
    }

    /// <summary>What metrics call it: <see cref="CircuitBreakerOptions.Name"/>.</summary>
    public string? Name { get; }

    /// <summary>The current state. An open circuit whose time has passed stays <see cref="CircuitBreakerState.Open"/> until a call asks to enter.</summary>
    public CircuitBreakerState State => StateOf(Volatile.Read(ref _word));

    /// <summary>
    /// The time until a call may be admitted; zero if one may be admitted now. For a half-open circuit whose probes are all taken, it is the time after which
    /// one more is admitted in any case. A call may be admitted earlier if the probes end. For an isolated circuit, it is the longest time of a timer.
    /// </summary>
    public TimeSpan RetryAfter
    {
        get
        {
            lock (_lock)
            {
                return StateOf(_word) switch
                {
                    CircuitBreakerState.Closed => TimeSpan.Zero,
                    CircuitBreakerState.HalfOpen when _admitted < _successThreshold => TimeSpan.Zero,
                    _ when _tryableAt == Never => TimerDelay.Longest,
                    _ => _clock.ToTimeSpan(_tryableAt - _clock.Now),
                };
            }
        }
    }

    /// <summary>
    /// Completes at the next change of the state, or when a probe is returned to a half-open circuit. To wait in your own code, get this task first and then
    /// read <see cref="RetryAfter"/>, so that you miss no change between the two.
    /// </summary>
    public Task NextChange
    {
        get
        {
            lock (_lock)
            {
                return (_change ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously)).Task;
            }
        }
    }

    /// <summary>Whether the circuit is closed, or has been open for its whole time without anybody asking.</summary>
    internal bool IsIdle => RetryAfter == TimeSpan.Zero;

    /// <summary>The circuit breakers that it belongs to, or null.</summary>
    internal object? Group { get; }

    /// <summary>Asks whether a call may be made.</summary>
    /// <param name="ticket">The permission, which you return with the call's outcome; the default value if there is none.</param>
    /// <returns>Whether the call may be made.</returns>
    public bool TryEnter(out CircuitTicket ticket)
    {
        long word = Volatile.Read(ref _word);
        if ((word & StateMask) == 0)
        {
            ticket = new CircuitTicket(word & ~CountMask);
            return true;
        }

        return TryEnterBroken(out ticket);
    }

    /// <summary>Whether the circuit is still in the state in which it issued the ticket. Check this after a wait between the ticket and the call.</summary>
    /// <param name="ticket">The permission.</param>
    /// <returns><see langword="false"/> if the circuit has changed since. Then the outcome would be ignored, and the call should ask again.</returns>
    public bool IsCurrent(CircuitTicket ticket) => (Volatile.Read(ref _word) & ~CountMask) == ticket.Era;

    /// <summary>The call succeeded.</summary>
    /// <param name="ticket">Its permission.</param>
    public void Succeeded(CircuitTicket ticket)
    {
        long word = Volatile.Read(ref _word);
        if ((ticket.Era & StateMask) != 0)
        {
            ProbeSucceeded(ticket);
        }
        else if (_newRate is not null)
        {
            if ((word & ~CountMask) == ticket.Era)
            {
                Volatile.Read(ref _rate)!.Success(_clock.Now);
            }
        }
        else if (word != ticket.Era)
        {
            ClearCount(ticket, word);
        }
    }

    /// <summary>The call failed.</summary>
    /// <param name="ticket">Its permission.</param>
    /// <param name="exception">Its exception, which <see cref="OpenedBy"/> keeps if it opens the circuit.</param>
    /// <remarks>An exception from <see cref="CircuitBreakerOptions.OpenTimeoutGenerator"/> is passed on, and the circuit opens.</remarks>
    public void Failed(CircuitTicket ticket, Exception? exception = null)
    {
        if (!IsCurrent(ticket))
        {
            return;
        }

        bool open = (ticket.Era & StateMask) != 0
            || (_newRate is not null ? Volatile.Read(ref _rate)!.Failure(_clock.Now) : _window is not null || CountFailure(ticket));
        if (!open)
        {
            return;
        }

        // The window is counted under the lock, because it is only used when something fails.
        if (_window is null || IsWindowFull(ticket))
        {
            OpenAfterFailure(ticket, exception);
        }
    }

    /// <summary>
    /// The call says nothing about the called service, because its caller cancelled it or it was never made. A probe is returned to the half-open circuit.
    /// </summary>
    /// <param name="ticket">Its permission.</param>
    public void Ignored(CircuitTicket ticket)
    {
        if ((ticket.Era & StateMask) == 0)
        {
            return;
        }

        TaskCompletionSource? change = null;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            if (IsCurrent(ticket) && _admitted > _probeSuccesses)
            {
                _admitted--;
                change = TakeChangeNeedsLock();
            }
        }

        change?.TrySetResult();
    }

    /// <summary>Reports the outcome of a call, whatever it is.</summary>
    /// <param name="ticket">Its permission.</param>
    /// <param name="exception">The call's exception; <see langword="null"/> if it succeeded.</param>
    /// <param name="callerToken">The caller's token. After it has been cancelled, an <see cref="OperationCanceledException"/> is ignored.</param>
    /// <remarks>An exception from <see cref="CircuitBreakerOptions.IsFailure"/> is passed on, and the call counts as failed.</remarks>
    public void Report(CircuitTicket ticket, Exception? exception, CancellationToken callerToken = default)
    {
        if (exception is null)
        {
            Succeeded(ticket);
        }
        else if (exception is OperationCanceledException
            && (callerToken.IsCancellationRequested || (_isFailure is null && !TimeoutFailure.Is(exception))))
        {
            Ignored(ticket);
        }
        else if (_isFailure is null && exception is ConcurrencyLimitRejectedException or RateLimitRejectedException)
        {
            // A limit inside the call refused it, in this process. The service was not asked.
            Ignored(ticket);
        }
        else
        {
            bool isFailure = true;
            try
            {
                isFailure = _isFailure?.Invoke(exception) ?? true;
            }
            finally
            {
                if (isFailure)
                {
                    Failed(ticket, exception);
                }
                else
                {
                    Succeeded(ticket);
                }
            }
        }
    }

    /// <summary>Waits until the circuit may admit a call. It holds no thread and reserves nothing: others may enter first.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A task that completes when it is worth calling <see cref="TryEnter"/>.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public async Task WaitAsync(CancellationToken cancellationToken = default)
    {
        while (true)
        {
            cancellationToken.ThrowIfCancellationRequested();
            Task change = NextChange;
            TimeSpan wait = RetryAfter;
            if (wait == TimeSpan.Zero)
            {
                return;
            }

            await change.WaitAsync(TimerDelay.RoundUp(wait), _clock.Provider, cancellationToken)
                .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    /// <summary>Creates the exception for a rejected call.</summary>
    /// <returns>The exception, with the current state and, as its inner exception, <see cref="OpenedBy"/>.</returns>
    public CircuitBreakerOpenException CreateRejection()
    {
        CircuitBreakerState state = State;
        state = state == CircuitBreakerState.HalfOpen ? state : CircuitBreakerState.Open;
        return new CircuitBreakerOpenException(state, RetryAfter, OpenedBy) { RefusedBy = this };
    }

    void IMeteredPolicy.AddTo(PolicyCounts counts)
    {
        CircuitBreakerState state = State;
        counts.AddCircuits(
            state == CircuitBreakerState.Closed ? 1 : 0, state == CircuitBreakerState.Open ? 1 : 0, state == CircuitBreakerState.HalfOpen ? 1 : 0);
    }

    private static CircuitBreakerState StateOf(long word) => (CircuitBreakerState)((word & StateMask) >> StateShift);

    private static long EraOf(long generation, CircuitBreakerState state) => (generation << GenerationShift) | ((long)state << StateShift);
}
