namespace Weir.Core.Sources;

/// <summary>
/// The right to advance a sequence: a flag and not a lock, so that nobody ever waits for it and the user's sequence runs under no lock.
/// </summary>
/// <remarks>
/// <para>
/// Who reads may wait for long, for a silent channel or a slow query, and has no item meanwhile. So its place among the workers can be lent to another one, for items that need
/// no turn. A reader that finds, when it has read, that its place is lent has none, and may not start what it read.
/// </para>
/// <para>
/// All changes are atomic, and full fences: whoever gives the turn up sees afterwards what was given back before, and the other way round.
/// </para>
/// </remarks>
internal struct Turn
{
    private const int Free = 0;
    private const int Taken = 1;

    /// <summary>The reader waits for the sequence without a thread.</summary>
    private const int Waiting = 2;
    private const int Lent = 4;

    /// <summary>The reader keeps the turn over many items. The bits above say which time this is.</summary>
    private const int Kept = 8;
    private const int FirstTime = 16;

    private int _state;
    private int _time;

    public readonly bool IsTaken => Volatile.Read(in _state) != Free;

    /// <summary>Whether a thread is inside the sequence, so that a short wait may be worth it.</summary>
    public readonly bool IsReading => (Volatile.Read(in _state) & (Taken | Waiting)) == Taken;

    /// <summary>Whether the place of the reader is lent.</summary>
    public readonly bool IsLent => (Volatile.Read(in _state) & Lent) != 0;

    /// <summary>The word of a turn that is kept, for <see cref="TryTakeAway"/>; otherwise 0.</summary>
    public readonly int KeptAs => Volatile.Read(in _state) is var state && (state & Kept) != 0 ? state : 0;

    public bool TryTake() => Interlocked.CompareExchange(ref _state, Taken, Free) == Free;

    /// <summary>Gives the turn up.</summary>
    /// <returns>Whether the reader still has its place among the workers.</returns>
    public bool GiveUp() => (Interlocked.Exchange(ref _state, Free) & Lent) == 0;

    /// <summary>The reader goes, and comes back when the sequence has its next item.</summary>
    public void Wait() => Interlocked.Or(ref _state, Waiting);

    /// <summary>The reader, which has the turn, keeps it until it says otherwise or the turn is taken away. Its place is not lent meanwhile.</summary>
    /// <returns>The word of this time; 0 when the place is lent already.</returns>
    public int TryKeep()
    {
        _time = (_time + FirstTime) & int.MaxValue;
        int word = _time | Taken | Kept;
        return Interlocked.CompareExchange(ref _state, word, Taken) == Taken ? word : 0;
    }

    /// <summary>A turn that was kept becomes one like any other. Only while it cannot be taken away.</summary>
    public void KeepNoLonger() => Interlocked.Exchange(ref _state, Taken);

    /// <summary>Ends a time for which the turn was kept, for its reader or against it.</summary>
    /// <returns>Whether it still lasted.</returns>
    public bool TryTakeAway(int keptAs) => Interlocked.CompareExchange(ref _state, Free, keptAs) == keptAs;

    /// <summary>Lends the place of the reader, while there is one. One place is lent once.</summary>
    public bool TryLend()
    {
        int state = Volatile.Read(ref _state);
        while ((state & (Taken | Lent | Kept)) == Taken)
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

    /// <summary>The reader has its place back.</summary>
    public void TakeBack() => Interlocked.And(ref _state, ~Lent);
}
