using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using Weir.Core.Live;
using Weir.Observability;

namespace Weir.Resilience;

/// <summary>
/// Stops calls to a service that keeps failing, or that has become too slow, and admits a few calls after a while to see whether the service has recovered.
/// </summary>
/// <remarks>
/// <para>
/// One instance represents one called service and is shared by everything that calls it: calls, chains and runs. All members are thread-safe. While the
/// circuit is closed and nothing has failed, a call costs two reads and no atomic operation, lock or allocation (one atomic addition with
/// <see cref="CircuitBreakerOptions.FailureRatio"/> or <see cref="CircuitBreakerOptions.SlowCallDuration"/>).
/// </para>
/// <para>
/// A caller asks <see cref="TryEnter"/>, and returns the ticket exactly once, with <see cref="Succeeded"/>, <see cref="Failed"/>, <see cref="Ignored"/>, or
/// <see cref="Report"/>, which chooses among them. A circuit leaves <see cref="CircuitBreakerState.Open"/> when the first call asks after
/// <see cref="CircuitBreakerOptions.OpenTimeout"/>, not by a timer.
/// </para>
/// </remarks>
[DebuggerDisplay("{State}, retry after {RetryAfter}")]
public sealed class CircuitBreaker : IMeteredPolicy
{
    // The states, and who changes them, always under _lock and in MoveNeedsLock alone:
    //
    //   Closed    -> Open       a call whose failure or slowness is one too many (OpenAfter), or Open and Isolate by hand
    //   Open      -> HalfOpen   the first call that asks when _tryableAt has passed, and which is the first probe (TryEnterBroken); there is no timer
    //   HalfOpen  -> Open       a probe that fails or is slow
    //   any       -> Open       a call whose failure asks everybody to wait (CoolDown), of whatever generation: the server has just said it. An open circuit
    //                           stays open for at least as long, without a new generation, and an isolated one stays isolated
    //   HalfOpen  -> Closed     as many probes that succeed as the success threshold says
    //   any       -> Closed     Close by hand
    //
    // Each change begins a generation. A ticket carries its own, and the outcome of a call of an older one counts for nothing. A half-open circuit has admitted
    // _admitted probes, at most as many as the success threshold; one more is admitted each time _tryableAt passes, because a call that never ends must not
    // keep the circuit half-open for ever. A probe that called nothing gives its admission back (Ignored). Whoever waits for a change hears of it without the
    // lock, and so does the user's callback, in the order of the changes.
    private const int StateShift = 32;
    private const int GenerationShift = 34;
    private const long StateMask = 3L << StateShift;
    private const long CountMask = (1L << StateShift) - 1;

    // Immutable.
    private readonly Clock _clock;
    private readonly long _openTicks;
    private readonly Func<int, TimeSpan>? _openTimeoutOf;
    private readonly int _failureThreshold;
    private readonly int _successThreshold;
    private readonly Func<Exception, bool>? _isFailure;
    private readonly Func<Exception, TimeSpan?>? _coolDown;
    private readonly TimeSpan _maxCoolDown;
    private readonly StateNotifier? _notifier;
    private readonly Func<CallRates>? _newRates;
    private readonly long _slowTicks = Never;
    private readonly TimeSpan? _slowCall;
    private readonly Lock _lock = new();

    // Under _lock.
    private readonly FailureWindow? _window;
    private int _admitted;
    private int _probeSuccesses;
    private TaskCompletionSource? _change;

    // Atomic: generation, 2 bits of state, 32 bits of consecutive failures. Generation and state are changed only under the lock; the count is changed by any
    // thread, with a compare-and-swap that fails if the generation is no longer that of its ticket. So a count never ends up in a generation that it does not
    // belong to.
    private long _word;

    // Atomic: changed under _lock, read by any thread. What a new state needs is written before the word that announces it, so that a thread that reads the
    // word first finds it. In the other order, it would admit a call by the old time, or count it in the old rate.
    private long _tryableAt;
    private CallRates? _rates;
    private int _openings;
    private long _opened;
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
        _coolDown = options.CoolDown;
        _maxCoolDown = options.MaxCoolDown;
        _notifier = options.OnStateChange is { } callback ? new StateNotifier(callback) : null;
        if (options.SamplingDuration is { } sampling)
        {
            long ticks = _clock.ToTicks(sampling);
            if (options.FailureRatio is null)
            {
                _window = new FailureWindow(options.FailureThreshold, ticks);
            }

            if (options.SlowCallDuration is { } slow)
            {
                _slowCall = slow;
                _slowTicks = _clock.ToTicks(slow);
            }

            if (options.FailureRatio is not null || _slowCall is not null)
            {
                double? failures = options.FailureRatio;
                double slowCalls = options.SlowCallRatio;
                int minimum = options.MinimumThroughput;
                _newRates = () => new CallRates(failures, slowCalls, minimum, ticks);
                _rates = _newRates();
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
            ticket = new CircuitTicket(word & ~CountMask, _slowTicks == Never ? 0 : _clock.Now);
            return true;
        }

        return TryEnterBroken(out ticket);
    }

    /// <summary>Whether the circuit is still in the state in which it issued the ticket. Check this after a wait between the ticket and the call.</summary>
    /// <param name="ticket">The permission.</param>
    /// <returns><see langword="false"/> if the circuit has changed since. Then the outcome would be ignored, and the call should ask again.</returns>
    public bool IsCurrent(CircuitTicket ticket) => (Volatile.Read(ref _word) & ~CountMask) == ticket.Era;

    /// <summary>The time of the call begins now: since it entered, it has waited for something that is not the called service.</summary>
    internal void Restart(ref CircuitTicket ticket)
    {
        if (_slowTicks != Never)
        {
            ticket = new CircuitTicket(ticket.Era, _clock.Now);
        }
    }

