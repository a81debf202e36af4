namespace Weir.Resilience;

/// <summary>A call's place in the queue of a <see cref="SharedConcurrencyLimit"/>. Whoever made it either uses the place that it gets, or drops it.</summary>
internal sealed class PlaceTurn
{
    private readonly TaskCompletionSource _served = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public PlaceTurn(PlaceUser user)
    {
        User = user;
        Node = new LinkedListNode<PlaceTurn>(this);
    }

    public PlaceUser User { get; }

    /// <summary>Its node in the queue, or among the parked turns of its user.</summary>
    public LinkedListNode<PlaceTurn> Node { get; }

    /// <summary>Its number in the order of arrival.</summary>
    public long Number { get; set; }

    /// <summary>Changed under the limit's lock.</summary>
    public PlaceTurnState State { get; set; }

    /// <summary>The next one that is told.</summary>
    public PlaceTurn? Next { get; set; }

    /// <summary>Completes when the turn has a place, or has been cancelled.</summary>
    public Task Served => _served.Task;

    /// <summary>Tells calls that they have a place. Under no lock.</summary>
    public static void Complete(PlaceTurn? turn)
    {
        while (turn is not null)
        {
            PlaceTurn? next = turn.Next;
            turn.Next = null;
            turn._served.TrySetResult();
            turn = next;
        }
    }

    /// <summary>Leaves the queue because its caller has cancelled. A turn that already has a place keeps it.</summary>
    public void Cancel(CancellationToken cancellationToken)
    {
        if (User.Limit.TryRemove(this))
        {
            _served.TrySetCanceled(cancellationToken);
        }
    }

    /// <summary>Leaves the queue, or returns the place. Called at most once, by whoever would otherwise use the place.</summary>
    public void Drop()
    {
        if (!User.Limit.TryRemove(this))
        {
            User.Leave();
        }
    }
}
