namespace Weir.Core.Sources;

/// <summary>
/// The right to advance a sequence. It is a flag, not a lock, so that no thread ever waits for it and the user's sequence runs under no lock.
/// </summary>
/// <remarks>
/// <para>
/// A reader may wait for long, for a silent channel or a slow query, and has no item meanwhile. So it does not count against the limit of its run: another
/// worker may come for items that need no turn. A reader that has given up the turn counts again, and looks whether there is room for what it has read.
/// </para>
/// <para>
/// All changes are atomic and full fences: a thread that gives up the turn then sees everything that was given back before, and every worker that came because
/// it had the turn, and vice versa.
/// </para>
/// </remarks>
internal struct Turn
{
    private const int Free = 0;
    private const int Taken = 1;

    /// <summary>The reader waits for the sequence without a thread.</summary>
    private const int Waiting = 2;

    private int _state;

    public readonly bool IsTaken => Volatile.Read(in _state) != Free;

    /// <summary>Whether a thread is inside the sequence, so that a short wait may be worthwhile.</summary>
    public readonly bool IsReading => Volatile.Read(in _state) == Taken;

    public bool TryTake() => Interlocked.CompareExchange(ref _state, Taken, Free) == Free;

    public void GiveUp() => Interlocked.Exchange(ref _state, Free);

    /// <summary>The reader leaves its thread, and comes back when the sequence has its next item.</summary>
    public void Wait() => Interlocked.Exchange(ref _state, Waiting);
}
