namespace Weir.Resilience;

/// <summary>A concurrency limit for each key, such as each server that a run calls.</summary>
/// <remarks>
/// <para>
/// Create it with <see cref="SharedConcurrencyLimit.ByKey{TItem, TKey}"/>, and pass the same instance to everything that shares it. All members are
/// thread-safe.
/// </para>
/// <para>
/// Its memory is bounded: when there are many keys, those that are idle are forgotten, and start anew if they come back. A limit is idle when nobody holds a
/// place or waits for one.
/// </para>
/// </remarks>
public abstract class ConcurrencyLimits : IMeteredPolicy
{
    private protected ConcurrencyLimits()
    {
    }

    /// <summary>How many keys are known.</summary>
    public abstract int Count { get; }

    /// <summary>What metrics call all of them together.</summary>
    public string? Name { get; internal init; }

    /// <summary>The type of the items that have the keys, for messages.</summary>
    internal abstract Type ItemType { get; }

    void IMeteredPolicy.AddTo(PolicyCounts counts) => AddTo(counts);

    internal abstract void AddTo(PolicyCounts counts);
}
