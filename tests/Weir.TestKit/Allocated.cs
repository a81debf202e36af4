using System.Diagnostics;

namespace Weir.TestKit;

/// <summary>How many bytes the current thread allocates.</summary>
public static class Allocated
{
    private const int MostRounds = 1000;

    private static readonly TimeSpan Longest = TimeSpan.FromSeconds(20);

    /// <summary>
    /// Makes a call again and again until it allocates no more than it may, and returns what the cheapest call allocated. What allocates each time never gets
    /// there and ends with the last round. The first rounds may fill pools and run code that is not optimised yet, which boxes; on a busy machine the
    /// optimised code comes late. A collection counts as allocated what a thread has not used of its room.
    /// </summary>
    public static long Least(Action call, long atMost = 0)
    {
        ArgumentNullException.ThrowIfNull(call);
        long least = long.MaxValue;
        long started = Stopwatch.GetTimestamp();
        for (int round = 0; round < MostRounds && least > atMost && Stopwatch.GetElapsedTime(started) < Longest; round++)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            call();
            least = Math.Min(least, GC.GetAllocatedBytesForCurrentThread() - before);
        }

        return least;
    }
}
