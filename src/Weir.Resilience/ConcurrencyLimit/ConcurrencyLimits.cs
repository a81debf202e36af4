using System.Diagnostics.CodeAnalysis;
using Weir.Observability;

namespace Weir.Resilience;

/// <summary>A concurrency limit for each key, such as each server that a run calls.</summary>
/// <remarks>
/// <para>
/// Create it with <c>ByKey</c>, and pass the same instance to everything that shares it. All members are thread-safe.
/// </para>
/// <para>
/// Its memory is bounded: when there are many keys, those that are idle are forgotten, and start anew if they come back. A limit is idle when nobody holds a
/// permit or waits for one.
/// </para>
/// </remarks>
public abstract class ConcurrencyLimits : IMeteredPolicy, IConcurrencyLimitSetting, ICallShare
{
    private protected ConcurrencyLimits()
    {
    }

    /// <summary>How many keys are known.</summary>
    public abstract int Count { get; }

    /// <summary>What metrics call all of them together.</summary>
    public string? Name { get; private init; }

    /// <summary>The type of the items that have the keys, for messages.</summary>
    internal abstract Type ItemType { get; }

    /// <summary>The priority of the calls that use these.</summary>
    internal virtual CallPriority Priority => CallPriority.Normal;

    /// <summary>In what time each of the calls that use these has to end; null for any.</summary>
    internal virtual TimeSpan? Within => null;

    CallPriority ICallShare.Priority => Priority;

    TimeSpan? ICallShare.Within => Within;

    /// <summary>Creates the concurrency limits.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="key">
    /// Returns the key of an item. Called for each attempt, from several threads at once. An exception from it, or from the comparer, is the item's failure.
    /// </param>
    /// <param name="limit">How many calls of one key may be in flight at once. At least 1.</param>
    /// <param name="maxWaiting">
    /// How many calls of one key may wait for a permit at once. 0 or more; <see langword="null"/> for the default of
    /// <see cref="SharedConcurrencyLimit.MaxWaiting"/>.
    /// </param>
    /// <param name="comparer">Compares keys, from several threads at once; <see langword="null"/> for the default comparer.</param>
    /// <param name="name">What metrics call all of them together, as <see cref="Name"/>.</param>
    /// <returns>The instances, made when their keys first occur.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="key"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="limit"/> is less than 1, or <paramref name="maxWaiting"/> is negative.</exception>
    public static ConcurrencyLimits<TKey> ByKey<TItem, TKey>(
        Func<TItem, TKey> key, int limit, int? maxWaiting = null, IEqualityComparer<TKey>? comparer = null, string? name = null)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(key);
        Require.AtLeast(1, limit, nameof(limit));
        Require.AtLeast(0, maxWaiting ?? 0, nameof(maxWaiting));
        ConcurrencyLimitsByKey<TItem, TKey> limits = new(key, () => new SharedConcurrencyLimit(limit, maxWaiting, name), comparer) { Name = name };
        PolicyRegistry.Add(limits);
        return limits;
    }

    /// <summary>Creates a concurrency limit for each key that finds its number itself.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="key">
    /// Returns the key of an item. Called for each attempt, from several threads at once. An exception from it, or from the comparer, is the item's failure.
    /// </param>
    /// <param name="options">The options of each <see cref="AdaptiveLimit"/>. Its name is that of all of them together.</param>
    /// <param name="comparer">Compares keys, from several threads at once; <see langword="null"/> for the default comparer.</param>
    /// <returns>The instances, made when their keys first occur. A key that is forgotten starts anew, as a limit that has measured nothing.</returns>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentOutOfRangeException">A value is out of range. The exception names the property.</exception>
    public static ConcurrencyLimits<TKey> ByKey<TItem, TKey>(
        Func<TItem, TKey> key, AdaptiveLimitOptions options, IEqualityComparer<TKey>? comparer = null)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(key);
        ArgumentNullException.ThrowIfNull(options);
        options.Validate();
        ConcurrencyLimitsByKey<TItem, TKey> limits = new(key, () => new AdaptiveLimit(options, isCounted: false), comparer, isAdaptive: true) { Name = options.Name };
        PolicyRegistry.Add(limits);
        return limits;
    }

    /// <summary>The same limits for calls of another priority, or for calls that have a deadline: as <see cref="AdaptiveLimit.With"/>.</summary>
    /// <param name="priority">Which calls of a key get a permit first, and which are refused first when its queue is full.</param>
    /// <param name="within">
    /// In what time each call has to end, from when it comes: one that would end later, because of the calls that wait, is refused at once.
    /// <see langword="null"/> for any time.
    /// </param>
    /// <returns>What a chain or a run takes as its <c>ConcurrencyLimit</c>. Make it once and keep it.</returns>
    /// <exception cref="InvalidOperationException">The limits have a fixed number: only limits that find their number know how long calls take.</exception>
    /// <exception cref="ArgumentOutOfRangeException">
    /// <paramref name="priority"/> is not defined, or <paramref name="within"/> is not more than zero or longer than 49 days.
    /// </exception>
    public ConcurrencyLimits With(CallPriority priority = CallPriority.Normal, TimeSpan? within = null)
    {
        AdaptiveLimit.ValidateShare(priority, within);
        return IsAdaptive
            ? Share(priority, within)
            : throw new InvalidOperationException("These limits have a fixed number: make them with AdaptiveLimitOptions to give calls a priority or a deadline.");
    }

    private protected virtual bool IsAdaptive => false;

    private protected abstract ConcurrencyLimits Share(CallPriority priority, TimeSpan? within);

    void IMeteredPolicy.AddTo(PolicyCounts counts) => AddTo(counts);

    LiveEntry IMeteredPolicy.Show()
    {
        PolicyCounts counts = new();
        AddTo(counts);
        return counts.Permits(this, nameof(ConcurrencyLimits));
    }

    internal abstract void AddTo(PolicyCounts counts);
}

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

