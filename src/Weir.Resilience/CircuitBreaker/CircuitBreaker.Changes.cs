using System.Diagnostics;

namespace Weir.Resilience;

// The rare half: everything that happens after a failure.
public sealed partial class CircuitBreaker
{
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
