namespace Weir.Resilience.Tests.CircuitBreakers;

/// <summary>
/// The breaker as one would write it down: one thread, one object a generation, lists of times instead of counters. What the
/// real one does is compared with it.
/// </summary>
internal sealed class ReferenceBreaker(CircuitBreakerOptions options)
{
    private Era _era = new(CircuitBreakerState.Closed, 0);

    public CircuitBreakerState State => _era.State;

    public long Now { get; set; }

    public List<(CircuitBreakerState From, CircuitBreakerState To)> Changes { get; } = [];

    public TimeSpan RetryAfter =>
        _era.State == CircuitBreakerState.Closed || (_era.State == CircuitBreakerState.HalfOpen && _era.Probes < options.SuccessThreshold)
        ? TimeSpan.Zero
        : new TimeSpan(Math.Max(0, _era.Since + options.OpenTimeout.Ticks - Now));

    public object? Enter()
    {
        bool rested = Now >= _era.Since + options.OpenTimeout.Ticks;
        if (_era.State == CircuitBreakerState.Closed)
        {
            return _era;
        }

        if (_era.State == CircuitBreakerState.Open && rested)
        {
            Begin(CircuitBreakerState.HalfOpen);
            rested = false;
        }

        if (_era.State == CircuitBreakerState.Open || (_era.Probes >= options.SuccessThreshold && !rested))
        {
            return null;
        }

        _era.Probes++;
        _era.Since = Now;
        return _era;
    }

    public void Succeeded(object ticket)
    {
        if (!ReferenceEquals(ticket, _era))
        {
            return;
        }

        _era.Calls.Add((Now, false));
        if (_era.State == CircuitBreakerState.HalfOpen && _era.Calls.Count >= options.SuccessThreshold)
        {
            Begin(CircuitBreakerState.Closed);
        }
    }

    public void Failed(object ticket)
    {
        if (!ReferenceEquals(ticket, _era))
        {
            return;
        }

        _era.Calls.Add((Now, true));
        if (_era.State == CircuitBreakerState.HalfOpen || TooMany())
        {
            Begin(CircuitBreakerState.Open);
        }
    }

    public void Ignored(object ticket)
    {
        if (ReferenceEquals(ticket, _era) && _era.State == CircuitBreakerState.HalfOpen && _era.Probes > _era.Calls.Count)
        {
            _era.Probes--;
        }
    }

    private bool TooMany()
    {
        if (options.FailureRatio is { } ratio)
        {
            long slice = options.SamplingDuration!.Value.Ticks / 10;
            List<(long Time, bool Failed)> window = _era.Calls.FindAll(c => c.Time / slice > (Now / slice) - 10);
            return window.Count >= options.MinimumThroughput && window.Count(static c => c.Failed) >= ratio * window.Count;
        }

        return options.SamplingDuration is { } sampling
            ? _era.Calls.Count(c => c.Failed && Now - c.Time < sampling.Ticks) >= options.FailureThreshold
            : _era.Calls.AsEnumerable().Reverse().TakeWhile(static c => c.Failed).Count() >= options.FailureThreshold;
    }

    private void Begin(CircuitBreakerState state)
    {
        Changes.Add((_era.State, state));
        _era = new Era(state, Now);
    }

    private sealed class Era(CircuitBreakerState state, long since)
    {
        public CircuitBreakerState State => state;

        public long Since { get; set; } = since;

        public int Probes { get; set; }

        public List<(long Time, bool Failed)> Calls { get; } = [];
    }
}
