namespace Weir.Delivery;

/// <summary>
/// A sink can never store some items of a list, and has stored none of it: a value is too long, for example. Trying again does not help, but the rest of the
/// list can be written without them. A <see cref="WorkHost{T}"/> does that, and makes dead letters of the items whose results they are.
/// </summary>
public sealed class WorkRefusedException : ArgumentException
{
    /// <summary>Creates an exception that names no item.</summary>
    public WorkRefusedException()
        : this("Some items cannot be stored.")
    {
    }

    /// <summary>Creates an exception that names no item.</summary>
    /// <param name="message">What is wrong.</param>
    public WorkRefusedException(string message)
        : base(message)
    {
    }

    /// <summary>Creates an exception that names no item.</summary>
    /// <param name="message">What is wrong.</param>
    /// <param name="innerException">The cause.</param>
    public WorkRefusedException(string message, Exception innerException)
        : base(message, innerException)
    {
    }

    /// <summary>Creates an exception for some items.</summary>
    /// <param name="items">The items that cannot be stored. At least one.</param>
    /// <exception cref="ArgumentException"><paramref name="items"/> is <see langword="null"/> or empty.</exception>
    public WorkRefusedException(IReadOnlyList<WorkRefusal> items)
        : base(items is { Count: > 0 } ? items[0].Error : "items must have at least one refusal.")
    {
        ArgumentNullException.ThrowIfNull(items);
        ArgumentOutOfRangeException.ThrowIfZero(items.Count, nameof(items));
        Items = items;
    }

    /// <summary>The items that cannot be stored; empty if the sink does not know which.</summary>
    public IReadOnlyList<WorkRefusal> Items { get; } = [];
}

/// <summary>An item that a sink can never store, and why.</summary>
/// <param name="Place">The place of the item in the list that was to be written, from 0.</param>
/// <param name="Reason">What becomes the reason of its dead letter.</param>
/// <param name="Error">What is wrong with it.</param>
public readonly record struct WorkRefusal(int Place, DeadLetterReason Reason, string Error);
