using System.Diagnostics.CodeAnalysis;

namespace Weir.Resilience;

/// <summary>A rate limit for each key, such as each customer or server.</summary>
/// <remarks>
/// <para>
/// Create it with <see cref="ByKey{TItem, TKey}"/>, and pass the same instance to everything that shares it. All members are thread-safe.
/// </para>
/// <para>
/// Its memory is bounded: when there are many keys, those that are idle are forgotten, and start anew if they come back. A bucket is idle when it is full
/// again, so no rate is exceeded.
/// </para>
/// </remarks>
public abstract class RateLimits : IMeteredPolicy
{
    private protected RateLimits()
    {
    }

    /// <summary>How many keys are known; 0 if they are made with <see cref="Of"/>.</summary>
    public abstract int Count { get; }

    /// <summary>What metrics call all of them together: <see cref="RateLimitOptions.Name"/>.</summary>
    public string? Name { get; private init; }

    /// <summary>The type of the items that have the keys, for messages.</summary>
    internal abstract Type ItemType { get; }

    void IMeteredPolicy.AddTo(PolicyCounts counts) => counts.AddRate(CountWaiting());

    /// <summary>How many calls wait.</summary>
    internal abstract int CountWaiting();

    /// <summary>Uses a limiter of another kind, which knows by itself which items share a limit.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <param name="enter">
    /// Waits until the call of an item may be made, as <see cref="IRateLimit.EnterAsync"/> does. Called for each attempt, from several threads at once.
    /// </param>
    /// <returns>The rate limits. An item of a run waits for them with its worker, unlike for those of <see cref="ByKey"/>.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="enter"/> is <see langword="null"/>.</exception>
    public static RateLimits Of<TItem>(Func<TItem, CancellationToken, ValueTask<IDisposable?>> enter)
    {
        ArgumentNullException.ThrowIfNull(enter);
        return new RateLimitsOfItems<TItem>(enter);
    }

    /// <summary>Creates the rate limits.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="key">
    /// Returns the key of an item. Called for each attempt, from several threads at once. An exception from it, or from the comparer, is the item's failure.
    /// </param>
    /// <param name="options">The options of each bucket; <see langword="null"/> for the defaults.</param>
    /// <param name="comparer">Compares keys, from several threads at once; <see langword="null"/> for the default comparer.</param>
    /// <returns>The instances, made when their keys first occur.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="key"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range.</exception>
    public static RateLimits<TKey> ByKey<TItem, TKey>(
        Func<TItem, TKey> key, RateLimitOptions? options = null, IEqualityComparer<TKey>? comparer = null)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(key);
        options ??= new RateLimitOptions();
        options.Validate();
        RateLimitsByKey<TItem, TKey> limits = new(key, () => new TokenBucket(options, isShared: false), comparer) { Name = options.Name };
        PolicyRegistry.Add(limits);
        return limits;
    }
}

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

/// <summary>A limiter of another kind, which has keys of its own.</summary>
internal sealed class RateLimitsOfItems<TItem>(Func<TItem, CancellationToken, ValueTask<IDisposable?>> enter) : RateLimits, IItemRateLimits<TItem>
{
    public override int Count => 0;

    internal override Type ItemType => typeof(TItem);

    internal override int CountWaiting() => 0;

    public IRateLimit Of(TItem item) => new ItemRateLimit<TItem>(enter, item);
}

/// <summary>Rate limits that are no <see cref="TokenBucket"/>, for each item one.</summary>
internal interface IItemRateLimits<in TItem>
{
    IRateLimit Of(TItem item);
}

/// <summary>The limit of one item, of a limiter that knows by itself which items share one. Two of the same item are equal.</summary>
internal sealed record ItemRateLimit<TItem>(Func<TItem, CancellationToken, ValueTask<IDisposable?>> Enter, TItem Item) : IRateLimit
{
    public ValueTask<IDisposable?> EnterAsync(CancellationToken cancellationToken) => Enter(Item, cancellationToken);
}
