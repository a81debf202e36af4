using Weir.Core.Sources;
using Weir.Operators;

namespace Weir.Runtimes;

/// <summary>Reads the items of a call: a list in place, by index, whatever kind of list it is, and any other sequence while the call goes on.</summary>
internal static class RuntimeSource
{
    // Of a sequence, which may be endless: as far as a stream reads ahead. Of items that are in memory, any number may wait for their key.
    private const int MostWaiting = 1024;

    /// <summary>The keys of the items, which are then those alone; null if they have none.</summary>
    /// <exception cref="ArgumentException">The keys are those of batches.</exception>
    public static ItemKeys<T>? TakeKeys<T>(ref IEnumerable<T> items)
    {
        if (items is not PartitionedItems<T> keyed)
        {
            return null;
        }

        items = keyed.Items;
        return keyed.Keys.Items;
    }

    /// <param name="items">The items.</param>
    /// <param name="keys">Their keys; null for none.</param>
    /// <param name="count">How many there are; negative if that is not known before the end.</param>
    public static Source<T> Of<T>(IEnumerable<T> items, ItemKeys<T>? keys, out int count)
    {
        Source<T> source = Of(items, out count);
        return keys is null ? source : keys.Lanes(source, count < 0 ? MostWaiting : int.MaxValue);
    }

    private static Source<T> Of<T>(IEnumerable<T> items, out int count)
    {
        if (items is IReadOnlyList<T> list)
        {
            count = list.Count;
            return count == 0 ? SourceOf.Enumerable(items) : Of(list, count);
        }

        Source<T> source = SourceOf.Enumerable(items);
        count = source.KnownCount;
        return source;
    }

    private static Source<T> Of<T>(IReadOnlyList<T> items, int count)
    {
        Source<T> source = SourceOf.Enumerable(items);
        return source.KnownCount == count ? source : new LazySource<T>(Indexed(items, count));
    }

    // For a list that does not enumerate as many items as it counts, the indexer decides.
    private static IEnumerable<T> Indexed<T>(IReadOnlyList<T> items, int count)
    {
        for (int i = 0; i < count; i++)
        {
            yield return items[i];
        }
    }
}
