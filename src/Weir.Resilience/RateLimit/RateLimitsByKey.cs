namespace Weir.Resilience;

/// <summary>The instances of <see cref="RateLimits"/>, with the types of item and key.</summary>
internal sealed class RateLimitsByKey<TItem, TKey> : RateLimits<TKey>, IKeyed<TItem, TokenBucket>
    where TKey : notnull
{
    private readonly Func<TItem, TKey> _key;
    private readonly KeyTable<TKey, TokenBucket> _table;

    public RateLimitsByKey(Func<TItem, TKey> key, Func<TokenBucket> make, IEqualityComparer<TKey>? comparer)
    {
        _key = key;
        _table = new KeyTable<TKey, TokenBucket>(make, static bucket => bucket.IsFull, comparer);
    }

    public override int Count => _table.Count;

    public override TokenBucket Get(TKey key) => _table.Get(key);

    public override IReadOnlyList<KeyValuePair<TKey, TokenBucket>> GetAll() => _table.Entries();

    internal override Type ItemType => typeof(TItem);

    internal override int CountWaiting() => _table.Policies().Sum(static bucket => bucket.Waiting);

    public KeyUse<TokenBucket> Use(TItem item) => _table.Use(_key(item));
}
