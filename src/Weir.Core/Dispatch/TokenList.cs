namespace Weir.Core.Dispatch;

/// <summary>
/// The tokens of items that have their own. The run stops them itself: a registration of each worker with the run's token would cost more than all that a
/// worker needs for its items.
/// </summary>
/// <remarks>
/// Any worker adds at the front, by compare-and-swap, a full fence, and then reads whether the run is over. Whoever stops the run sets that first, under a
/// lock, and then reads the list. So one of both sees the other: the tokens are stopped by at least one of them. In any other order, an item could run on
/// with a token that nobody stops.
/// </remarks>
internal struct TokenList
{
    // The newest first.
    private ItemTokens? _first;

    /// <summary>Adds tokens. The caller then stops them itself if the run is over.</summary>
    public void Add(ItemTokens tokens)
    {
        ItemTokens? first;
        do
        {
            first = Volatile.Read(ref _first);
            tokens.NextOfRun = first;
        }
        while (Interlocked.CompareExchange(ref _first, tokens, first) != first);
    }

    /// <summary>Stops all tokens, after the run was marked as over.</summary>
    /// <param name="later">Whether the callbacks, which are user code, run elsewhere.</param>
    /// <returns>What went wrong, if anything did: no user code, but there may be no memory.</returns>
    public readonly Exception? StopAll(bool later)
    {
        Exception? failure = null;
        for (ItemTokens? tokens = Volatile.Read(in _first); tokens is not null; tokens = tokens.NextOfRun)
        {
            try
            {
                tokens.StopAll(later);
            }
            catch (Exception e)
            {
                failure ??= e;
            }
        }

        return failure;
    }
}
