using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Resilience;

namespace Weir.Policies;

/// <summary>
/// The places of a concurrency limit that the items of one run hold and wait for, and the turns of those that wait for tokens of their key. Whatever becomes of
/// an item, its place goes back, and its turns leave their queues.
/// </summary>
/// <param name="guarded">Whether items with places can be given up while they run. Only then is it recorded which item holds which place.</param>
internal sealed class RunPlaces(bool guarded)
{
    private readonly Lock _lock = new();
    private readonly Dictionary<long, ItemTurns> _turns = [];
    private readonly Dictionary<long, ItemPlace> _held = [];
    private volatile bool _hasTurns;
    private volatile int _raises;
    private bool _closed;

    /// <summary>Gets an attempt as far as it gets without waiting, with its place and with the tokens of its key.</summary>
    /// <param name="guard">What the attempt has to pass.</param>
    /// <param name="index">The item's index.</param>
    /// <param name="token">The item's token. It is cancelled before the item counts as given up.</param>
    /// <param name="until">What the item waits for, holding nothing but its turns; null if it does not wait.</param>
    /// <param name="kind">What that is.</param>
    /// <returns>The attempt at a rate limit where it waits itself, or at its call. Nothing if the item waits.</returns>
    /// <exception cref="CircuitBreakerOpenException">The circuit is open.</exception>
    /// <exception cref="ConcurrencyLimitRejectedException">Too many calls already wait.</exception>
    /// <exception cref="NotBegunException">The item would have to wait, and it or its run has ended.</exception>
    public Attempt Enter(AttemptGuard guard, long index, CancellationToken token, out Task? until, out WaitKind kind)
    {
        // First: a rise that comes later finds the item's turn, or is seen when the turn is kept.
        int raises = _raises;
        ItemTurns turns = Take(index);
        kind = WaitKind.ConcurrencyLimit;

        // The key of the item may have changed meanwhile.
        if (turns.Rate is not null && turns.Rate.Bucket != guard.BucketToWaitFor)
        {
            turns.Rate.Drop();
            turns.Rate = null;
        }

        if (turns.Place is not null && turns.Place.User != guard.Places)
        {
            turns.Place.Drop();
            turns.Place = null;
        }

        Attempt attempt;
        try
        {
            attempt = guard.Places is { } user ? EnterPlaces(guard, user, ref turns.Place, index, token) : EnterCircuit(guard);
        }
        catch
        {
            turns.Rate?.Drop();
            throw;
        }

        until = turns.Place?.Served;
        if (turns.Place is null && attempt.Phase == AttemptPhase.RateLimit && guard.BucketToWaitFor is { } bucket)
        {
            bool hasTokens;
            try
            {
                hasTokens = turns.Rate is null ? bucket.TryEnter(out turns.Rate) : turns.Rate.TryEnter();
            }
            catch
            {
                // The bucket's clock is the user's.
                guard.End(ref attempt);
                turns.Rate?.Drop();
                throw;
            }

            if (hasTokens)
            {
                attempt.Phase = AttemptPhase.Call;
                return attempt;
            }

            // Others use the place, and the permission of the circuit, meanwhile.
            guard.Ignored(attempt.Ticket);
            attempt.Release();
            kind = WaitKind.RateLimit;
            until = turns.Rate!.Served;
        }

        if (until is null)
        {
            return attempt;
        }

        Keep(turns, index, token);
        if (_raises != raises)
        {
            turns.Place?.User.UseMore();
        }

        return default;
    }

    /// <summary>The run can use more places than before, perhaps for items that let others pass.</summary>
    public void LimitRaised()
    {
        HashSet<PlaceUser> users = [];
        lock (_lock)
        {
            _raises++;
            foreach (ItemTurns turns in _turns.Values)
            {
                if (turns.Place is { } turn)
                {
                    users.Add(turn.User);
                }
            }
        }

        foreach (PlaceUser user in users)
        {
            user.UseMore();
        }
    }

    private static Attempt EnterCircuit(AttemptGuard guard)
    {
        Attempt attempt = default;
        attempt.Phase = guard.TryEnter(out attempt.Ticket);
        return attempt.Phase == AttemptPhase.Circuit ? throw guard.CreateRejection() : attempt;
    }

