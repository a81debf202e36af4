using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;

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

    // What people do by hand.

    /// <summary>The time of an isolated circuit's first probe.</summary>
    private const long Never = long.MaxValue;

    /// <summary>The exception of the call that opened the circuit, which rejections have as their inner exception.</summary>
    /// <value>
    /// <see langword="null"/> if the circuit is closed, was opened by hand without one, or was opened by a failure of which no exception was reported. Of a
    /// call that ran out of time, it is the <see cref="TimeoutException"/>.
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

            ticket = new CircuitTicket(_word & ~CountMask);
        }

        change?.TrySetResult();
        return true;
    }

    private void ProbeSucceeded(CircuitTicket ticket)
    {
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
            return IsCurrent(ticket) && (StateOf(_word) != CircuitBreakerState.Closed || _window!.Add(_clock.Now));
        }
    }

    private void OpenAfterFailure(CircuitTicket ticket, Exception? exception)
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
            Volatile.Write(ref _rate, _newRate?.Invoke());
            Volatile.Write(ref _openings, 0);
            Volatile.Write(ref _openedBy, null);
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
    internal CircuitTicket(long era) => Era = era;

    /// <summary>The breaker's word when the call entered, without its count: the generation and the state.</summary>
    internal long Era { get; }
}

/// <summary>The share of failures in a window that advances in tenths. Thread-safe without a lock: one atomic addition per call.</summary>
/// <remarks>
/// Each place of the ring has the slice of one tenth, which is replaced by a compare-and-swap when its tenth has passed. The first thread of a new tenth wins,
/// and the others count in its slice: with a plain write, the counts in a slice that was just replaced would be lost. The number of a slice never changes, so a
/// slice that is too old is left out of the sum even while its place has not been used again. The sum is no snapshot: calls that end meanwhile may be missing.
/// </remarks>
internal sealed class FailureRate(double ratio, int minimumThroughput, long windowTicks)
{
    private const int Slices = 10;

    private readonly long _sliceTicks = Math.Max(1, windowTicks / Slices);
    private readonly Slice?[] _slices = new Slice?[Slices];

    public void Success(long now) => Interlocked.Increment(ref SliceAt(now / _sliceTicks).Successes);

    /// <summary>Counts one failure.</summary>
    /// <returns>Whether the window now contains enough calls and too many failures.</returns>
    public bool Failure(long now)
    {
        long number = now / _sliceTicks;
        Interlocked.Increment(ref SliceAt(number).Failures);
        long successes = 0;
        long failures = 0;
        foreach (ref Slice? place in _slices.AsSpan())
        {
            if (Volatile.Read(ref place) is { } slice && slice.Number > number - Slices)
            {
                successes += Volatile.Read(ref slice.Successes);
                failures += Volatile.Read(ref slice.Failures);
            }
        }

        long all = successes + failures;
        return all >= minimumThroughput && failures >= ratio * all;
    }

    private Slice SliceAt(long number)
    {
        ref Slice? place = ref _slices[(int)((ulong)number % Slices)];
        Slice? slice = Volatile.Read(ref place);

        // A thread that was delayed after it read the clock counts in the newer slice, so no count is lost, and none revives an old slice.
        if (slice is not null && slice.Number >= number)
        {
            return slice;
        }

        var fresh = new Slice(number);
        Slice? seen = Interlocked.CompareExchange(ref place, fresh, slice);
        return ReferenceEquals(seen, slice) ? fresh : seen!;
    }

    private sealed class Slice(long number)
    {
        public long Successes;
        public long Failures;

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
