namespace Weir.Delivery;

/// <summary>Makes items of work out of values.</summary>
public static class WorkItem
{
    /// <summary>Creates an item with an identity of its own.</summary>
    /// <typeparam name="T">The type of the value.</typeparam>
    /// <param name="value">What there is to do.</param>
    /// <param name="key">Items with the same key are processed in order; <see langword="null"/> for none.</param>
    /// <returns>
    /// A new item. A publisher that may have to repeat itself should rather derive the identity from what it publishes, with
    /// <see cref="WorkItem{T}(WorkId, T, string?, int, IReadOnlyDictionary{string, string}?)"/>.
    /// </returns>
    public static WorkItem<T> Create<T>(T value, string? key = null) => new(new WorkId(NewOrigin(), 0), value, key);

    /// <summary>Creates items out of values: one new identity for all, and the place of each in it.</summary>
    /// <typeparam name="T">The type of the values.</typeparam>
    /// <param name="values">What there is to do.</param>
    /// <param name="keyOf">The key of a value; <see langword="null"/> if there are none.</param>
    /// <returns>An item per value, in the same order.</returns>
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
