namespace Weir.Runtimes;

/// <summary>How an <see cref="AutoRuntime"/> runs the items of a call at a given moment.</summary>
public enum AutoMode
{
    /// <summary>It measures the first items and has not chosen yet.</summary>
    Probe = 0,

    /// <summary>One item after the other on one thread, with nothing between two items.</summary>
    Direct,

    /// <summary>On as many threads as there are processors, because items compute.</summary>
    Parallel,

    /// <summary>Many items in flight on few threads, because items wait.</summary>
    Concurrent,

    /// <summary>As many threads as there are processors for items that compute, and many items in flight for those that wait.</summary>
    Mixed,

    /// <summary>Many threads, because items block their thread while they wait.</summary>
    Blocking,
}
