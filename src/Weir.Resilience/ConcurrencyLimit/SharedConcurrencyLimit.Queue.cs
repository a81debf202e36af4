using System.Diagnostics;

namespace Weir.Resilience;

// The half with the lock: calls that wait, and users that hold no more permits than they can use.
public sealed partial class SharedConcurrencyLimit
{
    /// <summary>Takes a permit for a user, if one is free and no call waits.</summary>
    internal bool TryEnter(PlaceUser user)
    {
        lock (_lock)
        {
            CloseNeedsLock();
            bool entered = TryTakeNeedsLock(user);
            OpenNeedsLock();
            return entered;
        }
    }

    /// <summary>Takes a permit, or a turn at the end of the queue.</summary>
    /// <exception cref="ConcurrencyLimitRejectedException">Too many calls already wait.</exception>
    internal PlaceTurn Queue(PlaceUser user)
    {
        PlaceTurn turn = new(user);
        ToldTurns<PlaceTurn> served = default;
        bool rejected = false;
        lock (_lock)
        {
            CloseNeedsLock();
            if (TryTakeNeedsLock(user))
            {
                turn.State = PlaceTurnState.Served;
                served.Add(turn);
            }
            else if (_maxWaiting is { } most ? _waiting.Count + _parked >= most : user.IsSingle && _single >= MaxWaiting)
            {
                rejected = true;
            }
            else
            {
                turn.Number = ++_turns;
                _single += user.IsSingle ? 1 : 0;
                _waiting.AddLast(turn.Node);
            }

            OpenNeedsLock();
        }

        if (rejected)
        {
            throw new ConcurrencyLimitRejectedException(Limit, MaxWaiting);
        }

        served.Tell();
        return turn;
    }

    /// <summary>Returns a user's permit. It goes to the first call in the queue that can start now.</summary>
    internal void Leave(PlaceUser user)
    {
        ToldTurns<PlaceTurn> served;
        lock (_lock)
        {
            CloseNeedsLock();
            bool taken = _word >> 1 < _limit;
            if (taken)
            {
                _word += Place;
                user.Held--;
                UnparkNeedsLock(user);
            }

            served = ServeNeedsLock();
            if (!taken)
            {
                throw new InvalidOperationException("More places were returned than taken.");
            }
        }

        served.Tell();
    }

    /// <summary>A user can use more permits than before.</summary>
    internal void UseMore(PlaceUser user)
    {
        ToldTurns<PlaceTurn> served;
        lock (_lock)
        {
            CloseNeedsLock();
            UnparkNeedsLock(user);
            served = ServeNeedsLock();
        }

        served.Tell();
    }

    /// <summary>Takes a turn out of the queue.</summary>
    /// <returns>False if it no longer waits.</returns>
    internal bool TryRemove(PlaceTurn turn)
    {
        ToldTurns<PlaceTurn> served;
        lock (_lock)
        {
            if (turn.State != PlaceTurnState.Waiting)
            {
                return false;
            }

            CloseNeedsLock();
            turn.State = PlaceTurnState.Removed;
            _single -= turn.User.IsSingle ? 1 : 0;
            if (turn.Node.List != _waiting)
            {
                _parked--;
            }

            turn.Node.List!.Remove(turn.Node);
            served = ServeNeedsLock();
        }

        served.Tell();
        return true;
    }

    /// <summary>From here on, no call takes or returns a permit without the lock.</summary>
    private void CloseNeedsLock()
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "The limit's lock is held.");
        Interlocked.Or(ref _word, Closed);
    }

    private bool TryTakeNeedsLock(PlaceUser user)
    {
        if (_waiting.Count > 0 || _word < Place)
        {
            return false;
        }

        TakeNeedsLock(user);
        return true;
    }

    private void TakeNeedsLock(PlaceUser user)
    {
        _word -= Place;
        user.Held++;
    }

    /// <summary>
    /// Gives free permits to the first calls in the queue. A call whose user already holds as many permits as it can use lets others pass, because its permit
    /// would lie idle. It keeps its number, and returns to its old position when its user returns a permit or can use more.
    /// </summary>
    /// <returns>The calls that got a permit, to be told without the lock.</returns>
    private ToldTurns<PlaceTurn> ServeNeedsLock()
    {
        ToldTurns<PlaceTurn> served = default;
        while (_word >= Place && _waiting.First is { } node)
        {
            PlaceTurn turn = node.Value;
            _waiting.RemoveFirst();
            if (turn.User.Held >= turn.User.Most)
            {
                turn.User.Parked.AddLast(node);
                _parked++;
                continue;
            }

            TakeNeedsLock(turn.User);
            turn.State = PlaceTurnState.Served;
            _single -= turn.User.IsSingle ? 1 : 0;
            served.Add(turn);
        }

        OpenNeedsLock();
        return served;
    }

    /// <summary>The last step of every change.</summary>
    private void OpenNeedsLock()
    {
        AssertInvariantsNeedsLock();
        if (_waiting.Count == 0)
        {
            Interlocked.And(ref _word, ~Closed);
        }
    }

    private void UnparkNeedsLock(PlaceUser user)
    {
        for (int back = 0; user.HasParked && user.Held + back < user.Most; back++)
        {
            LinkedListNode<PlaceTurn> node = user.Parked.First!;
            user.Parked.RemoveFirst();
            _parked--;

            // Those behind it are younger, and it is usually older than all.
            node.Value.InsertInto(_waiting);
        }
    }

    [Conditional("DEBUG")]
    private void AssertInvariantsNeedsLock()
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "The limit's lock is held.");
        Debug.Assert(_word >> 1 <= _limit, "No more places are free than there are.");
        Debug.Assert(_waiting.Count == 0 || _word < Place, "While a place is free, nobody waits who could use it.");
        Debug.Assert(_parked >= 0, "Parked calls are not negative.");
        Debug.Assert(_single >= 0 && _single <= _waiting.Count, "Single calls that wait are in the queue.");
    }
}
