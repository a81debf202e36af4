namespace Weir.Resilience;

/// <summary>How far an attempt got: the chain goes on from there when it has to wait. The default value is an attempt yet to begin.</summary>
internal struct Attempt<TResult>
{
    public AttemptPhase Phase;
    public CircuitTicket Ticket;
    public ValueTask<IDisposable?> Entry;
    public IDisposable? Lease;
    public ValueTask<TResult> Call;
}
