using System.Collections;
using Weir.Core.Sources;

namespace Weir.Runtimes;

/// <summary>Items with their places in the input, for who has to know them in the call.</summary>
internal sealed class NumberedItems<TItem>(IEnumerable<TItem> items) : IEnumerable<NumberedItem<TItem>>
{
    /// <summary>The items with their places: a list or a queue of work if they are one.</summary>
    public static IEnumerable<NumberedItem<TItem>> Of(IEnumerable<TItem> items) =>
        items switch
        {
            IReadOnlyList<TItem> list => new InList(list),
            WorkQueueItems<TItem> queue => new InQueue(queue),
            _ => new NumberedItems<TItem>(items),
        };

    public IEnumerator<NumberedItem<TItem>> GetEnumerator()
    {
        long index = 0;
        foreach (TItem item in items)
        {
            yield return new(item, index++);
        }
    }

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    private sealed class InList(IReadOnlyList<TItem> items) : IReadOnlyList<NumberedItem<TItem>>
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

    private sealed class InQueue(WorkQueueItems<TItem> items) : IReadAsSource<NumberedItem<TItem>>
    {
        public Source<NumberedItem<TItem>> MakeSource() => new QueueSource(items.Queue);

        public IEnumerator<NumberedItem<TItem>> GetEnumerator() => new NumberedItems<TItem>(items).GetEnumerator();

        IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
    }

    private sealed class QueueSource(WorkQueue<TItem> queue) : WorkQueueSource<TItem, NumberedItem<TItem>>(queue)
    {
        protected override bool TryTake(out NumberedItem<TItem> item)
        {
            bool taken = Queue.TryTake(out TItem? next);
            item = taken ? new(next!, NextIndex) : default;
            return taken;
        }

        protected override IReadOnlyCollection<TItem> ItemsOf(NumberedItem<TItem> item) => [item.Item];
    }
}
