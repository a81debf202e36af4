namespace Weir.Resilience;

/// <summary>How far an attempt got on its way to the call, and what it holds. The default value is an attempt yet to begin.</summary>
internal struct Attempt
{
    public AttemptPhase Phase;
    public CircuitTicket Ticket;

    /// <summary>The wait at the rate limit, in the phase of that name.</summary>
    public ValueTask<IDisposable?> Entry;

    /// <summary>What the rate limit wants back when the call has ended.</summary>
    public IDisposable? Lease;
}