    /// <summary>The call succeeded. With <see cref="CircuitBreakerOptions.SlowCallDuration"/>, it may have been too slow all the same.</summary>
    /// <param name="ticket">Its permission.</param>
    /// <remarks>An exception from <see cref="CircuitBreakerOptions.OpenTimeoutGenerator"/> is passed on, and the circuit opens.</remarks>
    public void Succeeded(CircuitTicket ticket)
    {
        long word = Volatile.Read(ref _word);
        if ((ticket.Era & StateMask) != 0)
        {
            ProbeSucceeded(ticket);
        }
        else if (_newRates is not null)
        {
            if ((word & ~CountMask) == ticket.Era && CountInRates(ticket, failed: false))
            {
                OpenAfter(ticket, SlowCalls());
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

        // The window is counted under the lock, because it is only used when something fails.
        if ((ticket.Era & StateMask) != 0
            || (_newRates is not null && CountInRates(ticket, failed: true))
            || (_window is not null ? IsWindowFull(ticket) : _newRates is null && CountFailure(ticket)))
        {
            OpenAfter(ticket, exception);
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
    /// <remarks>
    /// An exception from <see cref="CircuitBreakerOptions.IsFailure"/> or <see cref="CircuitBreakerOptions.CoolDown"/> is passed on, and the call counts as failed.
    /// </remarks>
    public void Report(CircuitTicket ticket, Exception? exception, CancellationToken callerToken = default)
    {
        if (exception is null)
        {
            Succeeded(ticket);
        }
        else if ((exception is OperationCanceledException && callerToken.IsCancellationRequested)
            || (_isFailure is null && ServiceFailure.Of(exception, null) is null))
        {
            Ignored(ticket);
        }
        else
        {
            bool isFailure = true;
            bool coolsDown = false;
            try
            {
                // Then the circuit is open for as long as the service has asked for, whatever a failure would do.
                coolsDown = _coolDown is not null && TryCoolDown(_coolDown(exception), exception);
                isFailure = !coolsDown && (_isFailure?.Invoke(exception) ?? true);
            }
            finally
            {
                if (isFailure)
                {
                    Failed(ticket, exception);
                }
                else if (!coolsDown)
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
        while (await WaitOnceAsync(cancellationToken).ConfigureAwait(false))
        {
        }
    }

    /// <summary>Waits until the circuit changes, or until the time at which it may admit a call now, which may be longer by then.</summary>
    /// <returns>Whether there was anything to wait for.</returns>
    internal async Task<bool> WaitOnceAsync(CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        Task change = NextChange;
        TimeSpan wait = RetryAfter;
        if (wait == TimeSpan.Zero)
        {
            return false;
        }

        await change.WaitAsync(TimerDelay.RoundUp(wait), _clock.Provider, cancellationToken)
            .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        return true;
    }

    /// <summary>Creates the exception for a rejected call.</summary>
    /// <returns>The exception, with the current state and, as its inner exception, <see cref="OpenedBy"/>.</returns>
    public CircuitBreakerOpenException CreateRejection()
    {
        CircuitBreakerState state = State;
        state = state == CircuitBreakerState.HalfOpen ? state : CircuitBreakerState.Open;
        return new CircuitBreakerOpenException(state, RetryAfter, OpenedBy) { RefusedBy = this };
    }

    /// <summary>The exception of a call that would have waited for the circuit for longer than it has time.</summary>
    internal CircuitBreakerOpenException CreateRejection(TimeSpan wait, TimeSpan left) => new(wait, left, OpenedBy) { RefusedBy = this };

    /// <summary>How often it has opened since it was created.</summary>
    internal long Opened => Volatile.Read(ref _opened);

    void IMeteredPolicy.AddTo(PolicyCounts counts)
    {
        CircuitBreakerState state = State;
        counts.AddCircuits(
            state == CircuitBreakerState.Closed ? 1 : 0, state == CircuitBreakerState.Open ? 1 : 0, state == CircuitBreakerState.HalfOpen ? 1 : 0);
    }

    LiveEntry IMeteredPolicy.Show() => new()
    {
        Id = LiveIds.Of(LiveKind.Breaker, this),
        Kind = LiveKind.Breaker,
        Type = nameof(CircuitBreaker),
        State = IsIsolated ? LiveState.Isolated : State switch
        {
            CircuitBreakerState.Closed => LiveState.Closed,
            CircuitBreakerState.Open => LiveState.Open,
            _ => LiveState.HalfOpen,
        },
        LastError = LiveError.Of(OpenedBy),
        Opened = Opened,
        Actions = [LiveAction.Open, LiveAction.Close],
    };

    private static CircuitBreakerState StateOf(long word) => (CircuitBreakerState)((word & StateMask) >> StateShift);

    private static long EraOf(long generation, CircuitBreakerState state) => (generation << GenerationShift) | ((long)state << StateShift);

    // What people do by hand.

    /// <summary>The time of an isolated circuit's first probe.</summary>
    private const long Never = long.MaxValue;

    /// <summary>The exception of the call that opened the circuit, which rejections have as their inner exception.</summary>
    /// <value>
    /// <see langword="null"/> if the circuit is closed, was opened by hand without one, or was opened by a failure of which no exception was reported. Of a
    /// call that ran out of time, it is the <see cref="TimeoutException"/>. If slow calls opened it, it is one that says so.
    /// </value>
    /// <remarks>
    /// The circuit keeps this one exception, and all that it leads to, until it closes. It keeps no <see cref="OperationCanceledException"/>, whose token leads
    /// to everything that is registered with it.
    /// </remarks>
    public Exception? OpenedBy => Volatile.Read(ref _openedBy);

    /// <summary>Whether the circuit is open until <see cref="Close"/>.</summary>
    public bool IsIsolated => Volatile.Read(ref _tryableAt) == Never;

    /// <summary>Opens the circuit as a failure does: for <see cref="CircuitBreakerOptions.OpenTimeout"/> from now, also if it is open already.</summary>
    /// <param name="reason">Why, for <see cref="OpenedBy"/>.</param>
    public void Open(Exception? reason = null) => Open(_openTicks, reason);

    /// <summary>
    /// Opens the circuit for at least a time from now, because the service asks for it, as with HTTP's <c>Retry-After</c>. One that is open for longer, or
    /// isolated, stays so. Then probes decide, as after <see cref="CircuitBreakerOptions.OpenTimeout"/>.
    /// </summary>
    /// <param name="time">How long. More than zero, at most 2^32 - 2 ms.</param>
    /// <param name="reason">Why, for <see cref="OpenedBy"/>.</param>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="time"/> is out of range.</exception>
    public void CoolDown(TimeSpan time, Exception? reason = null)
    {
        Require.Positive(time, nameof(time));
        TaskCompletionSource? change = null;
        long until = _clock.Now + _clock.ToTicks(time);
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            if (StateOf(_word) != CircuitBreakerState.Open)
            {
                change = OpenNeedsLock(until, reason);
            }
            else if (until > _tryableAt)
            {
                // Those who wait come back at the time that they know, and wait again.
                Volatile.Write(ref _tryableAt, until);
            }
        }

        change?.TrySetResult();
    }

    internal bool HasCoolDown => _coolDown is not null;

    /// <summary>Opens the circuit for the time that a refused result asks for, if the breaker obeys that.</summary>
    internal void CoolDownFor(TimeSpan? asked)
    {
        if (HasCoolDown)
        {
            TryCoolDown(asked, null);
        }
    }

    private bool TryCoolDown(TimeSpan? asked, Exception? reason)
    {
        if (asked is not { } time || time <= TimeSpan.Zero)
        {
            return false;
        }

        CoolDown(time < _maxCoolDown ? time : _maxCoolDown, reason);
        return true;
    }

    /// <summary>Opens the circuit until <see cref="Close"/>, or until <see cref="Open(Exception?)"/> sets it a time again.</summary>
    /// <param name="reason">Why, for <see cref="OpenedBy"/>.</param>
    public void Isolate(Exception? reason = null) => Open(Never, reason);

    /// <summary>Closes the circuit, and forgets what failed. Calls that are under way count for nothing.</summary>
    public void Close()
    {
        TaskCompletionSource? change;
        lock (_lock)
        {
            Volatile.Write(ref _tryableAt, 0);
            change = MoveNeedsLock(CircuitBreakerState.Closed);
        }

        change?.TrySetResult();
    }

    private void Open(long ticks, Exception? reason)
    {
        TaskCompletionSource? change;
        lock (_lock)
        {
            change = OpenNeedsLock(ticks == Never ? Never : _clock.Now + ticks, reason);
        }

        change?.TrySetResult();
    }

    // The rare half: everything that happens after a failure.

    private bool TryEnterBroken(out CircuitTicket ticket)
    {
        ticket = default;
        long now = _clock.Now;

        // While the circuit is open, rejected calls must not queue up at the lock. The time is written before the word that says open.
        if (State == CircuitBreakerState.Open && now < Volatile.Read(ref _tryableAt))
        {
            return false;
        }

        TaskCompletionSource? change = null;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            CircuitBreakerState state = StateOf(_word);
            if (state != CircuitBreakerState.Closed)
            {
                // Open: its time must have passed. Half-open: a probe must be free, or the probes' time must have passed, because a call that never ends must
                // not keep the circuit half-open for ever.
                if (now < _tryableAt && (state == CircuitBreakerState.Open || _admitted >= _successThreshold))
                {
                    return false;
                }

                if (state == CircuitBreakerState.Open)
                {
                    change = MoveNeedsLock(CircuitBreakerState.HalfOpen);
                }

                _admitted++;
                _tryableAt = now + _openTicks;
            }

            ticket = new CircuitTicket(_word & ~CountMask, now);
        }

        change?.TrySetResult();
        return true;
    }

    private void ProbeSucceeded(CircuitTicket ticket)
    {
        if (_slowTicks != Never && IsSlow(ticket, _clock.Now))
        {
            OpenAfter(ticket, SlowCalls());
            return;
        }

        TaskCompletionSource? change = null;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            if (IsCurrent(ticket) && ++_probeSuccesses >= _successThreshold)
            {
                change = MoveNeedsLock(CircuitBreakerState.Closed);
            }
        }

        change?.TrySetResult();
    }

    private void ClearCount(CircuitTicket ticket, long word)
    {
        // With a window, a success changes nothing, and the count is always zero.
        while ((word & ~CountMask) == ticket.Era && word != ticket.Era)
        {
            long seen = Interlocked.CompareExchange(ref _word, ticket.Era, word);
            if (seen == word)
            {
                return;
            }

            word = seen;
        }
    }

    private bool CountFailure(CircuitTicket ticket)
    {
        long word = Volatile.Read(ref _word);
        while ((word & ~CountMask) == ticket.Era)
        {
            long seen = Interlocked.CompareExchange(ref _word, word + 1, word);
            if (seen == word)
            {
                return (word & CountMask) + 1 >= _failureThreshold;
            }

            word = seen;
        }

        return false;
    }

    private bool IsWindowFull(CircuitTicket ticket)
    {
        lock (_lock)
        {
            return IsCurrent(ticket) && _window!.Add(_clock.Now);
        }
    }

    /// <summary>Counts the end of a call in the shares of a closed circuit.</summary>
    /// <returns>Whether it is one too many.</returns>
    private bool CountInRates(CircuitTicket ticket, bool failed)
    {
        long now = _clock.Now;
        return Volatile.Read(ref _rates)!.Add(now, failed, IsSlow(ticket, now));
    }

    private bool IsSlow(CircuitTicket ticket, long now) => _slowTicks != Never && now - ticket.Started > _slowTicks;

    private TimeoutException SlowCalls() => new($"Too many calls took longer than {_slowCall}, the SlowCallDuration of the circuit breaker.");

    private void OpenAfter(CircuitTicket ticket, Exception? exception)
    {
        TaskCompletionSource? change = null;
        long ticks = _openTicks;
        try
        {
            // The number is that of the ticket's generation if the ticket is still current below, because it changes only with the generation.
            if (_openTimeoutOf is not null)
            {
                TimeSpan time = _openTimeoutOf(Volatile.Read(ref _openings) + 1);
                Require.Positive(time, nameof(CircuitBreakerOptions.OpenTimeoutGenerator));
                ticks = _clock.ToTicks(time);
            }
        }
        finally
        {
            lock (_lock)
            {
                AssertInvariantsNeedsLock();
                if (IsCurrent(ticket))
                {
                    change = OpenNeedsLock(_clock.Now + ticks, exception);
                }
            }

            change?.TrySetResult();
        }
    }

    private TaskCompletionSource? OpenNeedsLock(long tryableAt, Exception? cause)
    {
        Volatile.Write(ref _openings, _openings + 1);

        // A cancellation has a token, which leads to everything that is registered with it.
        Volatile.Write(ref _openedBy, cause is OperationCanceledException ? cause.InnerException as TimeoutException : cause);
        Volatile.Write(ref _tryableAt, tryableAt);
        return MoveNeedsLock(CircuitBreakerState.Open);
    }

    /// <summary>Begins a new generation, and returns what to complete after the lock is released.</summary>
    private TaskCompletionSource? MoveNeedsLock(CircuitBreakerState to)
    {
        long word = Volatile.Read(ref _word);
        CircuitBreakerState from = StateOf(word);
        _admitted = 0;
        _probeSuccesses = 0;
        if (to == CircuitBreakerState.Closed)
        {
            // A late success of the old generation still adds to the old object, which nobody reads.
            _window?.Clear();
            Volatile.Write(ref _rates, _newRates?.Invoke());
            Volatile.Write(ref _openings, 0);
            Volatile.Write(ref _openedBy, null);
        }

        if (to == CircuitBreakerState.Open && from != to)
        {
            Volatile.Write(ref _opened, _opened + 1);
        }

        // An exchange rather than a write, because counts are changed without the lock.
        Interlocked.Exchange(ref _word, EraOf((word >> GenerationShift) + 1, to));

        // Queued under the lock, so that the order is that of the changes; called without the lock.
        if (from != to)
        {
            _notifier?.Add(from, to);
        }

        return TakeChangeNeedsLock();
    }

    private TaskCompletionSource? TakeChangeNeedsLock()
    {
        TaskCompletionSource? change = _change;
        _change = null;
        return change;
    }

    [Conditional("DEBUG")]
    private void AssertInvariantsNeedsLock()
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "The breaker's lock is held.");
        Debug.Assert(_admitted >= 0 && _probeSuccesses >= 0, "Probes are not negative.");
        Debug.Assert(StateOf(_word) == CircuitBreakerState.HalfOpen || (_admitted == 0 && _probeSuccesses == 0), "Only a half-open circuit has probes.");
        Debug.Assert(_probeSuccesses < _successThreshold, "Enough successes close the circuit.");
    }
}

/// <summary>The permission of a <see cref="CircuitBreaker"/> for one call. Return it once, with the call's outcome.</summary>
/// <remarks>
/// It carries the generation of the breaker's state, so that the outcome of a call that began in an older state changes nothing in a newer one. The default
/// value belongs to no generation and is ignored.
/// </remarks>
[SuppressMessage("Performance", "CA1815:Override equals and operator equals on value types", Justification = "Tickets are handed back, not compared.")]
public readonly struct CircuitTicket
{
    internal CircuitTicket(long era, long started) => (Era, Started) = (era, started);

    /// <summary>The breaker's word when the call entered, without its count: the generation and the state.</summary>
    internal long Era { get; }

    /// <summary>When the call began, if slow calls count; otherwise any number.</summary>
    internal long Started { get; }
}

/// <summary>
/// The shares of failures and of slow calls in a window that advances in tenths. Thread-safe without a lock: one atomic addition for a call, and one more for a
/// slow one.
/// </summary>
/// <remarks>
/// Each slot of the ring has the slice of one tenth, which is replaced by a compare-and-swap when its tenth has passed. The first thread of a new tenth wins,
/// and the others count in its slice: with a plain write, the counts in a slice that was just replaced would be lost. The number of a slice never changes, so a
/// slice that is too old is left out of the sum even while its slot has not been used again. The sum is no snapshot: calls that end meanwhile may be missing.
/// </remarks>
internal sealed class CallRates(double? failureRatio, double slowRatio, int minimumThroughput, long windowTicks)
{
    private const int Slices = 10;

