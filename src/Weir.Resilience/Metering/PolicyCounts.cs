namespace Weir.Resilience;

/// <summary>What the policies of one name are doing. Null where no policy of the name is of the kind.</summary>
internal sealed class PolicyCounts
{
    public int? Closed { get; private set; }

    public int? Open { get; private set; }

    public int? HalfOpen { get; private set; }

    /// <summary>The permits that calls hold.</summary>
    public long? InUse { get; private set; }

    /// <summary>The permits that there are.</summary>
    public long? Limit { get; private set; }

    /// <summary>The calls that wait for a permit.</summary>
    public long? AtPlaces { get; private set; }

    /// <summary>The calls that wait for tokens.</summary>
    public long? AtRate { get; private set; }

    public void AddCircuits(int closed, int open, int halfOpen)
    {
        Closed = (Closed ?? 0) + closed;
        Open = (Open ?? 0) + open;
        HalfOpen = (HalfOpen ?? 0) + halfOpen;
    }

    public void AddPlaces(long inUse, long limit, long waiting)
    {
        InUse = (InUse ?? 0) + inUse;
        Limit = (Limit ?? 0) + limit;
        AtPlaces = (AtPlaces ?? 0) + waiting;
    }

    public void AddRate(long waiting) => AtRate = (AtRate ?? 0) + waiting;

    /// <summary>Counts nothing of each kind that another one has, so that what has gone is 0 rather than absent.</summary>
    public void AddKindsOf(PolicyCounts other)
    {
        if (other.Closed is not null)
        {
            AddCircuits(0, 0, 0);
        }

        if (other.Limit is not null)
        {
            AddPlaces(0, 0, 0);
        }

        if (other.AtRate is not null)
        {
            AddRate(0);
        }
    }
}
