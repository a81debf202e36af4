using System.Diagnostics.CodeAnalysis;

namespace Weir.Resilience;

/// <summary>The circuit breakers with the type of their keys: each can be looked up, and opened or closed by hand.</summary>
/// <typeparam name="TKey">The type of the keys.</typeparam>
[SuppressMessage("Naming", "CA1716:Identifiers should not match keywords", Justification = "The usual word.")]
public abstract class CircuitBreakers<TKey> : CircuitBreakers
    where TKey : notnull
{
    private protected CircuitBreakers()
    {
    }

    /// <summary>The circuit breaker of a key, which is made if the key is new.</summary>
    /// <param name="key">The key.</param>
    /// <returns>
    /// The breaker. Look it up again instead of keeping it: when there are many keys, one that is idle is forgotten. One that is open or isolated is not.
    /// </returns>
    /// <exception cref="ArgumentNullException"><paramref name="key"/> is <see langword="null"/>.</exception>
    public abstract CircuitBreaker Get(TKey key);

    /// <summary>All keys that are known now, with their circuit breakers, in no order.</summary>
    /// <returns>A copy.</returns>
    public abstract IReadOnlyList<KeyValuePair<TKey, CircuitBreaker>> GetAll();
}
