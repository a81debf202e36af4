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
        : new TimeSpan(Math.Max(0, _era.Since + Rest - Now));

    public object? Enter()
    {
        bool rested = Now >= _era.Since + Rest;
        if (_era.State == CircuitBreakerState.Closed)
        {
            return new Ticket(_era, Now);
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
        return new Ticket(_era, Now);
    }

    public void Succeeded(object ticket)
    {
        if (!Count(ticket, failed: false))
        {
            return;
        }

        if (_era.Calls[^1].Slow && (_era.State == CircuitBreakerState.HalfOpen || TooManySlow()))
        {
            Begin(CircuitBreakerState.Open);
        }
        else if (_era.State == CircuitBreakerState.HalfOpen && _era.Calls.Count >= options.SuccessThreshold)
        {
            Begin(CircuitBreakerState.Closed);
        }
    }

    public void Failed(object ticket)
    {
        if (Count(ticket, failed: true)
            && (_era.State == CircuitBreakerState.HalfOpen || TooMany() || (_era.Calls[^1].Slow && TooManySlow())))
        {
            Begin(CircuitBreakerState.Open);
        }
    }

    public void AskedToWait(object ticket, TimeSpan time)
    {
        if (time == TimeSpan.Zero)
        {
            Failed(ticket);
            return;
        }

        time = time < options.MaxCoolDown ? time : options.MaxCoolDown;
        if (_era.State != CircuitBreakerState.Open)
        {
            Begin(CircuitBreakerState.Open);
            _era.OpenFor = time.Ticks;
        }
        else
        {
            _era.OpenFor = Math.Max(Rest, Now + time.Ticks - _era.Since);
        }
    }

    public void Ignored(object ticket)
    {
        if (((Ticket)ticket).Era == _era && _era.State == CircuitBreakerState.HalfOpen && _era.Probes > _era.Calls.Count)
        {
            _era.Probes--;
        }
    }

    private long Rest => _era.OpenFor ?? options.OpenTimeout.Ticks;

    private bool Count(object ticket, bool failed)
    {
        var own = (Ticket)ticket;
        if (own.Era != _era)
        {
            return false;
        }

        _era.Calls.Add((Now, failed, options.SlowCallDuration is { } slow && Now - own.Started > slow.Ticks));
        return true;
    }

    private bool TooManySlow()
    {
        List<(long Time, bool Failed, bool Slow)> window = Window();
        return window.Count >= options.MinimumThroughput && window.Count(static c => c.Slow) >= options.SlowCallRatio * window.Count;
    }

    private List<(long Time, bool Failed, bool Slow)> Window()
    {
        long slice = options.SamplingDuration!.Value.Ticks / 10;
        return _era.Calls.FindAll(c => c.Time / slice > (Now / slice) - 10);
    }

    private bool TooMany()
    {
        if (options.FailureRatio is { } ratio)
        {
            List<(long Time, bool Failed, bool Slow)> window = Window();
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

    private sealed record Ticket(Era Era, long Started);

    private sealed class Era(CircuitBreakerState state, long since)
    {
        public CircuitBreakerState State => state;

        public long Since { get; set; } = since;

        public long? OpenFor { get; set; }

        public int Probes { get; set; }

        public List<(long Time, bool Failed, bool Slow)> Calls { get; } = [];
    }
}
