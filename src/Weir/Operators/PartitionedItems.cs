using System.Collections;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Observability;
using Weir.Operators;
using Weir.Policies;
using Weir.Resilience;

namespace Weir;

/// <summary>Items with keys: at most a given number of items of one key run at a time. For an operator or a runtime, as any other sequence.</summary>
/// <typeparam name="T">The type of the items.</typeparam>
/// <remarks>
/// Only operators and runtimes can read it, because anything else would lose the keys: an enumerator cannot be had. The object itself is immutable.
/// </remarks>
public sealed class PartitionedItems<T> : IEnumerable<T>
{
    internal PartitionedItems(IEnumerable<T> items, PartitionKeys<T> keys)
    {
        Items = items is PartitionedItems<T> ? throw new ArgumentException("The items have keys already.") : items;
        Keys = keys;
    }

    internal IEnumerable<T> Items { get; }

    internal PartitionKeys<T> Keys { get; }

    IEnumerator<T> IEnumerable<T>.GetEnumerator() => throw PartitionKeys<T>.ReadByOthers();

    IEnumerator IEnumerable.GetEnumerator() => throw PartitionKeys<T>.ReadByOthers();
}

/// <summary>
/// Items with keys, of an asynchronous sequence, a channel or a <see cref="WorkQueue{T}"/>: at most a given number of items of one key run at a time. For an
/// operator or a runtime, as any other sequence.
/// </summary>
/// <typeparam name="T">The type of the items.</typeparam>
/// <remarks>
/// Only operators and runtimes can read it, because anything else would lose the keys: an enumerator cannot be had. The object itself is immutable.
/// </remarks>
public sealed class PartitionedAsyncItems<T> : IAsyncEnumerable<T>
{
    internal PartitionedAsyncItems(IAsyncEnumerable<T> items, PartitionKeys<T> keys)
    {
        Items = items is PartitionedAsyncItems<T> ? throw new ArgumentException("The items have keys already.") : items;
        Keys = keys;
    }

    internal PartitionedAsyncItems(ChannelReader<T> channel, PartitionKeys<T> keys)
    {
        Channel = channel;
        Keys = keys;
    }

    /// <summary>Null for a channel.</summary>
    internal IAsyncEnumerable<T>? Items { get; }

    internal ChannelReader<T>? Channel { get; }

    internal PartitionKeys<T> Keys { get; }

    IAsyncEnumerator<T> IAsyncEnumerable<T>.GetAsyncEnumerator(CancellationToken cancellationToken) => throw PartitionKeys<T>.ReadByOthers();
}

/// <summary>The keys of items, whatever their type.</summary>
internal abstract class ItemKeys<T>
{
    /// <summary>Puts a source's items into lanes by key.</summary>
    /// <param name="source">The items.</param>
    /// <param name="mostWaiting">How many may wait for their lane.</param>
    public abstract Source<T> Lanes(Source<T> source, int mostWaiting);
}

/// <summary>The keys of items, by a function of the user's, and how many of a key may be out at once.</summary>
internal sealed class ItemKeys<T, TKey>(Func<T, TKey> keyOf, int perLane) : ItemKeys<T>
    where TKey : notnull
{
    public override Source<T> Lanes(Source<T> source, int mostWaiting) => new KeyedSource<T, TKey>(source, keyOf, null, perLane, mostWaiting);
}

/// <summary>Whose keys a partitioned sequence has: those of its items, or those of the batches that they are put into.</summary>
internal sealed class PartitionKeys<T>(ItemKeys<T>? items, ItemKeys<IReadOnlyList<T>>? batches)
{
    /// <exception cref="ArgumentException">The keys are those of batches.</exception>
    public ItemKeys<T> Items => items ?? throw new ArgumentException(
        "PartitionBatchesBy gives keys to batches, and this call has none: use PartitionBy, which gives them to items.");

    /// <exception cref="ArgumentException">The keys are those of items.</exception>
    public ItemKeys<IReadOnlyList<T>> Batches => batches ?? throw new ArgumentException(
        "PartitionBy gives keys to items, and this call is for batches: use PartitionBatchesBy, which gives a key to each batch.");

    public static InvalidOperationException ReadByOthers() => new(
        "Items with keys are for an operator or a runtime, as items of their own type: anything else that reads them, such as a method of LINQ, would lose "
        + "the keys. Call PartitionBy last.");
}
