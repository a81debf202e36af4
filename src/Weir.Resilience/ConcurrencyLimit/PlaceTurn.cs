namespace Weir.Resilience;

/// <summary>A call's place in the queue of a <see cref="SharedConcurrencyLimit"/>. Its caller either uses the permit that it gets, or drops it.</summary>
/// <param name="user">For whom it waits. While that user holds as many permits as it can use, the turn is among the user's parked ones.</param>
internal sealed class PlaceTurn(PlaceUser user) : QueueTurn<PlaceTurn>(tellsAtOnce: false), IUnattended
{
    public PlaceUser User => user;

    /// <summary>
    /// Changed under the limit's lock. Its holder may read it without: a turn that is served just then looks as if it waited, and its holder is told.
    /// </summary>
    public PlaceTurnState State { get; set; }

    /// <summary>Leaves the queue because its caller has cancelled. A turn that already has a permit keeps it.</summary>
    public void Cancel(CancellationToken cancellationToken)
    {
        if (user.Limit.TryRemove(this))
        {
            StopWaiting(cancellationToken);
        }
    }

    /// <summary>It could not be cancelled: its caller, who waits, gets the error. A turn that already has a permit keeps it.</summary>
    void IUnattended.WorkFailed(Exception error)
    {
        if (user.Limit.TryRemove(this) || State == PlaceTurnState.Removed)
        {
            StopWaiting(error);
        }
    }

    /// <summary>Leaves the queue, or returns the permit. Called at most once, by the caller that would otherwise use the permit.</summary>
    public void Drop()
    {
        if (!user.Limit.TryRemove(this))
        {
            user.Leave();
        }
    }
}
