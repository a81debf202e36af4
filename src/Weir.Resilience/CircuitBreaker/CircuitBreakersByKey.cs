namespace Weir.Resilience;

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
