using System.Collections;

namespace Weir.Runtimes;

/// <summary>Items with their places in the input, for who has to know them in the call.</summary>
internal sealed class NumberedItems<TItem>(IEnumerable<TItem> items) : INumberedItems, IEnumerable<NumberedItem<TItem>>
{
    /// <summary>The items with their places: a list if they are one.</summary>
    public static IEnumerable<NumberedItem<TItem>> Of(IEnumerable<TItem> items) =>
        items is IReadOnlyList<TItem> list ? new InList(list) : new NumberedItems<TItem>(items);

    public IEnumerator<NumberedItem<TItem>> GetEnumerator()
    {
        long index = 0;
        foreach (TItem item in items)
        {
            yield return new(item, index++);
        }
    }

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    private sealed class InList(IReadOnlyList<TItem> items) : INumberedItems, IReadOnlyList<NumberedItem<TItem>>
    {
        public int Count => items.Count;

        public NumberedItem<TItem> this[int index] => new(items[index], index);

        // As everywhere in the runtimes, the indexer of a list decides.
        public IEnumerator<NumberedItem<TItem>> GetEnumerator()
        {
            for (int index = 0; index < Count; index++)
            {
                yield return this[index];
            }
        }

        IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
    }
}