/// <summary>The instances of <see cref="ConcurrencyLimits"/>, with the types of item and key.</summary>
internal sealed class ConcurrencyLimitsByKey<TItem, TKey> : ConcurrencyLimits<TKey>, IKeyed<TItem, SharedConcurrencyLimit>
    where TKey : notnull
{
    private readonly Func<TItem, TKey> _key;
    private readonly KeyTable<TKey, SharedConcurrencyLimit> _table;

    public ConcurrencyLimitsByKey(Func<TItem, TKey> key, Func<SharedConcurrencyLimit> make, IEqualityComparer<TKey>? comparer, bool isAdaptive = false)
    {
        _key = key;
        IsAdaptive = isAdaptive;
        _table = new KeyTable<TKey, SharedConcurrencyLimit>(make, static limit => limit.IsIdle, comparer);
    }

    public override int Count => _table.Count;

    public override SharedConcurrencyLimit Get(TKey key) => _table.Get(key);

    public override IReadOnlyList<KeyValuePair<TKey, SharedConcurrencyLimit>> GetAll() => _table.Entries();

    internal override Type ItemType => typeof(TItem);

    internal override void AddTo(PolicyCounts counts)
    {
        counts.AddPermits(0, 0, 0);
        _table.Policies().ForEach(limit => limit.AddTo(counts));
    }

    public KeyUse<SharedConcurrencyLimit> Use(TItem item) => _table.Use(_key(item));

    private protected override bool IsAdaptive { get; }

    private protected override ConcurrencyLimits Share(CallPriority priority, TimeSpan? within) => new LimitSharesByKey<TItem>(this, this, priority, within);
}

/// <summary>The limits of the keys for calls of one priority, or with one deadline.</summary>
internal sealed class LimitSharesByKey<TItem>(
    ConcurrencyLimits limits, IKeyed<TItem, SharedConcurrencyLimit> keyed, CallPriority priority, TimeSpan? within)
    : ConcurrencyLimits, IKeyed<TItem, SharedConcurrencyLimit>
{
    public override int Count => limits.Count;

    internal override CallPriority Priority => priority;

    internal override TimeSpan? Within => within;

    internal override Type ItemType => typeof(TItem);

    private protected override bool IsAdaptive => true;

    public KeyUse<SharedConcurrencyLimit> Use(TItem item) => keyed.Use(item);

    internal override void AddTo(PolicyCounts counts) => limits.AddTo(counts);

    private protected override ConcurrencyLimits Share(CallPriority to, TimeSpan? time) => new LimitSharesByKey<TItem>(limits, keyed, to, time);
}
