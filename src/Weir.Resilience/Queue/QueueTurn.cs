namespace Weir.Resilience;

/// <summary>
/// A place in the queue of a policy whose holder waits elsewhere. The policy's lock guards the place; its holder is told without the lock.
/// </summary>
/// <typeparam name="TTurn">The type of the queue's turns, which derives from this one.</typeparam>
internal abstract class QueueTurn<TTurn>
    where TTurn : QueueTurn<TTurn>
{
    private readonly TaskCreationOptions _options;
    private TaskCompletionSource _served;

    /// <param name="tellsAtOnce">
    /// Whether what waits for it runs on the stack of the thread that tells it, so that turns go on in the order in which they are told. Only for code that is
    /// short and none of the user's.
    /// </param>
    protected QueueTurn(bool tellsAtOnce)
    {
        _options = tellsAtOnce ? TaskCreationOptions.None : TaskCreationOptions.RunContinuationsAsynchronously;
        _served = new TaskCompletionSource(_options);
        Node = new LinkedListNode<TTurn>((TTurn)this);
    }

    /// <summary>Its node in the list that it stands in. It stands in one at most.</summary>
    public LinkedListNode<TTurn> Node { get; }

    /// <summary>Its number in the order of arrival.</summary>
    public long Number { get; set; }

    /// <summary>Completes when its holder is to go on.</summary>
    public Task Served => _served.Task;

    /// <summary>The next one that is told. Only <see cref="ToldTurns{TTurn}"/> uses it.</summary>
    internal TTurn? Next { get; set; }

    /// <summary>Its holder is to go on. Under no lock.</summary>
    internal void Tell() => _served.TrySetResult();

    /// <summary>Its holder waits again, for another <see cref="Served"/>.</summary>
    internal void WaitAgain() => _served = new TaskCompletionSource(_options);

    /// <summary>Puts it where its number belongs in a list in the order of numbers, which is at the front or near it.</summary>
    internal void InsertInto(LinkedList<TTurn> turns)
    {
        LinkedListNode<TTurn>? behind = turns.First;
        while (behind is not null && behind.Value.Number < Number)
        {
            behind = behind.Next;
        }

        if (behind is null)
        {
            turns.AddLast(Node);
        }
        else
        {
            turns.AddBefore(behind, Node);
        }
    }

    /// <summary>Its holder stops waiting.</summary>
    protected void StopWaiting(CancellationToken cancellationToken) => _served.TrySetCanceled(cancellationToken);

    /// <summary>Its holder stops waiting, and gets an error.</summary>
    protected void StopWaiting(Exception error) => _served.TrySetException(error);
}

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
