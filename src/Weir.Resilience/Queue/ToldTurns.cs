namespace Weir.Resilience;

/// <summary>The turns to be told, which are gathered under a policy's lock and told without it, in their order.</summary>
/// <typeparam name="TTurn">The type of the turns.</typeparam>
internal struct ToldTurns<TTurn>
    where TTurn : QueueTurn<TTurn>
{
    private TTurn? _first;
    private TTurn? _last;

    /// <summary>Adds a turn. Under the lock.</summary>
    public void Add(TTurn turn)
    {
        if (_last is null)
        {
            _first = turn;
        }
        else
        {
            _last.Next = turn;
        }

        _last = turn;
    }

    /// <summary>Tells them. Under no lock.</summary>
    public readonly void Tell()
    {
        TTurn? turn = _first;
        while (turn is not null)
        {
            // Told, it may wait again, and be told by another.
            TTurn? next = turn.Next;
            turn.Next = null;
            turn.Tell();
            turn = next;
        }
    }
}
