namespace Weir.Resilience;

/// <summary>
/// The policies of the process that calls share, from their creation until nobody has them any more. Weak: to be counted keeps none of them, and nothing that
/// they know, in memory. A policy that belongs to one run is counted with its run instead.
/// </summary>
internal static class PolicyRegistry
{
    private const int Few = 64;

    private static readonly Lock Lock = new();
    private static readonly List<WeakReference<IMeteredPolicy>> Known = [];
    private static int _sweepAt = Few;

    public static void Add(IMeteredPolicy policy)
    {
        WeakReference<IMeteredPolicy> reference = new(policy);
        lock (Lock)
        {
            if (Known.Count >= _sweepAt)
            {
                Known.RemoveAll(static known => !known.TryGetTarget(out _));
                _sweepAt = Math.Max(Few, 2 * Known.Count);
            }

            Known.Add(reference);
        }

        PolicyListeners.Look();
    }

    /// <summary>Those that are still there. They are read without the lock, because they have locks of their own.</summary>
    public static List<IMeteredPolicy> Alive()
    {
        List<IMeteredPolicy> alive = [];
        lock (Lock)
        {
            foreach (WeakReference<IMeteredPolicy> known in Known)
            {
                if (known.TryGetTarget(out IMeteredPolicy? policy))
                {
                    alive.Add(policy);
                }
            }
        }

        return alive;
    }
}
