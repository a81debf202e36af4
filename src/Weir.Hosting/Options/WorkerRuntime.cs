namespace Weir.Hosting;

/// <summary>The runtime that a worker processes its items on. See docs/runtimes.md.</summary>
public enum WorkerRuntime
{
    /// <summary>Many items in flight on a few pool threads: for items that wait.</summary>
    Concurrent,

    /// <summary>Threads of its own: for items that compute.</summary>
    Parallel,

    /// <summary>Measures the items and decides.</summary>
    Auto,

    /// <summary>One item after the other.</summary>
    Direct,
}