    private readonly long _sliceTicks = Math.Max(1, windowTicks / Slices);
    private readonly Slice?[] _slices = new Slice?[Slices];

    /// <summary>Counts one call.</summary>
    /// <returns>Whether the window now contains enough calls, and too many that are like this one: failures, or slow calls.</returns>
    public bool Add(long now, bool failed, bool slow)
    {
        long number = now / _sliceTicks;
        Slice own = SliceAt(number);

        // Before its slowness, which sums read first: none may find a slow call among fewer calls than there are.
        Interlocked.Increment(ref (failed ? ref own.Failures : ref own.Successes));
        if (slow)
        {
            Interlocked.Increment(ref own.Slow);
        }

        return (slow || (failed && failureRatio is not null)) && IsTooMuch(number, failed, slow);
    }

    private bool IsTooMuch(long number, bool failed, bool slow)
    {
        long successes = 0;
        long failures = 0;
        long slowCalls = 0;
        foreach (ref Slice? slot in _slices.AsSpan())
        {
            if (Volatile.Read(ref slot) is { } slice && slice.Number > number - Slices)
            {
                slowCalls += Volatile.Read(ref slice.Slow);
                successes += Volatile.Read(ref slice.Successes);
                failures += Volatile.Read(ref slice.Failures);
            }
        }

        long all = successes + failures;
        return all >= minimumThroughput
            && ((failed && failureRatio is { } ratio && failures >= ratio * all) || (slow && slowCalls >= slowRatio * all));
    }

