namespace Weir.Core.Dispatch;

/// <summary>The workers that would read if no other one were reading: those that have left the run, and those that wait on their thread for a moment.</summary>
/// <remarks>
/// A worker looks whether the turn is taken, and then counts itself, under the run's lock. The reader gives up the turn, and then looks at the count, without
/// the lock. So it can miss a worker that is just leaving. Nothing is lost by that: the reader goes on, and calls the worker when it has read its next item, or
/// takes it along when its item suspends; and the stall watch brings another worker if its item lasts.
/// </remarks>
internal struct WaitingReaders
{
    private int _left;
    private int _spinning;

    /// <summary>Whether workers have left.</summary>
    public readonly bool Any => Volatile.Read(in _left) > 0;

    public void AddNeedsLock() => _left++;

    public bool TryTakeNeedsLock()
    {
        if (_left == 0)
        {
            return false;
        }

        _left--;
        return true;
    }

    /// <summary>
    /// Whether a worker may briefly wait for the turn without leaving its thread. Not too many may, or they would keep the reader from its processor.
    /// </summary>
    public bool TryBeginSpinning()
    {
        if (Interlocked.Increment(ref _spinning) < Environment.ProcessorCount)
        {
            return true;
        }

        EndSpinning();
        return false;
    }

    public void EndSpinning() => Interlocked.Decrement(ref _spinning);
}
