using System.Diagnostics.CodeAnalysis;

namespace Weir.Resilience;

/// <summary>The rate limits with the type of their keys: each can be looked up, and tells when it admits a call again.</summary>
/// <typeparam name="TKey">The type of the keys.</typeparam>
[SuppressMessage("Naming", "CA1716:Identifiers should not match keywords", Justification = "The usual word.")]
public abstract class RateLimits<TKey> : RateLimits
    where TKey : notnull
{
    private protected RateLimits()
    {
    }

    /// <summary>The token bucket of a key, which is made, full, if the key is new.</summary>
    /// <param name="key">The key.</param>
    /// <returns>
    /// The bucket. Look it up again instead of keeping it: when there are many keys, one that is full again is forgotten. One that calls have taken tokens from
    /// or wait for is not.
    /// </returns>
    /// <exception cref="ArgumentNullException"><paramref name="key"/> is <see langword="null"/>.</exception>
    public abstract TokenBucket Get(TKey key);

    /// <summary>All keys that are known now, with their token buckets, in no order.</summary>
    /// <returns>A copy.</returns>
    public abstract IReadOnlyList<KeyValuePair<TKey, TokenBucket>> GetAll();
}
