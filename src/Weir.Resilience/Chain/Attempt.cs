namespace Weir.Resilience;

/// <summary>How far an attempt got on its way to the call, and what it holds. The default value is an attempt yet to begin, which holds nothing.</summary>
internal struct Attempt
{
    public AttemptPhase Phase;
    public CircuitTicket Ticket;

    /// <summary>The permit of the concurrency limit, from the phase of the rate limit on.</summary>
    public IPlace? Place;

    /// <summary>The wait at the rate limit, in the phase of that name.</summary>
    public ValueTask<IDisposable?> Entry;

    /// <summary>What the rate limit wants back when the call has ended.</summary>
    public IDisposable? Lease;

    /// <summary>Gives back the lease and the permit.</summary>
    public void Release()
    {
        IDisposable? lease = Lease;
        IPlace? place = Place;
        Lease = null;
        Place = null;
        try
        {
            lease?.Dispose();
        }
        finally
        {
            place?.Leave();
        }
    }
}
