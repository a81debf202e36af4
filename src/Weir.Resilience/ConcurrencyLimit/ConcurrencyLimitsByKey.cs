namespace Weir.Resilience;

/// <summary>The instances of <see cref="ConcurrencyLimits"/>, with the types of item and key.</summary>
internal sealed class ConcurrencyLimitsByKey<TItem, TKey> : ConcurrencyLimits<TKey>, IKeyed<TItem, SharedConcurrencyLimit>
    where TKey : notnull
{
    private readonly Func<TItem, TKey> _key;
    private readonly KeyTable<TKey, SharedConcurrencyLimit> _table;

    public ConcurrencyLimitsByKey(Func<TItem, TKey> key, Func<SharedConcurrencyLimit> make, IEqualityComparer<TKey>? comparer)
    {
        _key = key;
        _table = new KeyTable<TKey, SharedConcurrencyLimit>(make, static limit => limit.IsIdle, comparer);
    }

    public override int Count => _table.Count;

    public override SharedConcurrencyLimit Get(TKey key) => _table.Get(key);

    public override IReadOnlyList<KeyValuePair<TKey, SharedConcurrencyLimit>> GetAll() => _table.Entries();

    internal override Type ItemType => typeof(TItem);

    internal override void AddTo(PolicyCounts counts)
    {
        counts.AddPlaces(0, 0, 0);
        _table.Policies().ForEach(limit => limit.AddTo(counts));
    }

    public KeyUse<SharedConcurrencyLimit> Use(TItem item) => _table.Use(_key(item));
}
