using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;

namespace Weir.Delivery;

/// <summary>An item of work as it is published and delivered.</summary>
/// <typeparam name="T">The type of its value.</typeparam>
[DebuggerDisplay("{Id}: {Value}")]
[SuppressMessage("Performance", "CA1815:Override equals and operator equals on value types", Justification = "Items are told apart by their identity.")]
public readonly struct WorkItem<T>
{
    /// <summary>Creates an item.</summary>
    /// <param name="id">Its identity, which must be the same each time the same item is published.</param>
    /// <param name="value">What there is to do.</param>
    /// <param name="key">Items with the same key are processed in order, where the engine and the host are asked to; <see langword="null"/> for none.</param>
    /// <param name="attempt">Which attempt this is, from 1.</param>
    /// <param name="headers">What travels with the item, such as a trace context; <see langword="null"/> for nothing. Not copied.</param>
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

    /// <summary>What there is to do.</summary>
    public T Value { get; }

    /// <summary>Items with the same key are processed in order, where the engine and the host are asked to; <see langword="null"/> for none.</summary>
    public string? Key { get; }

    /// <summary>Which attempt this is, from 1. A delivery that nobody settled, because the process died or the connection broke, does not count.</summary>
    public int Attempt { get; }

    /// <summary>What travels with the item, such as a trace context; <see langword="null"/> for nothing.</summary>
    public IReadOnlyDictionary<string, string>? Headers { get; }

    private string Origin { get; }

    private int Index { get; }

    /// <summary>The same item with another value, such as the result of processing it.</summary>
    /// <typeparam name="TOther">The type of the other value.</typeparam>
    /// <param name="value">The other value.</param>
    /// <returns>An item with the same identity, key, attempt and headers.</returns>
    public WorkItem<TOther> With<TOther>(TOther value) => new(Id, value, Key, Attempt, Headers);

    /// <summary>The same item, to be tried once more.</summary>
    /// <returns>An item whose attempt is one higher.</returns>
    public WorkItem<T> Again() => new(Id, Value, Key, Attempt + 1, Headers);
}
