using System.Threading.Channels;
using Weir.Operators;

namespace Weir;

/// <summary>
/// Items with keys, of an asynchronous sequence, a channel or a <see cref="WorkQueue{T}"/>: at most a given number of items of one key run at a time. For an
/// operator, as any other sequence.
/// </summary>
/// <typeparam name="T">The type of the items.</typeparam>
/// <remarks>Only operators can read it, because anything else would lose the keys: an enumerator cannot be had. The object itself is immutable.</remarks>
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
