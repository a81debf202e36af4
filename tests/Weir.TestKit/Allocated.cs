namespace Weir.TestKit;

/// <summary>How many bytes the current thread allocates.</summary>
public static class Allocated
{
    private const int MostRounds = 20;

    /// <summary>
    /// Makes a call several times, and returns what the cheapest of them allocated: the first ones may fill pools, and the work of the runtime itself, such
    /// as that of its compiler, may fall into any. A round in which a collection ran does not count, as long as there are others: what a thread has not
    /// used of its room counts as allocated then. On a busy machine, with other tests beside, that may be most rounds.
    /// </summary>
    public static long Least(Action call, int rounds = 5)
    {
        ArgumentNullException.ThrowIfNull(call);
        long least = long.MaxValue;
        for (int round = 0, clean = 0; clean < rounds && round < MostRounds * rounds; round++)
        {
            int collections = GC.CollectionCount(0);
            long before = GC.GetAllocatedBytesForCurrentThread();
            call();
            least = Math.Min(least, GC.GetAllocatedBytesForCurrentThread() - before);
            clean += GC.CollectionCount(0) == collections ? 1 : 0;
        }

        return least;
    }
}