    private Slice SliceAt(long number)
    {
        ref Slice? slot = ref _slices[(int)((ulong)number % Slices)];
        Slice? slice = Volatile.Read(ref slot);

        // A thread that was delayed after it read the clock counts in the newer slice, so no count is lost, and none revives an old slice.
        if (slice is not null && slice.Number >= number)
        {
            return slice;
        }

        var fresh = new Slice(number);
        Slice? seen = Interlocked.CompareExchange(ref slot, fresh, slice);
        return ReferenceEquals(seen, slice) ? fresh : seen!;
    }

    private sealed class Slice(long number)
    {
        // Atomic: any thread adds to them, and any reads them.
        public long Successes;
        public long Failures;
        public long Slow;

        public long Number => number;
    }
}

/// <summary>The failures within the last interval, counted exactly. Not thread-safe: used under the breaker's lock.</summary>
internal sealed class FailureWindow(int threshold, long ticks)
{
    // Never longer than the threshold: reaching it opens the circuit, which clears the window.
    private readonly Queue<long> _failures = [];

    /// <summary>Counts one failure.</summary>
    /// <returns>Whether the window now contains as many as the threshold.</returns>
    public bool Add(long now)
    {
        while (_failures.TryPeek(out long oldest) && now - oldest >= ticks)
        {
            _failures.Dequeue();
        }

        _failures.Enqueue(now);
        return _failures.Count >= threshold;
    }

