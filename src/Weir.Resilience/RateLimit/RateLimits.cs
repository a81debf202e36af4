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
