namespace Weir.Resilience;

/// <summary>
/// Tokens of a bucket that calls take without reading the clock: a bucket that holds <em>n</em> tokens at some moment can give out <em>n</em>, whatever the
/// time is. The next reading of the clock accounts for all of them as if they had been taken at that moment, which is later than they were, so the rate is
/// never exceeded.
/// </summary>
/// <param name="most">The largest number of operations.</param>
/// <remarks>
/// Any number of threads can take tokens: each decrement that leaves zero or more is one token. Opening and closing need the bucket's lock. Closing exchanges
/// the count for zero, so each decrement comes either before, and is counted, or after, and gets no token. With a read and a write in its place, a token that
/// was taken in between would be in no account. Decrements that come too late make the count negative, which opening overwrites.
/// </remarks>
internal sealed class QuickTokens(int most)
{
    private int _left;
    private bool _isOpen;

    public bool TryTake() => Volatile.Read(ref _left) > 0 && Interlocked.Decrement(ref _left) >= 0;

    public void OpenNeedsLock()
    {
        _isOpen = true;
        Volatile.Write(ref _left, most);
    }

    /// <summary>Stops giving out tokens.</summary>
    /// <returns>The number of operations that took tokens since it was opened.</returns>
    public int CloseNeedsLock()
    {
        if (!_isOpen)
        {
            return 0;
        }

        _isOpen = false;
        return most - Math.Max(0, Interlocked.Exchange(ref _left, 0));
    }
}