    /// <summary>Gets an attempt to its place. If it has to wait for it, the attempt has not begun, and there is a turn.</summary>
    private Attempt EnterPlaces(AttemptGuard guard, PlaceUser user, ref PlaceTurn? waiting, long index, CancellationToken token)
    {
        PlaceTurn? turn = waiting;
        waiting = null;
        AttemptPhase next;
        CircuitTicket ticket = default;
        if (turn is null)
        {
            next = guard.TryEnter(out ticket);
            if (next == AttemptPhase.Circuit)
            {
                throw guard.CreateRejection();
            }

            if (next != AttemptPhase.ConcurrencyLimit)
            {
                return Begin(next, ticket, user, index, token);
            }

            turn = user.Queue();
        }

        if (turn.State != PlaceTurnState.Served)
        {
            waiting = turn;
            return default;
        }

        try
        {
            next = guard.TryEnterWithPlace(out ticket);
        }
        catch
        {
            user.Leave();
            throw;
        }

        if (next == AttemptPhase.Circuit)
        {
            user.Leave();
            throw guard.CreateRejection();
        }

        return Begin(next, ticket, user, index, token);
    }

    /// <summary>An item has ended that may wait, or have a place that it did not use.</summary>
    public void Drop(long index) => Take(index).Drop();

    /// <summary>
    /// An item was given up, and its token cancelled before. The place of its call is returned, although the call may still run.
    /// </summary>
    /// <param name="index">The item's index.</param>
    /// <param name="attempts">The calls with a limit of their own, whose tokens are others than that of the item; null if there are none.</param>
    public void GivenUp(long index, ICallsWithLimits? attempts)
    {
        ItemPlace? place;
        ItemTurns turns;
        lock (_lock)
        {
            // One that is about to take a place, or to wait, sees its token.
            _held.Remove(index, out place);
            _turns.Remove(index, out turns);
        }

        if (place is not null)
        {
            // Whoever gets the place may rely on it that the call before has been told to end.
            attempts?.CancelCallsOf(place.ItemToken);
            place.LeaveOnce();
        }

        turns.Drop();
    }

    /// <summary>The run has stopped or ended: none of its items uses a place that it has yet to get.</summary>
    public void Close()
    {
        ItemTurns[] left;
        lock (_lock)
        {
            _closed = true;
            left = [.. _turns.Values];
            _turns.Clear();
        }

        foreach (ItemTurns turns in left)
        {
            turns.Drop();
        }
    }

    private ItemTurns Take(long index)
    {
        if (!_hasTurns)
        {
            return default;
        }

        lock (_lock)
        {
            _turns.Remove(index, out ItemTurns turns);
            _hasTurns = _turns.Count > 0;
            return turns;
        }
    }

    private void Keep(ItemTurns turns, long index, CancellationToken token)
    {
        lock (_lock)
        {
            if (!_closed && !token.IsCancellationRequested)
            {
                _turns.Add(index, turns);
                _hasTurns = true;
                return;
            }
        }

        turns.Drop();
        throw new NotBegunException();
    }

    private Attempt Begin(AttemptPhase phase, CircuitTicket ticket, PlaceUser user, long index, CancellationToken token) =>
        new() { Phase = phase, Ticket = ticket, Place = guarded ? Hold(user, index, token) : user };

    private ItemPlace Hold(PlaceUser user, long index, CancellationToken token)
    {
        ItemPlace place = new(this, user, index, token);
        lock (_lock)
        {
            if (!token.IsCancellationRequested)
            {
                _held.Add(index, place);
                return place;
            }
        }

        // Nobody else would return it. No call is made in it.
        place.LeaveOnce();
        return place;
    }

    private void Forget(long index, ItemPlace place)
    {
        lock (_lock)
        {
            if (_held.TryGetValue(index, out ItemPlace? held) && held == place)
            {
                _held.Remove(index);
            }
        }
    }

    /// <summary>
    /// Where an item stands in queues: in that for a place, in that for tokens, or in both, if it was called for its tokens and then had to wait for a place.
    /// </summary>
    private struct ItemTurns
    {
        public PlaceTurn? Place;
        public ItemRateTurn? Rate;

        public readonly void Drop()
        {
            Place?.Drop();
            Rate?.Drop();
        }
    }

    /// <summary>The place of one item, returned by its call or by whoever gives the item up, whichever is first.</summary>
    private sealed class ItemPlace(RunPlaces places, PlaceUser user, long index, CancellationToken itemToken) : IPlace
    {
        private int _left;

        public CancellationToken ItemToken => itemToken;

        public void Leave()
        {
            places.Forget(index, this);
            LeaveOnce();
        }

        public void LeaveOnce()
        {
            if (Interlocked.Exchange(ref _left, 1) == 0)
            {
                user.Leave();
            }
        }
    }
}
