using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;

namespace Weir.Delivery;

/// <summary>A work item as it is published and delivered.</summary>
/// <typeparam name="T">The type of its value.</typeparam>
[DebuggerDisplay("{Id}: {Value}")]
[SuppressMessage("Performance", "CA1815:Override equals and operator equals on value types", Justification = "Items are told apart by their identity.")]
public readonly struct WorkItem<T>
{
    /// <summary>Creates an item.</summary>
    /// <param name="id">The identity, which must be the same each time the same item is published.</param>
    /// <param name="value">The value: the work to do.</param>
    /// <param name="key">
    /// Items with the same key are processed in order, if the engine and the host are configured to do so; <see langword="null"/> for none.
    /// </param>
    /// <param name="attempt">The number of this attempt, from 1.</param>
    /// <param name="headers">Data that travels with the item, such as a trace context; <see langword="null"/> for nothing. Not copied.</param>
    /// <exception cref="ArgumentException">The identity has no origin.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="attempt"/> is less than 1.</exception>
    public WorkItem(WorkId id, T value, string? key = null, int attempt = 1, IReadOnlyDictionary<string, string>? headers = null)
    {
        ArgumentException.ThrowIfNullOrEmpty(id.Origin, nameof(id));
        ArgumentOutOfRangeException.ThrowIfLessThan(attempt, 1);
        Origin = id.Origin;
        Index = id.Index;
        Value = value;
        Key = key;
        Attempt = attempt;
        Headers = headers;
    }

    /// <summary>The identity, the same at each delivery.</summary>
    public WorkId Id => new(Origin, Index);

    /// <summary>The value: the work to do.</summary>
    public T Value { get; }

    /// <summary>Items with the same key are processed in order, if the engine and the host are configured to do so; <see langword="null"/> for none.</summary>
    public string? Key { get; }

    /// <summary>
    /// The number of this attempt, from 1. A delivery that was neither acknowledged nor returned, because the process died or the connection broke, does not
    /// count.
    /// </summary>
    public int Attempt { get; }

    /// <summary>Data that travels with the item, such as a trace context; <see langword="null"/> for nothing.</summary>
    public IReadOnlyDictionary<string, string>? Headers { get; }

    private string Origin { get; }

    private int Index { get; }

    /// <summary>Returns the same item with another value, such as the result of processing it.</summary>
    /// <typeparam name="TOther">The type of the other value.</typeparam>
    /// <param name="value">The other value.</param>
    /// <returns>An item with the same identity, key, attempt and headers.</returns>
    public WorkItem<TOther> With<TOther>(TOther value) => new(Id, value, Key, Attempt, Headers);

    /// <summary>Returns the same item for its next attempt.</summary>
    /// <returns>An item whose attempt is one higher.</returns>
    public WorkItem<T> Again() => new(Id, Value, Key, Attempt + 1, Headers);

    /// <summary>The same item with a trace context, if it has none.</summary>
    internal WorkItem<T> In(Dictionary<string, string> trace) => new(Id, Value, Key, Attempt, TraceContext.Merge(Headers, trace));
}
