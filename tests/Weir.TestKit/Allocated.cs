namespace Weir.TestKit;

/// <summary>How many bytes the current thread allocates.</summary>
public static class Allocated
{
    /// <summary>
    /// Makes a call several times, and returns what the cheapest of them allocated: the first ones may fill pools, and the work of the runtime itself, such as
    /// that of its compiler or a collection, may fall into any.
    /// </summary>
    public static long Least(Action call, int rounds = 5)
    {
        ArgumentNullException.ThrowIfNull(call);
        long least = long.MaxValue;
        for (int round = 0; round < rounds; round++)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            call();
            least = Math.Min(least, GC.GetAllocatedBytesForCurrentThread() - before);
        }

        return least;
    }
}
