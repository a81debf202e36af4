using System.Diagnostics.CodeAnalysis;

namespace Weir.Resilience;

/// <summary>The concurrency limits with the type of their keys: each can be looked up, and tells how many calls it has.</summary>
/// <typeparam name="TKey">The type of the keys.</typeparam>
[SuppressMessage("Naming", "CA1716:Identifiers should not match keywords", Justification = "The usual word.")]
public abstract class ConcurrencyLimits<TKey> : ConcurrencyLimits
    where TKey : notnull
{
    private protected ConcurrencyLimits()
    {
    }

    /// <summary>The concurrency limit of a key, which is made if the key is new.</summary>
    /// <param name="key">The key.</param>
    /// <returns>
    /// The limit. Look it up again instead of keeping it: when there are many keys, one that is idle is forgotten, and so is a
    /// <see cref="SharedConcurrencyLimit.Limit"/> that was set on it. One that has calls, in flight or waiting, is not.
    /// </returns>
    /// <exception cref="ArgumentNullException"><paramref name="key"/> is <see langword="null"/>.</exception>
    public abstract SharedConcurrencyLimit Get(TKey key);

    /// <summary>All keys that are known now, with their concurrency limits, in no order.</summary>
    /// <returns>A copy.</returns>
    public abstract IReadOnlyList<KeyValuePair<TKey, SharedConcurrencyLimit>> GetAll();
}
