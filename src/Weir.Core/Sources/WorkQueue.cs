using Weir.Core.Sources;

namespace Weir;

/// <summary>Makes queues of work in which no two items have the same key.</summary>
public static class WorkQueue
{
    /// <summary>The usual bound of a queue, and of the keys it remembers.</summary>
    public const int DefaultCapacity = 1_000_000;

    /// <summary>A queue that takes one item of each key, ever: the first one that is added.</summary>
    /// <typeparam name="T">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="keySelector">
    /// The key of an item, such as a page's address. It runs for each added item, under no lock, from several threads at once.
    /// </param>
    /// <param name="capacity">How many items may be queued. At least 1.</param>
    /// <param name="maxKeys">How many keys the queue remembers. At least 1. A further key is refused like an item that is too many.</param>
    /// <param name="comparer">Compares keys, under no lock, from several threads at once; <see langword="null"/> for the default comparer.</param>
    /// <param name="order">Which item is next.</param>
    /// <returns>The queue, empty.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="keySelector"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentOutOfRangeException">A number is less than 1, or <paramref name="order"/> is not defined.</exception>
    public static WorkQueue<T> DistinctBy<T, TKey>(
        Func<T, TKey> keySelector,
        int capacity = DefaultCapacity,
        int maxKeys = DefaultCapacity,
        IEqualityComparer<TKey>? comparer = null,
        WorkQueueOrder order = WorkQueueOrder.OldestFirst)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(keySelector);
        if (maxKeys < 1)
        {
            throw new ArgumentOutOfRangeException(nameof(maxKeys), maxKeys, $"{nameof(maxKeys)} must be at least 1.");
        }

        SeenKeys<TKey> seen = new(maxKeys, comparer ?? EqualityComparer<TKey>.Default);
        return new WorkQueue<T>(capacity, order, item => seen.TryAdd(keySelector(item)));
    }
}
