namespace Weir.PostgreSql;

/// <summary>Rows that were taken in one statement, under one lease.</summary>
/// <param name="items">The items.</param>
/// <param name="position">The number of the take.</param>
/// <param name="lease">The lease that they are held under.</param>
/// <param name="rows">The rows of the items, in the same order.</param>
/// <param name="takenAt">When they were taken, as the clock of the source counts.</param>
internal sealed class PostgresBatch<T>(IReadOnlyList<WorkItem<T>> items, string position, long lease, List<TakenRow> rows, long takenAt)
    : WorkBatch<T>(items, position)
{
    private readonly Lock _lock = new();
    private Dictionary<WorkId, Queue<TakenRow>>? _byId;

    public long Lease => lease;

    public long TakenAt => takenAt;

    /// <summary>The rows that are left of it.</summary>
    public IEnumerable<TakenRow> Rows => rows.Where(static r => !r.IsSettled);

    /// <summary>The rows of the items at some places, as far as they are left.</summary>
    public List<TakenRow> RowsAt(IReadOnlyList<int> places) => [.. places.Select(place => rows[place]).Where(static r => !r.IsSettled)];

    /// <summary>The rows of some of the items, each once.</summary>
    public List<TakenRow> RowsOf(IReadOnlyList<WorkItem<T>> some)
    {
        // Calls for items of one batch may come at the same time.
        lock (_lock)
        {
            _byId ??= ById();
            return [.. some.Select(NextOf)];
        }
    }

    private Dictionary<WorkId, Queue<TakenRow>> ById()
    {
        Dictionary<WorkId, Queue<TakenRow>> byId = [];
        for (int i = 0; i < Items.Count; i++)
        {
            if (!byId.TryGetValue(Items[i].Id, out Queue<TakenRow>? its))
            {
                byId.Add(Items[i].Id, its = new Queue<TakenRow>());
            }

            its.Enqueue(rows[i]);
        }

        return byId;
    }

    // Several rows may have the same identity: they take turns, and those that are left come before those that are not.
    private TakenRow NextOf(WorkItem<T> item)
    {
        if (!_byId!.TryGetValue(item.Id, out Queue<TakenRow>? its))
        {
            throw new ArgumentException($"Item {item.Id} is not part of the batch.", nameof(item));
        }

        TakenRow row = its.Dequeue();
        its.Enqueue(row);
        for (int others = its.Count - 1; row.IsSettled && others > 0; others--)
        {
            row = its.Dequeue();
            its.Enqueue(row);
        }

        return row;
    }
}
