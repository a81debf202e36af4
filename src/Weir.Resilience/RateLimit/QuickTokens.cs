namespace Weir.Resilience;

/// <summary>
/// Tokens of a bucket that are taken one after the other without a look at the clock: a bucket that holds <em>n</em> of them at some moment can give so many, whatever the time is.
/// Whoever looks at the clock next reckons as if all of them had been taken just then: later than they were, so that the rate is never exceeded.
/// </summary>
/// <param name="most">For how many operations.</param>
/// <remarks>Taking is safe for any number of threads; opening and closing is for whoever has the bucket's lock.</remarks>
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

    /// <summary>Ends the taking.</summary>
    /// <returns>For how many operations tokens were taken since it was opened.</returns>
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
