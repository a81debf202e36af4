namespace Weir.Resilience;

/// <summary>
/// The place of an item of a run in the queue of a <see cref="TokenBucket"/>. The item waits elsewhere. It is called when its tokens should be there, and takes
/// them when it starts, which may be later: then others may have taken them, and it waits again, before all who came after it.
/// </summary>
internal sealed class ItemRateTurn
{
    private TaskCompletionSource _served = NewSource();

    public ItemRateTurn(TokenBucket bucket)
    {
        Bucket = bucket;
        Node = new LinkedListNode<ItemRateTurn>(this);
    }

    public TokenBucket Bucket { get; }

    /// <summary>Its node in the queue, while it has not been called.</summary>
    public LinkedListNode<ItemRateTurn> Node { get; }

    /// <summary>Its number in the order of arrival.</summary>
    public long Number { get; set; }

    /// <summary>Whether it has been called and has yet to take its tokens. Guarded by the bucket's lock.</summary>
    public bool IsCalled { get; set; }

    /// <summary>The next one that is called at the same time.</summary>
    public ItemRateTurn? Next { get; set; }

    /// <summary>Completes when the item should ask again. Another task after each time that it asked in vain.</summary>
    public Task Served => _served.Task;

    /// <summary>Tells items that they have been called. Under no lock.</summary>
    public static void Complete(ItemRateTurn? turn)
    {
        while (turn is not null)
        {
            ItemRateTurn? next = turn.Next;
            turn.Next = null;
            turn._served.TrySetResult();
            turn = next;
        }
    }

    /// <summary>Takes the tokens, now that the item could start. Only for whoever made it.</summary>
    /// <returns>False if it has to wait for <see cref="Served"/> again.</returns>
    public bool TryEnter() => Bucket.TryEnter(this);

    /// <summary>The item will not start. Called at most once, and not after the tokens were taken.</summary>
    public void Drop() => Bucket.Drop(this);

    /// <summary>It waits again.</summary>
    public void Renew() => _served = NewSource();

    private static TaskCompletionSource NewSource() => new(TaskCreationOptions.RunContinuationsAsynchronously);
}
