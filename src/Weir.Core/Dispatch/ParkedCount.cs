using Weir.Core.Metering;

namespace Weir.Core.Dispatch;

/// <summary>How many calls of a run are parked, and how many of them have succeeded, in one word: each call costs one atomic operation.</summary>
/// <remarks>
/// A worker adds the calls that it has parked before it leaves the run or waits for a thread, and each call subtracts itself when it ends. So the number may be
/// zero, or below, while workers are left. The run ends, under its lock, when no worker is left and the number is zero. Two threads look for that: the worker
/// that leaves last, after it has added; and the call that brings the number to zero, after it has subtracted. Both then take the lock, and the second one sees
/// what the first one did. If a worker added after it had left, the run could end while its calls still wait.
/// </remarks>
internal struct ParkedCount
{
    // One less in the lower half, which counts those that wait, and one more in the upper half, which counts those that have succeeded. If the lower half is
    // below zero, it has borrowed one from the upper half.
    private const long OneSucceeded = (1L << 32) - 1;

    private long _word;

    /// <summary>How many wait, as far as workers have told. Exact when no worker is left.</summary>
    public readonly int Waiting => (int)Volatile.Read(in _word);

    /// <summary>Adds calls that a worker has parked.</summary>
    public void Add(int count) => Interlocked.Add(ref _word, count);

    /// <summary>A call has succeeded, or its run fails without its outcome.</summary>
    /// <returns>Whether none waits, so that the run may have to end.</returns>
    public bool EndOne() => (int)Interlocked.Add(ref _word, OneSucceeded) == 0;

    /// <summary>Calls no longer count: a worker has taken their outcome, or they were given up.</summary>
    public void Remove(int count) => Interlocked.Add(ref _word, -count);

    public readonly void AddTo(ref RunSample sample)
    {
        long word = Volatile.Read(in _word);
        int waiting = (int)word;
        sample.InFlight += waiting;
        sample.Succeeded += (word - waiting) >> 32;
    }
}
