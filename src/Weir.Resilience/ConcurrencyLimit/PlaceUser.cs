namespace Weir.Resilience;

/// <summary>
/// Everything that uses a <see cref="SharedConcurrencyLimit"/> under one bound of its own. A run is one: it never gets more permits than it may have items in
/// flight, because the others would lie idle.
/// </summary>
/// <param name="limit">The limit.</param>
/// <param name="most">How many permits the user can use at once, at least 1; null for any number. Called under the limit's lock.</param>
internal sealed class PlaceUser(SharedConcurrencyLimit limit, Func<int>? most) : IPlace
{
    public SharedConcurrencyLimit Limit => limit;

    /// <summary>Whether its calls come one by one, and nobody holds them back while they wait.</summary>
    public bool IsSingle => most is null;

    public int Most => most is null ? int.MaxValue : most();

    /// <summary>How many permits it holds. Not counted without a bound. Guarded by the limit's lock.</summary>
    public int Held { get; set; }

    /// <summary>Its turns that let others pass, oldest first. Guarded by the limit's lock.</summary>
    public LinkedList<PlaceTurn> Parked => field ??= [];

    public bool HasParked => most is not null && Parked.Count > 0;

    public bool TryEnter() => most is null ? limit.TryEnter() : limit.TryEnter(this);

    /// <summary>Returns one of its permits.</summary>
    public void Leave()
    {
        if (most is null)
        {
            limit.Leave();
        }
        else
        {
            limit.Leave(this);
        }
    }

    /// <summary>Its bound was raised: turns that let others pass before return to the queue if they can be served now.</summary>
    public void UseMore() => limit.UseMore(this);

    /// <summary>Takes a permit, or a turn at the end of the queue.</summary>
    /// <exception cref="ConcurrencyLimitRejectedException">Too many calls already wait.</exception>
    public PlaceTurn Queue() => limit.Queue(this);

    /// <summary>Waits for a permit.</summary>
    public ValueTask EnterAsync(CancellationToken cancellationToken)
    {
        PlaceTurn turn;
        try
        {
            turn = Queue();
        }
        catch (ConcurrencyLimitRejectedException rejection)
        {
            return ValueTask.FromException(rejection);
        }

        return turn.Served.IsCompletedSuccessfully ? default : WaitAsync(turn, cancellationToken);
    }

    private static async ValueTask WaitAsync(PlaceTurn turn, CancellationToken cancellationToken)
    {
        using (cancellationToken.UnsafeRegister(
            static (turn, token) => Unattended.Run((PlaceTurn)turn!, static (turn, token) => turn.Cancel(token), token), turn))
        {
            await turn.Served.ConfigureAwait(false);
        }
    }
}
