using System.Diagnostics;

namespace Weir.TestKit;

/// <summary>How many bytes the current thread allocates.</summary>
public static class Allocated
{
    private static readonly TimeSpan Longest = TimeSpan.FromSeconds(20);

    /// <summary>
    /// Makes a call again and again until it allocates no more than it may, and returns what the cheapest call allocated. What allocates each time never gets
    /// there, and ends when its time is up. The first rounds may fill pools and run code that is not optimised yet, which boxes. A thread in the background
    /// brings the optimised code, and on a busy machine it does so late: so no number of rounds is enough. A collection counts as allocated what a thread has
    /// not used of its room.
    /// </summary>
    public static long Least(Action call, long atMost = 0)
    {
        ArgumentNullException.ThrowIfNull(call);
        long least = long.MaxValue;
        long started = Stopwatch.GetTimestamp();
        do
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            call();
            least = Math.Min(least, GC.GetAllocatedBytesForCurrentThread() - before);
        }
        while (least > atMost && Stopwatch.GetElapsedTime(started) < Longest);

        return least;
    }
}
