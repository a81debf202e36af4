namespace Weir.Core.Dispatch;

/// <content>
/// The tokens of items that have their own. The run stops them itself: a registration of each worker with the run's token would cost more than all that a
/// worker needs for its items.
/// </content>
internal abstract partial class Pump
{
    // The newest first.
    private ItemTokens? _tokens;

    /// <summary>Stops these tokens when the run stops, or at once if it has.</summary>
    public void AddTokens(ItemTokens tokens)
    {
        ItemTokens? first;
        do
        {
            first = Volatile.Read(ref _tokens);
            tokens.NextOfRun = first;
        }
        while (Interlocked.CompareExchange(ref _tokens, tokens, first) != first);

        // After that, as a stop sets it before it reads the list: one of both sees the other.
        if (_over)
        {
            tokens.StopAll(later: false);
        }
    }

    private void StopTokens(bool later)
    {
        for (ItemTokens? tokens = Volatile.Read(ref _tokens); tokens is not null; tokens = tokens.NextOfRun)
        {
            try
            {
                tokens.StopAll(later);
            }
            catch (Exception e)
            {
                // No user code's: there may be no memory. The run ends all the same.
                _broken ??= e;
            }
        }
    }
}
