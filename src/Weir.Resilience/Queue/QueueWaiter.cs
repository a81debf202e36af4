namespace Weir.Resilience;

/// <summary>
/// What waits in the queue of a policy, while its holder waits elsewhere. The policy's lock guards it; its holder is told without the lock.
/// </summary>
/// <typeparam name="TWaiter">The type of the queue's waiters, which derives from this one.</typeparam>
internal abstract class QueueWaiter<TWaiter>
    where TWaiter : QueueWaiter<TWaiter>
{
    private readonly TaskCreationOptions _options;
    private TaskCompletionSource _served;

    /// <param name="tellsAtOnce">
    /// Whether what waits for it runs on the stack of the thread that tells it, so that holders continue in the order in which they are told. Only for code that is
    /// short and none of the user's.
    /// </param>
    protected QueueWaiter(bool tellsAtOnce)
    {
        _options = tellsAtOnce ? TaskCreationOptions.None : TaskCreationOptions.RunContinuationsAsynchronously;
        _served = new TaskCompletionSource(_options);
        Node = new LinkedListNode<TWaiter>((TWaiter)this);
    }

    /// <summary>Its node in the list that it stands in. It stands in one at most.</summary>
    public LinkedListNode<TWaiter> Node { get; }

    /// <summary>Its number in the order of arrival.</summary>
    public long Number { get; set; }

    /// <summary>Completes when its holder is to continue.</summary>
    public Task Served => _served.Task;

    /// <summary>The next one that is told. Only <see cref="ToldWaiters{TWaiter}"/> uses it.</summary>
    internal TWaiter? Next { get; set; }

    /// <summary>Its holder is to continue. Under no lock.</summary>
    internal virtual void Tell() => _served.TrySetResult();

    /// <summary>Its holder waits again, for another <see cref="Served"/>.</summary>
    internal void WaitAgain() => _served = new TaskCompletionSource(_options);

    /// <summary>Puts it where its number belongs in a list in the order of numbers, which is at the front or near it.</summary>
    internal void InsertInto(LinkedList<TWaiter> waiters)
    {
        LinkedListNode<TWaiter>? behind = waiters.First;
        while (behind is not null && behind.Value.Number < Number)
        {
            behind = behind.Next;
        }

        if (behind is null)
        {
            waiters.AddLast(Node);
        }
        else
        {
            waiters.AddBefore(behind, Node);
        }
    }

    /// <summary>Puts it where its number belongs in a list in the order of numbers, which is at the end or near it.</summary>
    internal void AddTo(LinkedList<TWaiter> waiters)
    {
        LinkedListNode<TWaiter>? before = Before(waiters);
        if (before is null)
        {
            waiters.AddFirst(Node);
        }
        else
        {
            waiters.AddAfter(before, Node);
        }
    }

    /// <summary>How many would stand before it in a list in the order of numbers.</summary>
    internal int CountBefore(LinkedList<TWaiter> waiters)
    {
        int behind = 0;
        for (LinkedListNode<TWaiter>? last = waiters.Last; last is not null && last.Value.Number > Number; last = last.Previous)
        {
            behind++;
        }

        return waiters.Count - behind;
    }

    private LinkedListNode<TWaiter>? Before(LinkedList<TWaiter> waiters)
    {
        LinkedListNode<TWaiter>? before = waiters.Last;
        while (before is not null && before.Value.Number > Number)
        {
            before = before.Previous;
        }

        return before;
    }

    /// <summary>Its holder stops waiting.</summary>
    protected void StopWaiting(CancellationToken cancellationToken) => _served.TrySetCanceled(cancellationToken);

    /// <summary>Its holder stops waiting, and gets an error.</summary>
    protected void StopWaiting(Exception error) => _served.TrySetException(error);
}

/// <summary>The waiters to be told, which are gathered under a policy's lock and told without it, in their order.</summary>
/// <typeparam name="TWaiter">The type of the waiters.</typeparam>
internal struct ToldWaiters<TWaiter>
    where TWaiter : QueueWaiter<TWaiter>
{
    private TWaiter? _first;
    private TWaiter? _last;

    /// <summary>Adds a waiter. Under the lock.</summary>
    public void Add(TWaiter waiter)
    {
        if (_last is null)
        {
            _first = waiter;
        }
        else
        {
            _last.Next = waiter;
        }

        _last = waiter;
    }

    /// <summary>Tells them. Under no lock.</summary>
    public readonly void Tell()
    {
        TWaiter? waiter = _first;
        while (waiter is not null)
        {
            // Told, it may wait again, and be told by another.
            TWaiter? next = waiter.Next;
            waiter.Next = null;
            waiter.Tell();
            waiter = next;
        }
    }
}
