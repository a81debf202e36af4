namespace Weir.Resilience;

/// <summary>
/// The place of an item of a run in the queue of a <see cref="TokenBucket"/>. The item waits elsewhere. It is called when its tokens should be there, and takes
/// them when it starts, which may be later: then others may have taken them, and it waits again, before all who came after it.
/// </summary>
/// <param name="bucket">The bucket.</param>
internal sealed class ItemRateTurn(TokenBucket bucket) : QueueTurn<ItemRateTurn>(tellsAtOnce: true)
{
    public TokenBucket Bucket => bucket;

    /// <summary>Whether it has been called and has yet to take its tokens. Guarded by the bucket's lock.</summary>
    public bool IsCalled { get; set; }

    /// <summary>Takes the tokens, now that the item could start. Only for the caller that made it.</summary>
    /// <returns>False if it has to wait for <see cref="QueueTurn{TTurn}.Served"/> again.</returns>
    public bool TryEnter() => bucket.TryEnter(this);

    /// <summary>The item will not start. Called at most once, and not after the tokens were taken.</summary>
    public void Drop() => bucket.Drop(this);
}