    public void Clear() => _failures.Clear();
}

/// <summary>Reports changes of state to the user's callback: one after the other, in order, on the pool, with no lock held.</summary>
internal sealed class StateNotifier(Func<CircuitBreakerState, CircuitBreakerState, ValueTask> callback) : IThreadPoolWorkItem, IUnattended
{
    // A callback that hangs must not cause an unbounded buffer.
    private const int MaxWaiting = 64;

    private readonly Lock _lock = new();

    // Under _lock.
    private readonly List<(CircuitBreakerState From, CircuitBreakerState To)> _waiting = [];
    private bool _running;

    public void Add(CircuitBreakerState from, CircuitBreakerState to)
    {
        lock (_lock)
        {
            if (_waiting.Count == MaxWaiting)
            {
                _waiting[^1] = (_waiting[^1].From, to);
            }
            else
            {
                _waiting.Add((from, to));
            }

            if (_running)
            {
                return;
            }

            _running = true;
        }

        ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
    }

    void IThreadPoolWorkItem.Execute() => Unattended.Run(this, static notifier => notifier.Notify());

    /// <summary>It did not begin: here, because those that wait and all later ones count on it.</summary>
    void IUnattended.WorkFailed(Exception error) => Notify();

    // An async method: it throws nothing.
    private void Notify() => _ = NotifyAsync();

    private async Task NotifyAsync()
    {
        while (TryTake(out (CircuitBreakerState From, CircuitBreakerState To) change))
        {
            try
            {
                await callback(change.From, change.To).ConfigureAwait(false);
            }
            catch (Exception exception)
            {
                // It must not affect the breaker or later changes. A faulted task that nobody awaits raises the process's event for unobserved task
                // exceptions.
                _ = Task.FromException(exception);
            }
        }
    }

    private bool TryTake(out (CircuitBreakerState From, CircuitBreakerState To) change)
    {
        lock (_lock)
        {
            if (_waiting.Count == 0)
            {
                _running = false;
                change = default;
                return false;
            }

            change = _waiting[0];
            _waiting.RemoveAt(0);
            return true;
        }
    }
}

/// <summary>
/// When a circuit opens, how long it stays open, and what closes it; or, in the option <c>CircuitBreaker</c> of a run or a chain, a circuit breaker that is
/// shared. Immutable.
/// </summary>
/// <remarks>
/// Slow calls can count too (<see cref="SlowCallDuration"/>). There are three ways to count failures: with <see cref="FailureRatio"/>, as a share of the calls in a window; with <see cref="SamplingDuration"/> alone, as
/// a number in a window; otherwise, as consecutive failures. The values are checked when a <see cref="CircuitBreaker"/> is created from them. A
/// <see cref="CircuitBreaker"/> and those of <see cref="CircuitBreakers.ByKey{TItem, TKey}"/> convert to options, so the option <c>CircuitBreaker</c> takes
/// them. Such options have no values of their own.
/// </remarks>
[SuppressMessage("Usage", "CA2225:Operator overloads have named alternates", Justification = "The options that they are set in name them.")]
public sealed record CircuitBreakerOptions
{
    private static readonly CircuitBreakerOptions Usual = new();

    /// <summary>
    /// How many failures open the circuit: consecutive failures or, with <see cref="SamplingDuration"/>, failures within that time, whatever succeeds
    /// meanwhile. It has no effect if <see cref="FailureRatio"/> is set.
    /// </summary>
    /// <value>At least 1. The default is 5.</value>
    public int FailureThreshold { get; init; } = 5;

    /// <summary>How many probes a half-open circuit admits at once, and how many successes close it.</summary>
    /// <value>At least 1. The default is 2.</value>
    public int SuccessThreshold { get; init; } = 2;

    /// <summary>
    /// How long the circuit rejects all calls before the next call becomes a probe, and how long a half-open circuit waits for its probes before it admits one
    /// more.
    /// </summary>
    /// <value>More than zero, at most 2^32 - 2 ms. The default is 30 seconds.</value>
    public TimeSpan OpenTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// Returns how long the circuit stays open, in place of <see cref="OpenTimeout"/>: for example longer each time. It gets how often the circuit has opened
    /// since it was last closed, from 1.
    /// </summary>
    /// <value>
    /// More than zero, at most 2^32 - 2 ms. <see langword="null"/>, the default, for always <see cref="OpenTimeout"/>, which stays the time of probes.
    /// </value>
    /// <remarks>
    /// It runs under no lock, in the call that opens the circuit; calls that fail at the same moment may each ask it. What it throws goes to that call's
    /// caller, and so does the <see cref="ArgumentOutOfRangeException"/> of a time out of range; the circuit is open for <see cref="OpenTimeout"/> then.
    /// </remarks>
    public Func<int, TimeSpan>? OpenTimeoutGenerator { get; init; }

