using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using Weir.Core.Sinks;

namespace Weir;

/// <summary>The outcome of one item whose call has no result.</summary>
/// <typeparam name="TItem">The type of the item.</typeparam>
/// <remarks>The default value is <see cref="ItemStatus.NotRun"/>. Immutable, and safe to read from several threads.</remarks>
[DebuggerDisplay("{ToString(),nq}")]
[SuppressMessage("Performance", "CA1815:Override equals and operator equals on value types", Justification = "Outcomes are read, not compared.")]
public readonly struct ItemOutcome<TItem>
{
    private readonly ItemOutcome<TItem, Nothing> _outcome;

    internal ItemOutcome(in ItemOutcome<TItem, Nothing> outcome) => _outcome = outcome;

    /// <inheritdoc cref="ItemOutcome{TItem, TResult}.Item"/>
    public TItem Item => _outcome.Item;

    /// <inheritdoc cref="ItemOutcome{TItem, TResult}.Status"/>
    public ItemStatus Status => _outcome.Status;

    /// <summary>Whether the call ended without an exception.</summary>
    public bool IsSuccess => _outcome.IsSuccess;

    /// <inheritdoc cref="ItemOutcome{TItem, TResult}.Error"/>
    public Exception? Error => _outcome.Error;

    /// <inheritdoc cref="ItemOutcome{TItem, TResult}.Details"/>
    public ItemDetails? Details => _outcome.Details;

    /// <inheritdoc/>
    public override string ToString() => IsSuccess ? $"{Item}: Succeeded" : _outcome.ToString();
}
