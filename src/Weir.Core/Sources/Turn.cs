namespace Weir.Core.Sources;

/// <summary>
/// The right to advance a sequence. It is a flag, not a lock, so that no thread ever waits for it and the user's sequence runs under no lock.
/// </summary>
/// <remarks>
/// <para>
/// A reader may wait for long, for a silent channel or a slow query, and has no item meanwhile. So its place among the workers can be lent to another worker,
/// for items that need no turn. If a reader finds, after it has read, that its place is lent, it has no place and may not start the item that it read.
/// </para>
/// <para>
/// All changes are atomic and full fences: a thread that gives up the turn then sees everything that was given back before, and vice versa.
/// </para>
/// </remarks>
internal struct Turn
{
    private const int Free = 0;
    private const int Taken = 1;

    /// <summary>The reader waits for the sequence without a thread.</summary>
    private const int Waiting = 2;
    private const int Lent = 4;

    private int _state;

    public readonly bool IsTaken => Volatile.Read(in _state) != Free;

    /// <summary>Whether a thread is inside the sequence, so that a short wait may be worthwhile.</summary>
    public readonly bool IsReading => (Volatile.Read(in _state) & (Taken | Waiting)) == Taken;

    /// <summary>Whether the reader's place is lent.</summary>
    public readonly bool IsLent => (Volatile.Read(in _state) & Lent) != 0;

    public bool TryTake() => Interlocked.CompareExchange(ref _state, Taken, Free) == Free;

    /// <summary>Gives up the turn.</summary>
    /// <returns>Whether the reader still has its place among the workers.</returns>
    public bool GiveUp() => (Interlocked.Exchange(ref _state, Free) & Lent) == 0;

    /// <summary>The reader leaves, and comes back when the sequence has its next item.</summary>
    public void Wait() => Interlocked.Or(ref _state, Waiting);

    /// <summary>Lends the reader's place, if there is a reader. A place is lent only once.</summary>
    public bool TryLend()
    {
        int state = Volatile.Read(ref _state);
        while ((state & (Taken | Lent)) == Taken)
        {
            int seen = Interlocked.CompareExchange(ref _state, state | Lent, state);
            if (seen == state)
            {
                return true;
            }

            state = seen;
        }

        return false;
    }

    /// <summary>Returns the reader's place.</summary>
    public void TakeBack() => Interlocked.And(ref _state, ~Lent);
}
