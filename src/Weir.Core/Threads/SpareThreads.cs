namespace Weir.Core.Threads;

/// <summary>
/// Threads for work that must continue although the thread pool has none free, because the pool's threads are stuck in abandoned items or in other code.
/// </summary>
internal static class SpareThreads
{
    // As many as are stuck: each was requested because an item that holds a thread had to be abandoned.
    private static readonly ElasticTeam Team = new(int.MaxValue, "Weir spare");

    /// <summary>Whether the current thread is a spare thread.</summary>
    public static bool IsCurrent => ElasticTeam.IsAnyCurrent && Team.CurrentHost is not null;

    public static void Queue(IThreadPoolWorkItem work) => Team.Queue(work);
}
