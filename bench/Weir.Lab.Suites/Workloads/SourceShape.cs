namespace Weir.Lab.Suites.Workloads;

/// <summary>Kinds of sources whose steps cost something.</summary>
public enum SourceShape
{
    /// <summary>A sequence that works for each item.</summary>
    Lazy,

    /// <summary>An asynchronous sequence that works for each item and never suspends.</summary>
    Async,

    /// <summary>An asynchronous sequence that suspends before it works for each item.</summary>
    Suspending,

    /// <summary>The lazy sequence, cut into batches.</summary>
    Batches,

    /// <summary>The lazy sequence, whose items have keys.</summary>
    Keyed,

    /// <summary>A channel that a task of its own writes to.</summary>
    Channel,
}
