namespace Weir.PostgreSql;

/// <summary>Rows that were taken in one statement, under one lease.</summary>
/// <param name="items">The items.</param>
/// <param name="position">The number of the take.</param>
/// <param name="lease">The lease that they are held under.</param>
/// <param name="rows">The rows of the items, in the same order.</param>
internal sealed class PostgresBatch<T>(IReadOnlyList<WorkItem<T>> items, string position, long lease, List<TakenRow> rows) : WorkBatch<T>(items, position)
{
    private Dictionary<WorkId, Queue<int>>? _places;

    public long Lease => lease;

    /// <summary>The rows; those that wait for another attempt are taken out.</summary>
    public IEnumerable<TakenRow> Rows => rows.Where(static r => !r.IsSettled);

    /// <summary>The rows of some of the items, each once.</summary>
    public List<TakenRow> RowsOf(IReadOnlyList<WorkItem<T>> some)
    {
        if (_places is null)
        {
            _places = [];
            for (int i = 0; i < Items.Count; i++)
            {
                if (!_places.TryGetValue(Items[i].Id, out Queue<int>? places))
                {
                    _places.Add(Items[i].Id, places = new Queue<int>());
                }

                places.Enqueue(i);
            }
        }

        List<TakenRow> found = new(some.Count);
        foreach (WorkItem<T> item in some)
        {
            // Two rows may have the same identity: they take turns.
            if (!_places.TryGetValue(item.Id, out Queue<int>? places))
            {
                throw new ArgumentException($"Item {item.Id} is not part of the batch.", nameof(some));
            }

            int place = places.Dequeue();
            places.Enqueue(place);
            found.Add(rows[place]);
        }

        return found;
    }
}
