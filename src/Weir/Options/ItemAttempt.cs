using System.Diagnostics.CodeAnalysis;

namespace Weir;

/// <summary>What a hook of <see cref="ItemHooks{TItem}"/> is told.</summary>
/// <typeparam name="TItem">The type of the items.</typeparam>
[SuppressMessage("Performance", "CA1815:Override equals and operator equals on value types", Justification = "It is read, not compared.")]
[SuppressMessage("Naming", "CA1716:Identifiers should not match keywords", Justification = "The field's term, the same as ItemOutcome.Error.")]
public readonly struct ItemAttempt<TItem>
{
    internal ItemAttempt(TItem item, long index, int attempt, Exception? error)
    {
        Item = item;
        Index = index;
        Attempt = attempt;
        Error = error;
    }

    /// <summary>The item.</summary>
    public TItem Item { get; }

    /// <summary>The item's position in the source, from 0.</summary>
    public long Index { get; }

    /// <summary>
    /// The number of the attempt, from 1: the one that begins, has succeeded or has failed. For an item whose time was up while it waited for another attempt,
    /// the one before the wait.
    /// </summary>
    public int Attempt { get; }

    /// <summary>The exception of a failed attempt; <see langword="null"/> before the first attempt and after a success.</summary>
    public Exception? Error { get; }
}
