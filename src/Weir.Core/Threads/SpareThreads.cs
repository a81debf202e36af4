namespace Weir.Core.Threads;

/// <summary>Threads for work that must go on though the thread pool has none: those of the pool are stuck in items that were given up, or in somebody else's.</summary>
internal static class SpareThreads
{
    // As many as are stuck: each was asked for because an item that holds a thread had to be left behind.
    private static readonly ElasticTeam Team = new(int.MaxValue, "Weir spare");

    /// <summary>Whether the current thread is one of them.</summary>
    public static bool IsCurrent => Team.CurrentHost is not null;

    public static void Queue(IThreadPoolWorkItem work) => Team.Queue(work);
}
