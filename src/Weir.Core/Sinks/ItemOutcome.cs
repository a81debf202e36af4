using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.ExceptionServices;

namespace Weir;

/// <summary>The outcome of one item: the item, and its result or why there is none.</summary>
/// <typeparam name="TItem">The type of the item.</typeparam>
/// <typeparam name="TResult">The type of the result.</typeparam>
/// <remarks>The default value is <see cref="ItemStatus.NotRun"/>. Immutable, and safe to read from several threads.</remarks>
[DebuggerDisplay("{ToString(),nq}")]
[SuppressMessage("Performance", "CA1815:Override equals and operator equals on value types", Justification = "Outcomes are read, not compared.")]
public readonly struct ItemOutcome<TItem, TResult>
{
    private readonly TItem _item;
    private readonly TResult? _value;

    // The exception, or the details if the caller asked for them; they have the exception then. So an outcome without details is no larger.
    private readonly object? _about;
    private readonly ItemStatus _status;

    internal ItemOutcome(TItem item, TResult? value, object? about, ItemStatus status)
    {
        _item = item;
        _value = value;
        _about = about;
        _status = status;
    }

    /// <summary>
    /// The item, also if it never ran. It is the object that the call got; of an array or a list, what was there when the outcome was made.
    /// </summary>
    public TItem Item => _item;

    /// <summary>How the item ended.</summary>
    public ItemStatus Status => _status;

    /// <summary>Whether the item ended with a result.</summary>
    public bool IsSuccess => _status == ItemStatus.Succeeded;

    /// <summary>
    /// The exception of an item that failed or timed out (if it timed out, an <see cref="OperationCanceledException"/> whose inner exception
    /// is a <see cref="TimeoutException"/>). <see langword="null"/> for every other status.
    /// </summary>
    public Exception? Error => _about is ItemDetails details ? details.Error : (Exception?)_about;

    /// <summary>
    /// The item's index, its number of attempts and how long it took, if the options ask for them; otherwise <see langword="null"/>. In a run with details,
    /// every outcome has them, also that of an item that never ran.
    /// </summary>
    public ItemDetails? Details => _about as ItemDetails;

    /// <summary>The result of the item.</summary>
    /// <exception cref="InvalidOperationException">The item has no result: see <see cref="Status"/> and <see cref="Error"/>.</exception>
    public TResult Value => _status == ItemStatus.Succeeded ? _value! : throw NoValue();

    /// <summary>The result of the item, or the default value of its type if there is none.</summary>
    public TResult? ValueOrDefault => _value;

    /// <summary>Returns the result, or throws the item's own exception with its own stack trace.</summary>
    /// <returns>The result of the item.</returns>
    /// <exception cref="Exception">The item's own exception, if it failed or timed out.</exception>
    /// <exception cref="OperationCanceledException">The item was cancelled or never ran.</exception>
    public TResult GetValueOrThrow()
    {
        if (_status == ItemStatus.Succeeded)
        {
            return _value!;
        }

        if (Error is { } error)
        {
            ExceptionDispatchInfo.Throw(error);
        }

        throw new OperationCanceledException(_status == ItemStatus.Cancelled ? "The item was cancelled." : "The item never ran.");
    }

    /// <inheritdoc/>
    public override string ToString() => _status switch
    {
        ItemStatus.Succeeded => $"{_item}: Succeeded: {_value}",
        ItemStatus.Failed or ItemStatus.TimedOut => $"{_item}: {_status}: {Error?.GetType().Name}",
        _ => $"{_item}: {_status}",
    };

    private InvalidOperationException NoValue() =>
        new($"The item has no result, because its status is {_status}. Look at Status and Error first, or call GetValueOrThrow.", Error);
}