    /// <summary>The window in which failures and slow calls are counted.</summary>
    /// <value>More than zero, at most 2^32 - 2 ms. <see langword="null"/>, the default, to count consecutive failures.</value>
    public TimeSpan? SamplingDuration { get; init; }

    /// <summary>The share of failures among the calls of the window at which the circuit opens. Needs <see cref="SamplingDuration"/>.</summary>
    /// <value>More than 0 and at most 1. <see langword="null"/>, the default, to count failures instead.</value>
    /// <remarks>The window advances in tenths of <see cref="SamplingDuration"/> and is evaluated when a call fails.</remarks>
    public double? FailureRatio { get; init; }

    /// <summary>
    /// How many calls the window must contain before <see cref="FailureRatio"/> and <see cref="SlowCallRatio"/> are evaluated. It has no effect without either.
    /// </summary>
    /// <value>At least 1. The default is 10.</value>
    public int MinimumThroughput { get; init; } = 10;

    /// <summary>
    /// A call that takes longer than this is slow, whether it succeeds or fails: too many of them open the circuit (<see cref="SlowCallRatio"/>), and a slow
    /// probe opens it again. Needs <see cref="SamplingDuration"/>.
    /// </summary>
    /// <value>More than zero, at most 2^32 - 2 ms. <see langword="null"/>, the default, for no call to be slow. Then nothing reads the clock for it.</value>
    /// <remarks>
    /// The time is that from the ticket to the call's end, and is known when the call ends: for a call that never ends, set an attempt timeout. In runs and
    /// chains, the waits for a permit and for tokens are not part of it.
    /// </remarks>
    public TimeSpan? SlowCallDuration { get; init; }

    /// <summary>
    /// The share of slow calls among the calls of the window at which the circuit opens, beside what failures do. It has no effect without
    /// <see cref="SlowCallDuration"/>.
    /// </summary>
    /// <value>More than 0 and at most 1. The default is 0.5.</value>
    /// <remarks>The window is that of <see cref="FailureRatio"/>. It is evaluated when a slow call ends.</remarks>
    public double SlowCallRatio { get; init; } = 0.5;

    /// <summary>
    /// Whether an exception counts as a failure of the called service. An exception that does not counts as a success, because the service responded.
    /// </summary>
    /// <value>
    /// <see langword="null"/>, the default, for every exception except two kinds, which are ignored: an <see cref="OperationCanceledException"/> that is not a
    /// timeout (see <see cref="TimeoutFailure"/>), and what a limit inside the call refused, because then the service was not asked
    /// (<see cref="ConcurrencyLimitRejectedException"/>, <see cref="RateLimitRejectedException"/>).
    /// </value>
    /// <remarks>Called by <see cref="CircuitBreaker.Report"/>, but never for the caller's own cancellation, which is ignored.</remarks>
    public Func<Exception, bool>? IsFailure { get; init; }

    /// <summary>
    /// Returns how long an exception asks everybody to wait, such as HTTP's <c>Retry-After</c>; <see langword="null"/> or less for not at all. The circuit opens
    /// at once for that time, and all calls are held or refused as <see cref="OpenCircuitMode"/> says, not only the one that was told.
    /// </summary>
    /// <value><see langword="null"/>, the default, for no exception. At most <see cref="MaxCoolDown"/> counts.</value>
    /// <remarks>
    /// It is asked about the exceptions that <see cref="IsFailure"/> would be asked about, and before it. It takes the place of <see cref="OpenTimeout"/> and
    /// <see cref="OpenTimeoutGenerator"/> for this opening; an open circuit stays open for the longer of the two times. With it, the delay that the hint of
    /// <c>ShouldRetry</c> finds in a refused result of a chain or run counts as well.
    /// </remarks>
    public Func<Exception, TimeSpan?>? CoolDown { get; init; }

    /// <summary>The longest time for which <see cref="CoolDown"/> opens the circuit, whatever the service says. It has no effect without it.</summary>
    /// <value>More than zero, at most 2^32 - 2 ms. The default is 5 minutes, as that of <see cref="RetryOptions.MaxDelay"/>.</value>
    public TimeSpan MaxCoolDown { get; init; } = TimeSpan.FromMinutes(5);

    /// <summary>Called after each change of the state, with the old and the new state.</summary>
    /// <remarks>
    /// It is called on the thread pool, never under a lock and never by the call that caused the change, for one change after the other, in order. An
    /// exception from it changes nothing and ends as an unobserved task exception. While a call to it lasts, further changes wait; beyond 64 waiting changes,
    /// the newest are combined into one.
    /// </remarks>
    public Func<CircuitBreakerState, CircuitBreakerState, ValueTask>? OnStateChange { get; init; }

    /// <summary>What metrics call it, in the attribute <c>weir.policy.name</c>, such as the name of the called service.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for no name. Circuit breakers of one name are counted together, and each name is a time series: use few.
    /// </value>
    public string? Name { get; init; }

    /// <summary>The clock.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    /// <summary>Whether these are no values but a circuit breaker that is shared, or one for each key.</summary>
    public bool IsShared => Instance is not null;

    /// <summary>What is shared, a <see cref="CircuitBreaker"/> or <see cref="CircuitBreakers"/>; null if these are values.</summary>
    internal object? Instance { get; private init; }

    /// <summary>Shares a circuit breaker.</summary>
    /// <param name="breaker">The circuit breaker, or <see langword="null"/>.</param>
    [return: NotNullIfNotNull(nameof(breaker))]
    public static implicit operator CircuitBreakerOptions?(CircuitBreaker? breaker) => breaker is null ? null : new CircuitBreakerOptions { Instance = breaker };

