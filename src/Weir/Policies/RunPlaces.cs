using Weir.Core;
using Weir.Resilience;

namespace Weir.Policies;

/// <summary>
/// The places of a concurrency limit that the items of one run hold and wait for. Whatever becomes of an item, its place goes back, and its turn leaves the
/// queue.
/// </summary>
/// <param name="guarded">Whether items can be given up while they run. Only then is it recorded which item holds which place.</param>
internal sealed class RunPlaces(bool guarded)
{
    private readonly Lock _lock = new();
    private readonly Dictionary<long, PlaceTurn> _turns = [];
    private readonly Dictionary<long, ItemPlace> _held = [];
    private readonly HashSet<long> _givenUp = [];
    private volatile bool _hasTurns;
    private bool _closed;

    /// <summary>Gets an attempt as far as it gets without waiting, with its place.</summary>
    /// <param name="guard">What the attempt has to pass.</param>
    /// <param name="index">The item's index.</param>
    /// <param name="waiting">Its turn, if the item waits for a place; null otherwise.</param>
    /// <returns>The attempt at the rate limit or at its call. Nothing if the item waits.</returns>
    /// <exception cref="CircuitBreakerOpenException">The circuit is open.</exception>
    /// <exception cref="ConcurrencyLimitRejectedException">Too many calls already wait.</exception>
    public Attempt Enter(AttemptGuard guard, long index, out PlaceTurn? waiting)
    {
        waiting = null;
        PlaceUser user = guard.Places!;
        PlaceTurn? turn = Take(index);
        if (turn is not null && turn.User != user)
        {
            // The key of the item has changed meanwhile.
            turn.Drop();
            turn = null;
        }

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
                return Begin(next, ticket, user, index);
            }

            turn = user.Queue();
        }

        if (turn.State != PlaceTurnState.Served)
        {
            Keep(turn, index);
            waiting = turn;
            return default;
        }

        next = guard.TryEnterWithPlace(out ticket);
        if (next == AttemptPhase.Circuit)
        {
            user.Leave();
            throw guard.CreateRejection();
        }

        return Begin(next, ticket, user, index);
    }

    /// <summary>An item has ended that may wait for a place, or have one that it did not use.</summary>
    public void Drop(long index) => Take(index)?.Drop();

    /// <summary>An item was given up. The place of its call is returned, although the call may still run.</summary>
    public void GivenUp(long index)
    {
        ItemPlace? place;
        PlaceTurn? turn;
        using (_lock.Hold())
        {
            if (!_held.Remove(index, out place))
            {
                // It may be about to take one.
                _givenUp.Add(index);
            }

            _turns.Remove(index, out turn);
        }

        place?.LeaveOnce();
        turn?.Drop();
    }

    /// <summary>The run has stopped or ended: none of its items uses a place that it has yet to get.</summary>
    public void Close()
    {
        PlaceTurn[] left;
        using (_lock.Hold())
        {
            _closed = true;
            left = [.. _turns.Values];
            _turns.Clear();
        }

        foreach (PlaceTurn turn in left)
        {
            turn.Drop();
        }
    }

    private PlaceTurn? Take(long index)
    {
        if (!_hasTurns)
        {
            return null;
        }

        using (_lock.Hold())
        {
            _turns.Remove(index, out PlaceTurn? turn);
            _hasTurns = _turns.Count > 0;
            return turn;
        }
    }

    private void Keep(PlaceTurn turn, long index)
    {
        using (_lock.Hold())
        {
            if (!_closed && !_givenUp.Remove(index))
            {
                _turns.Add(index, turn);
                _hasTurns = true;
                return;
            }
        }

        turn.Drop();
        throw new OperationCanceledException();
    }

    private Attempt Begin(AttemptPhase phase, CircuitTicket ticket, PlaceUser user, long index) =>
        new() { Phase = phase, Ticket = ticket, Place = guarded ? Hold(user, index) : user };

    private ItemPlace Hold(PlaceUser user, long index)
    {
        ItemPlace place = new(this, user, index);
        bool givenUp;
        using (_lock.Hold())
        {
            givenUp = _givenUp.Remove(index);
            if (!givenUp)
            {
                _held.Add(index, place);
            }
        }

        if (givenUp)
        {
            place.LeaveOnce();
        }

        return place;
    }

    private void Forget(long index, ItemPlace place)
    {
        using (_lock.Hold())
        {
            if (_held.TryGetValue(index, out ItemPlace? held) && held == place)
            {
                _held.Remove(index);
            }
        }
    }

    /// <summary>The place of one item, returned by its call or by whoever gives the item up, whichever is first.</summary>
    private sealed class ItemPlace(RunPlaces places, PlaceUser user, long index) : IPlace
    {
        private int _left;

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
