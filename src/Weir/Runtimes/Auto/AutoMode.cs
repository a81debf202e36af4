namespace Weir.Runtimes;

/// <summary>How an <see cref="AutoRuntime"/> runs the items of a call at some moment.</summary>
public enum AutoMode
{
    /// <summary>It is measuring the first items, and has not chosen yet.</summary>
    Probe = 0,

    /// <summary>One item after the other on one thread, with nothing between two items.</summary>
    Direct,

    /// <summary>On as many threads as there are processors: items compute.</summary>
    Parallel,

    /// <summary>Many items in flight on few threads: items wait.</summary>
    Concurrent,

    /// <summary>As many threads as processors for the items that compute, and many in flight for those that wait.</summary>
    Mixed,

    /// <summary>Many threads, because items wait with their thread in their hands.</summary>
    Blocking,
}