    /// <summary>Takes a circuit breaker for each key.</summary>
    /// <param name="breakers">The circuit breakers, or <see langword="null"/>.</param>
    [return: NotNullIfNotNull(nameof(breakers))]
    public static implicit operator CircuitBreakerOptions?(CircuitBreakers? breakers) =>
        breakers is null ? null : new CircuitBreakerOptions { Instance = breakers };

    /// <summary>Checks what the option <c>CircuitBreaker</c> is set to.</summary>
    [StackTraceHidden]
    internal void ValidateSetting()
    {
        if (!IsShared)
        {
            Validate();
        }
        else if (FailureThreshold != Usual.FailureThreshold || SuccessThreshold != Usual.SuccessThreshold || OpenTimeout != Usual.OpenTimeout
            || OpenTimeoutGenerator is not null || SamplingDuration is not null || FailureRatio is not null || MinimumThroughput != Usual.MinimumThroughput
            || SlowCallDuration is not null || SlowCallRatio != Usual.SlowCallRatio || CoolDown is not null || MaxCoolDown != Usual.MaxCoolDown
            || IsFailure is not null || OnStateChange is not null || Name is not null || TimeProvider != Usual.TimeProvider)
        {
            throw new ArgumentException(
                "CircuitBreaker is one that is shared, which has its own values: set them where it is made.", "CircuitBreaker");
        }
    }

    /// <summary>Checks the values of a circuit breaker to be made.</summary>
    [StackTraceHidden]
    internal void Validate()
    {
        if (IsShared)
        {
            throw new ArgumentException("A circuit breaker is made from values, and these are one that is shared: use that one.");
        }

        Require.AtLeast(1, FailureThreshold, nameof(FailureThreshold));
        Require.AtLeast(1, SuccessThreshold, nameof(SuccessThreshold));
        Require.AtLeast(1, MinimumThroughput, nameof(MinimumThroughput));
        Require.Positive(OpenTimeout, nameof(OpenTimeout));
        Require.Positive(SamplingDuration, nameof(SamplingDuration));
        Require.Positive(SlowCallDuration, nameof(SlowCallDuration));
        Require.Positive(MaxCoolDown, nameof(MaxCoolDown));
        if (!(SlowCallRatio is > 0 and <= 1))
        {
            throw new ArgumentOutOfRangeException(nameof(SlowCallRatio), SlowCallRatio, $"{nameof(SlowCallRatio)} must be more than 0 and at most 1.");
        }

        if (FailureRatio is { } ratio && !(ratio is > 0 and <= 1))
        {
            throw new ArgumentOutOfRangeException(
                nameof(FailureRatio), ratio, $"{nameof(FailureRatio)} must be more than 0 and at most 1, or null to count failures.");
        }

        if (FailureRatio is not null && SamplingDuration is null)
        {
            throw new ArgumentOutOfRangeException(nameof(SamplingDuration), null, $"{nameof(SamplingDuration)} must be set when {nameof(FailureRatio)} is.");
        }

        if (SlowCallDuration is not null && SamplingDuration is null)
        {
            throw new ArgumentOutOfRangeException(
                nameof(SamplingDuration), null, $"{nameof(SamplingDuration)} must be set when {nameof(SlowCallDuration)} is.");
        }

        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}

/// <summary>The states of a <see cref="CircuitBreaker"/>.</summary>
public enum CircuitBreakerState
{
    /// <summary>Calls pass, and their failures are counted.</summary>
    Closed,

    /// <summary>Calls are rejected.</summary>
    Open,

    /// <summary>A few calls pass as probes. Their outcome decides whether the circuit closes or opens again.</summary>
    HalfOpen,
}

/// <summary>What a call does if the circuit is open.</summary>
public enum OpenCircuitMode
{
    /// <summary>It fails at once with a <see cref="CircuitBreakerOpenException"/>.</summary>
    FailFast,

    /// <summary>It waits until the circuit admits a call, so that an open circuit does not fail a whole queue.</summary>
    WaitForHalfOpen,
}

/// <summary>The call was not made, because the circuit breaker rejected it.</summary>
public sealed class CircuitBreakerOpenException : Exception
{
    /// <summary>Creates the exception of an open circuit.</summary>
    public CircuitBreakerOpenException()
        : this(CircuitBreakerState.Open, TimeSpan.Zero)
    {
    }

    /// <summary>Creates the exception of an open circuit.</summary>
    /// <param name="message">The message.</param>
    public CircuitBreakerOpenException(string message)
        : base(message) => State = CircuitBreakerState.Open;

    /// <summary>Creates the exception of an open circuit.</summary>
    /// <param name="message">The message.</param>
    /// <param name="innerException">What opened it.</param>
    public CircuitBreakerOpenException(string message, Exception? innerException)
        : base(message, innerException) => State = CircuitBreakerState.Open;

    /// <summary>Creates the exception for a rejected call.</summary>
    /// <param name="state">The state of the circuit that rejected the call.</param>
    /// <param name="retryAfter">The time until the circuit may admit a call.</param>
    /// <param name="innerException">What opened it.</param>
    public CircuitBreakerOpenException(CircuitBreakerState state, TimeSpan retryAfter, Exception? innerException = null)
        : base(state == CircuitBreakerState.HalfOpen
            ? "The circuit is half-open and all its probes are taken."
            : "The circuit is open.",
            innerException)
    {
        State = state;
        RetryAfter = retryAfter;
    }

    internal CircuitBreakerOpenException(TimeSpan wait, TimeSpan left, Exception? innerException)
        : base($"The call was not made: it would have waited {wait} for the open circuit, and {left} of its time was left.", innerException)
    {
        State = CircuitBreakerState.Open;
        RetryAfter = wait;
    }

    /// <summary>
    /// The state of the circuit when it rejected the call: <see cref="CircuitBreakerState.Open"/> or <see cref="CircuitBreakerState.HalfOpen"/>.
    /// </summary>
    public CircuitBreakerState State { get; }

