using System.Collections;
using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Operators;

namespace Weir;

/// <content>Keys for items and batches.</content>
public static partial class ParallelOperators
{
    /// <summary>
    /// Gives each item of <paramref name="source"/> a key. In the operator or runtime that gets the result, items with the same key run one at a time, in
    /// source order; items with other keys can overtake them.
    /// </summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="source">The items.</param>
    /// <param name="keySelector">
    /// Returns the key of an item. It is called once per item and run, by one worker at a time. An exception from it, or a null key, is treated as a failure of
    /// the source.
    /// </param>
    /// <param name="maxPerKey">How many items of one key may run at a time. At least 1. Above 1, their order is not guaranteed.</param>
    /// <returns>The items with their keys. Nothing is read yet.</returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="source"/> or <paramref name="keySelector"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentException"><paramref name="source"/> has keys already. Thrown at the call.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="maxPerKey"/> is less than 1. Thrown at the call.</exception>
    /// <remarks>
    /// Call this method last, before the operator: a method of LINQ would lose the keys, so the result cannot be enumerated by anything else.
    /// </remarks>
    public static PartitionedItems<TSource> PartitionBy<TSource, TKey>(
        this IEnumerable<TSource> source, Func<TSource, TKey> keySelector, int maxPerKey = 1)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(source);
        return new PartitionedItems<TSource>(source, KeysOf(keySelector, maxPerKey));
    }

    /// <inheritdoc cref="PartitionBy{TSource, TKey}(IEnumerable{TSource}, Func{TSource, TKey}, int)"/>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static PartitionedAsyncItems<TSource> PartitionBy<TSource, TKey>(
        this IAsyncEnumerable<TSource> source, Func<TSource, TKey> keySelector, int maxPerKey = 1)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(source);
        return new PartitionedAsyncItems<TSource>(source, KeysOf(keySelector, maxPerKey));
    }

    /// <inheritdoc cref="PartitionBy{TSource, TKey}(IEnumerable{TSource}, Func{TSource, TKey}, int)"/>
    public static PartitionedAsyncItems<TSource> PartitionBy<TSource, TKey>(
        this ChannelReader<TSource> source, Func<TSource, TKey> keySelector, int maxPerKey = 1)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(source);
        return new PartitionedAsyncItems<TSource>(source, KeysOf(keySelector, maxPerKey));
    }

    /// <summary>
    /// Gives a key to each batch that an operator makes of <paramref name="source"/>. Batches with the same key run one at a time, in source order; batches
    /// with other keys can overtake them.
    /// </summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="source">The items.</param>
    /// <param name="keySelector">
    /// Returns the key of a batch. It is called once per batch and run, by one worker at a time. An exception from it, or a null key, is treated as a failure
    /// of the source.
    /// </param>
    /// <param name="maxPerKey">How many batches of one key may run at a time. At least 1. Above 1, their order is not guaranteed.</param>
    /// <returns>The items, for an operator that puts them into batches. Nothing is read yet.</returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="source"/> or <paramref name="keySelector"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentException"><paramref name="source"/> has keys already. Thrown at the call.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="maxPerKey"/> is less than 1. Thrown at the call.</exception>
    /// <remarks>
    /// Batches are made as without keys: the next items, whatever they are. Call this method last, before the operator.
    /// </remarks>
    public static PartitionedItems<TSource> PartitionBatchesBy<TSource, TKey>(
        this IEnumerable<TSource> source, Func<IReadOnlyList<TSource>, TKey> keySelector, int maxPerKey = 1)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(source);
        return new PartitionedItems<TSource>(source, BatchKeysOf(keySelector, maxPerKey));
    }

    /// <inheritdoc cref="PartitionBatchesBy{TSource, TKey}(IEnumerable{TSource}, Func{IReadOnlyList{TSource}, TKey}, int)"/>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static PartitionedAsyncItems<TSource> PartitionBatchesBy<TSource, TKey>(
        this IAsyncEnumerable<TSource> source, Func<IReadOnlyList<TSource>, TKey> keySelector, int maxPerKey = 1)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(source);
        return new PartitionedAsyncItems<TSource>(source, BatchKeysOf(keySelector, maxPerKey));
    }

    /// <inheritdoc cref="PartitionBatchesBy{TSource, TKey}(IEnumerable{TSource}, Func{IReadOnlyList{TSource}, TKey}, int)"/>
    public static PartitionedAsyncItems<TSource> PartitionBatchesBy<TSource, TKey>(
        this ChannelReader<TSource> source, Func<IReadOnlyList<TSource>, TKey> keySelector, int maxPerKey = 1)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(source);
        return new PartitionedAsyncItems<TSource>(source, BatchKeysOf(keySelector, maxPerKey));
    }

    private static PartitionKeys<TSource> KeysOf<TSource, TKey>(Func<TSource, TKey> keySelector, int maxPerKey)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(keySelector);
        Require.AtLeastOne(maxPerKey, nameof(maxPerKey));
        return new(new ItemKeys<TSource, TKey>(keySelector, maxPerKey), null);
    }

    private static PartitionKeys<TSource> BatchKeysOf<TSource, TKey>(Func<IReadOnlyList<TSource>, TKey> keySelector, int maxPerKey)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(keySelector);
        Require.AtLeastOne(maxPerKey, nameof(maxPerKey));
        return new(null, new ItemKeys<IReadOnlyList<TSource>, TKey>(keySelector, maxPerKey));
    }
}
