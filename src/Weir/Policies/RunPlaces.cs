using Weir.Core;
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
    private readonly HashSet<long> _givenUp = [];
    private volatile bool _hasTurns;
    private bool _closed;

    /// <summary>Gets an attempt as far as it gets without waiting, with its place and with the tokens of its key.</summary>
    /// <param name="guard">What the attempt has to pass.</param>
    /// <param name="index">The item's index.</param>
    /// <param name="until">What the item waits for, holding nothing but its turns; null if it does not wait.</param>
    /// <param name="kind">What that is.</param>
    /// <returns>The attempt at a rate limit where it waits itself, or at its call. Nothing if the item waits.</returns>
    /// <exception cref="CircuitBreakerOpenException">The circuit is open.</exception>
    /// <exception cref="ConcurrencyLimitRejectedException">Too many calls already wait.</exception>
    public Attempt Enter(AttemptGuard guard, long index, out Task? until, out WaitKind kind)
    {
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
            attempt = guard.Places is { } user ? EnterPlaces(guard, user, ref turns.Place, index) : EnterCircuit(guard);
        }
        catch
        {
            turns.Rate?.Drop();
            throw;
        }

        until = turns.Place?.Served;
        if (turns.Place is null && attempt.Phase == AttemptPhase.RateLimit && guard.BucketToWaitFor is { } bucket)
        {
            if (turns.Rate is null ? bucket.TryEnter(out turns.Rate) : turns.Rate.TryEnter())
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

        Keep(turns, index);
        return default;
    }

    private static Attempt EnterCircuit(AttemptGuard guard)
    {
        Attempt attempt = default;
        attempt.Phase = guard.TryEnter(out attempt.Ticket);
        return attempt.Phase == AttemptPhase.Circuit ? throw guard.CreateRejection() : attempt;
    }

    /// <summary>Gets an attempt to its place. If it has to wait for it, the attempt has not begun, and there is a turn.</summary>
    private Attempt EnterPlaces(AttemptGuard guard, PlaceUser user, ref PlaceTurn? waiting, long index)
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
                return Begin(next, ticket, user, index);
            }

            turn = user.Queue();
        }

        if (turn.State != PlaceTurnState.Served)
        {
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

    /// <summary>An item has ended that may wait, or have a place that it did not use.</summary>
    public void Drop(long index) => Take(index).Drop();

    /// <summary>An item was given up. The place of its call is returned, although the call may still run.</summary>
    public void GivenUp(long index)
    {
        ItemPlace? place;
        ItemTurns turns;
        using (_lock.Hold())
        {
            // Without places, the item's worker takes it out of the queue if it was about to wait.
            if (!_held.Remove(index, out place) && guarded)
            {
                // It may be about to take one.
                _givenUp.Add(index);
            }

            _turns.Remove(index, out turns);
        }

        place?.LeaveOnce();
        turns.Drop();
    }

    /// <summary>The run has stopped or ended: none of its items uses a place that it has yet to get.</summary>
    public void Close()
    {
        ItemTurns[] left;
        using (_lock.Hold())
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

        using (_lock.Hold())
        {
            _turns.Remove(index, out ItemTurns turns);
            _hasTurns = _turns.Count > 0;
            return turns;
        }
    }

    private void Keep(ItemTurns turns, long index)
    {
        using (_lock.Hold())
        {
            if (!_closed && !_givenUp.Remove(index))
            {
                _turns.Add(index, turns);
                _hasTurns = true;
                return;
            }
        }

        turns.Drop();
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