    /// <summary>The time until the circuit may admit a call. A half-open circuit may do so earlier, when its probes end.</summary>
    public TimeSpan RetryAfter { get; }

    /// <summary>The circuit that refused, or null when somebody else made the exception: a call may have a circuit of its own.</summary>
    internal CircuitBreaker? RefusedBy { get; init; }
}

/// <summary>A circuit breaker for each key, such as each server that a run calls: one that is down stops the calls to it and no others.</summary>
/// <remarks>
/// <para>
/// Create it with <see cref="ByKey{TItem, TKey}"/>, and pass the same instance to everything that shares it. All members are thread-safe.
/// </para>
/// <para>
/// Its memory is bounded: when there are many keys, those that are idle are forgotten, and start anew if they come back. A circuit that is open or being probed
/// is not idle.
/// </para>
/// </remarks>
public abstract class CircuitBreakers : IMeteredPolicy
{
    private protected CircuitBreakers()
    {
    }

    /// <summary>How many keys are known.</summary>
    public abstract int Count { get; }

    /// <summary>The type of the items that have the keys, for messages.</summary>
    internal abstract Type ItemType { get; }

    /// <summary>What metrics call all of them together: <see cref="CircuitBreakerOptions.Name"/>.</summary>
    public string? Name { get; private init; }

    /// <summary>Creates the circuit breakers.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="key">
    /// Returns the key of an item. Called for each attempt, from several threads at once. An exception from it, or from the comparer, is the item's failure.
    /// </param>
    /// <param name="options">The options of each breaker; <see langword="null"/> for the defaults.</param>
    /// <param name="comparer">Compares keys, from several threads at once; <see langword="null"/> for the default comparer.</param>
    /// <returns>The instances, made when their keys first occur.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="key"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range.</exception>
    public static CircuitBreakers<TKey> ByKey<TItem, TKey>(
        Func<TItem, TKey> key, CircuitBreakerOptions? options = null, IEqualityComparer<TKey>? comparer = null)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(key);
        options ??= new CircuitBreakerOptions();
        options.Validate();
        object group = new();
        CircuitBreakersByKey<TItem, TKey> breakers = new(key, () => new CircuitBreaker(options, group), comparer) { Name = options.Name, Group = group };
        PolicyRegistry.Add(breakers);
        return breakers;
    }

    /// <summary>Counts the breakers by state.</summary>
    /// <returns>How often they have opened.</returns>
    internal abstract long CountStates(int[] byState);

    void IMeteredPolicy.AddTo(PolicyCounts counts)
    {
        int[] states = new int[3];
        CountStates(states);
        counts.AddCircuits(
            states[(int)CircuitBreakerState.Closed], states[(int)CircuitBreakerState.Open], states[(int)CircuitBreakerState.HalfOpen]);
    }

    LiveEntry IMeteredPolicy.Show()
    {
        int[] states = new int[3];
        long opened = CountStates(states);
        LiveCircuits circuits = new(
            states[(int)CircuitBreakerState.Closed], states[(int)CircuitBreakerState.HalfOpen], states[(int)CircuitBreakerState.Open]);
        return new LiveEntry
        {
            Id = LiveIds.Of(LiveKind.Breaker, this),
            Kind = LiveKind.Breaker,
            Type = nameof(CircuitBreakers),
            State = circuits.Open > 0 ? LiveState.Open : circuits.HalfOpen > 0 ? LiveState.HalfOpen : LiveState.Closed,
            Circuits = circuits,
            Opened = opened,
        };
    }

    /// <summary>What its breakers are recognised by.</summary>
    internal object? Group { get; private init; }
}

/// <summary>The circuit breakers with the type of their keys: each can be looked up, and opened or closed by hand.</summary>
/// <typeparam name="TKey">The type of the keys.</typeparam>
[SuppressMessage("Naming", "CA1716:Identifiers should not match keywords", Justification = "The usual word.")]
public abstract class CircuitBreakers<TKey> : CircuitBreakers
    where TKey : notnull
{
    private protected CircuitBreakers()
    {
    }

    /// <summary>The circuit breaker of a key, which is made if the key is new.</summary>
    /// <param name="key">The key.</param>
    /// <returns>
    /// The breaker. Look it up again instead of keeping it: when there are many keys, one that is idle is forgotten. One that is open or isolated is not.
    /// </returns>
    /// <exception cref="ArgumentNullException"><paramref name="key"/> is <see langword="null"/>.</exception>
    public abstract CircuitBreaker Get(TKey key);

    /// <summary>All keys that are known now, with their circuit breakers, in no order.</summary>
    /// <returns>A copy.</returns>
    public abstract IReadOnlyList<KeyValuePair<TKey, CircuitBreaker>> GetAll();
}

/// <summary>The instances of <see cref="CircuitBreakers"/>, with the types of item and key.</summary>
internal sealed class CircuitBreakersByKey<TItem, TKey> : CircuitBreakers<TKey>, IKeyed<TItem, CircuitBreaker>
    where TKey : notnull
{
    private readonly Func<TItem, TKey> _key;
    private readonly KeyTable<TKey, CircuitBreaker> _table;

    public CircuitBreakersByKey(Func<TItem, TKey> key, Func<CircuitBreaker> make, IEqualityComparer<TKey>? comparer)
    {
        _key = key;
        _table = new KeyTable<TKey, CircuitBreaker>(make, static breaker => breaker.IsIdle, comparer);
    }

    public override int Count => _table.Count;

    public override CircuitBreaker Get(TKey key) => _table.Get(key);

    public override IReadOnlyList<KeyValuePair<TKey, CircuitBreaker>> GetAll() => _table.Entries();

    internal override Type ItemType => typeof(TItem);

    internal override long CountStates(int[] byState)
    {
        long opened = 0;
        foreach (CircuitBreaker breaker in _table.Policies())
        {
            byState[(int)breaker.State]++;
            opened += breaker.Opened;
        }

        return opened;
    }

    public KeyUse<CircuitBreaker> Use(TItem item) => _table.Use(_key(item));
}
