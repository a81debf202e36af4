using System.Collections;
using Weir.Operators;

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
