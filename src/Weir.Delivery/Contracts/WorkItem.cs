namespace Weir.Delivery;

/// <summary>Creates work items from values.</summary>
public static class WorkItem
{
    /// <summary>Creates an item with a new identity.</summary>
    /// <typeparam name="T">The type of the value.</typeparam>
    /// <param name="value">The value: the work to do.</param>
    /// <param name="key">Items with the same key are processed in order; <see langword="null"/> for none.</param>
    /// <returns>
    /// A new item. A publisher that may have to repeat a call should derive the identity from the data instead, with
    /// <see cref="WorkItem{T}(WorkId, T, string?, int, IReadOnlyDictionary{string, string}?)"/>.
    /// </returns>
    public static WorkItem<T> Create<T>(T value, string? key = null) => new(new WorkId(NewOrigin(), 0), value, key);

    /// <summary>Creates items from values. All share a new origin, and the index of each is its place.</summary>
    /// <typeparam name="T">The type of the values.</typeparam>
    /// <param name="values">The value: the work to do.</param>
    /// <param name="keyOf">Returns the key of a value; <see langword="null"/> for items without keys.</param>
    /// <returns>One item for each value, in the same order.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="values"/> is <see langword="null"/>.</exception>
    public static IReadOnlyList<WorkItem<T>> CreateMany<T>(IEnumerable<T> values, Func<T, string?>? keyOf = null)
    {
        ArgumentNullException.ThrowIfNull(values);
        string origin = NewOrigin();
        List<WorkItem<T>> items = values.TryGetNonEnumeratedCount(out int count) ? new(count) : [];
        foreach (T value in values)
        {
            items.Add(new WorkItem<T>(new WorkId(origin, items.Count), value, keyOf?.Invoke(value)));
        }

        return items;
    }

    private static string NewOrigin() => Guid.CreateVersion7().ToString("N");
}
