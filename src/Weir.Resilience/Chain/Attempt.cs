namespace Weir.Resilience;

/// <summary>How far an attempt got. If it has to wait, the chain continues from there. The default value is an attempt that has not started.</summary>
internal struct Attempt<TResult>
{
    public AttemptPhase Phase;
    public CircuitTicket Ticket;
    public ValueTask<IDisposable?> Entry;
    public IDisposable? Lease;
    public ValueTask<TResult> Call;
}
