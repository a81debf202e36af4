namespace Weir.Cli.Commands.Load.Arms;

/// <summary>
/// The items 0, 1, 2 and so on in batches. A batch is created on demand, in memory that the next batch reuses, so that any number of items needs the memory of
/// one batch.
/// </summary>
internal sealed class ItemBatches(int count, int batchSize)
{
    private readonly Filled _full = new(Math.Min(batchSize, count));
    private readonly Filled _last = new(count % batchSize);

    /// <summary>How many items there are.</summary>
    public int Count => count;

    /// <summary>How many items a batch has; the last one may have fewer.</summary>
    public int BatchSize => batchSize;

    /// <summary>The batch that starts with an item. It is valid until the next one is asked for.</summary>
    public int[] From(int first) => count - first >= batchSize ? _full.From(first) : _last.From(first);

    private sealed class Filled(int size)
    {
        private readonly int[] _items = new int[size];
        private int _first = -1;

        public int[] From(int first)
        {
            // A single batch is filled once and serves every pass.
            if (_first != first)
            {
                for (int i = 0; i < _items.Length; i++)
                {
                    _items[i] = first + i;
                }

                _first = first;
            }

            return _items;
        }
    }
}
