using System.Diagnostics;
using Weir.Core.Sources;

namespace Weir.Core.Dispatch;

/// <summary>The workers that would read if no other one were reading: those that have left the run, and those that wait on their thread for a moment.</summary>
/// <remarks>
/// A worker looks whether the turn is taken, and then counts itself, under the run's lock. The reader gives up the turn, and then looks at the count, without
/// the lock. So it can miss a worker that is just leaving. Nothing is lost by that: the reader goes on, and calls the worker when it has read its next item, or
/// takes it along when its item suspends; and the stall watch brings another worker if its item lasts.
/// </remarks>
internal struct WaitingReaders
{
    // The time it takes to leave and be called again, on a slow machine.
    private static readonly long LongestSpin = Stopwatch.Frequency / 20_000;

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
    /// A worker found the turn taken. The reader is usually quick, and a short spin is cheaper than leaving and being called again. Not too many may spin, or
    /// they would keep the reader from its processor.
    /// </summary>
    /// <returns>Whether to try again.</returns>
    public bool WaitFor<T>(Source<T> source, Pump run)
    {
        if (!source.IsReading)
        {
            // The thread is more useful to the item, or to the sequence, whose end all workers wait for.
            return false;
        }

        try
        {
            if (Interlocked.Increment(ref _spinning) >= Environment.ProcessorCount)
            {
                return false;
            }

            long began = Stopwatch.GetTimestamp();
            while (source.IsBusy)
            {
                if (!source.IsReading || run.IsOver || Stopwatch.GetTimestamp() - began > LongestSpin)
                {
                    return false;
                }

                Thread.SpinWait(8);
            }

            return true;
        }
        finally
        {
            Interlocked.Decrement(ref _spinning);
        }
    }
}
