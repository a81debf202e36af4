using System.Diagnostics.CodeAnalysis;

namespace Weir.Resilience;

/// <summary>A circuit breaker for each key, such as each server that a run calls: one that is down stops the calls to it and no others.</summary>
/// <remarks>
/// <para>
/// Create it with <see cref="ByKey{TItem, TKey}"/>, and pass the same instance to everything that shares it. All members are thread-safe.
/// </para>
/// <para>
/// Its memory is bounded: when there are many keys, those that are idle are forgotten, and start anew if they come back. A circuit that is open or being probed
/// is not idle.
/// </para>
/// </remarks>
public abstract class CircuitBreakers : IMeteredPolicy
{
    private protected CircuitBreakers()
    {
    }

    /// <summary>How many keys are known.</summary>
    public abstract int Count { get; }

    /// <summary>The type of the items that have the keys, for messages.</summary>
    internal abstract Type ItemType { get; }

    /// <summary>What metrics call all of them together: <see cref="CircuitBreakerOptions.Name"/>.</summary>
    public string? Name { get; private init; }

    /// <summary>Creates the circuit breakers.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="key">
    /// Returns the key of an item. Called for each attempt, from several threads at once. An exception from it, or from the comparer, is the item's failure.
    /// </param>
    /// <param name="options">The options of each breaker; <see langword="null"/> for the defaults.</param>
    /// <param name="comparer">Compares keys, from several threads at once; <see langword="null"/> for the default comparer.</param>
    /// <returns>The instances, made when their keys first occur.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="key"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range.</exception>
    public static CircuitBreakers<TKey> ByKey<TItem, TKey>(
        Func<TItem, TKey> key, CircuitBreakerOptions? options = null, IEqualityComparer<TKey>? comparer = null)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(key);
        options ??= new CircuitBreakerOptions();
        options.Validate();
        object group = new();
        CircuitBreakersByKey<TItem, TKey> breakers = new(key, () => new CircuitBreaker(options, group), comparer) { Name = options.Name, Group = group };
        PolicyRegistry.Add(breakers);
        return breakers;
    }

    /// <summary>Counts the breakers by state.</summary>
    internal abstract void CountStates(int[] byState);

    void IMeteredPolicy.AddTo(PolicyCounts counts)
    {
        int[] states = new int[3];
        CountStates(states);
        counts.AddCircuits(
            states[(int)CircuitBreakerState.Closed], states[(int)CircuitBreakerState.Open], states[(int)CircuitBreakerState.HalfOpen]);
    }

    /// <summary>What its breakers are recognised by.</summary>
    internal object? Group { get; private init; }
}

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

/// <summary>The instances of <see cref="CircuitBreakers"/>, with the types of item and key.</summary>
internal sealed class CircuitBreakersByKey<TItem, TKey> : CircuitBreakers<TKey>, IKeyed<TItem, CircuitBreaker>
    where TKey : notnull
{
    private readonly Func<TItem, TKey> _key;
    private readonly KeyTable<TKey, CircuitBreaker> _table;

    public CircuitBreakersByKey(Func<TItem, TKey> key, Func<CircuitBreaker> make, IEqualityComparer<TKey>? comparer)
    {
        _key = key;
        _table = new KeyTable<TKey, CircuitBreaker>(make, static breaker => breaker.IsIdle, comparer);
    }

    public override int Count => _table.Count;

    public override CircuitBreaker Get(TKey key) => _table.Get(key);

    public override IReadOnlyList<KeyValuePair<TKey, CircuitBreaker>> GetAll() => _table.Entries();

    internal override Type ItemType => typeof(TItem);

    internal override void CountStates(int[] byState)
    {
        foreach (CircuitBreaker breaker in _table.Policies())
        {
            byState[(int)breaker.State]++;
        }
    }

    public KeyUse<CircuitBreaker> Use(TItem item) => _table.Use(_key(item));
}
