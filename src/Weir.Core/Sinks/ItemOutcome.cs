using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.ExceptionServices;
using Weir.Core.Sinks;

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
    /// is a <see cref="TimeoutException"/> that says which limit it was). An item that never ran because the time limit of the run passed has that exception too.
    /// <see langword="null"/> otherwise: a caller that cancels gives its items no exception.
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
    /// <exception cref="Exception">The item's own exception, if it failed or timed out, or never ran because the time limit of the run passed.</exception>
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

/// <summary>What one does with the outcomes of a run: throw what failed, or run again what has no result.</summary>
public static class ItemOutcomes
{
    /// <summary>The items that failed or timed out, in the order of the outcomes. They can be the source of another run.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="outcomes">The outcomes.</param>
    /// <returns>The items, in a new list; empty if none failed.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="outcomes"/> is <see langword="null"/>.</exception>
    public static IReadOnlyList<TItem> Failed<TItem, TResult>(this IEnumerable<ItemOutcome<TItem, TResult>> outcomes)
    {
        ArgumentNullException.ThrowIfNull(outcomes);
        return outcomes.Where(static o => IsFailure(o.Status)).Select(static o => o.Item).ToList();
    }

    /// <inheritdoc cref="Failed{TItem, TResult}"/>
    public static IReadOnlyList<TItem> Failed<TItem>(this IEnumerable<ItemOutcome<TItem>> outcomes)
    {
        ArgumentNullException.ThrowIfNull(outcomes);
        return outcomes.Where(static o => IsFailure(o.Status)).Select(static o => o.Item).ToList();
    }

    /// <summary>
    /// All items that did not succeed, in the order of the outcomes: those that failed or timed out, and, of a run that was stopped, those that were cancelled
    /// or never ran. They can be the source of another run.
    /// </summary>
    /// <inheritdoc cref="Failed{TItem, TResult}"/>
    public static IReadOnlyList<TItem> NotSucceeded<TItem, TResult>(this IEnumerable<ItemOutcome<TItem, TResult>> outcomes)
    {
        ArgumentNullException.ThrowIfNull(outcomes);
        return outcomes.Where(static o => !o.IsSuccess).Select(static o => o.Item).ToList();
    }

    /// <inheritdoc cref="NotSucceeded{TItem, TResult}"/>
    public static IReadOnlyList<TItem> NotSucceeded<TItem>(this IEnumerable<ItemOutcome<TItem>> outcomes)
    {
        ArgumentNullException.ThrowIfNull(outcomes);
        return outcomes.Where(static o => !o.IsSuccess).Select(static o => o.Item).ToList();
    }

    /// <summary>Throws if an item has no result. If it does not throw, every item has one.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="outcomes">The outcomes.</param>
    /// <exception cref="ArgumentNullException"><paramref name="outcomes"/> is <see langword="null"/>.</exception>
    /// <exception cref="ItemsFailedException{TResult}">
    /// Items failed or timed out. It has their exceptions and indices, and the results of the others.
    /// </exception>
    /// <exception cref="OperationCanceledException">None of these, but items were cancelled or never ran.</exception>
    public static void ThrowIfFailed<TItem, TResult>(this IEnumerable<ItemOutcome<TItem, TResult>> outcomes)
    {
        ArgumentNullException.ThrowIfNull(outcomes);
        List<ItemOutcome<TItem, TResult>> all = [.. outcomes];
        if (FailuresOf(all.Select(static o => (o.Status, o.Error))) is { } failures)
        {
            throw new ItemsFailedException<TResult>(failures, [.. all.Where(static o => o.IsSuccess).Select(static o => o.Value)]);
        }
    }

    /// <summary>Throws if an item did not succeed. If it does not throw, every item did.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <param name="outcomes">The outcomes.</param>
    /// <exception cref="ArgumentNullException"><paramref name="outcomes"/> is <see langword="null"/>.</exception>
    /// <exception cref="ItemsFailedException">Items failed or timed out. It has their exceptions and indices.</exception>
    /// <exception cref="OperationCanceledException">None of these, but items were cancelled or never ran.</exception>
    public static void ThrowIfFailed<TItem>(this IEnumerable<ItemOutcome<TItem>> outcomes)
    {
        ArgumentNullException.ThrowIfNull(outcomes);
        if (FailuresOf(outcomes.Select(static o => (o.Status, o.Error))) is { } failures)
        {
            throw new ItemsFailedException(failures);
        }
    }

    private static bool IsFailure(ItemStatus status) => status is ItemStatus.Failed or ItemStatus.TimedOut;

    // Null if all succeeded.
    private static List<ItemFailure>? FailuresOf(IEnumerable<(ItemStatus Status, Exception? Error)> outcomes)
    {
        List<ItemFailure> failures = [];
        long index = 0;
        int others = 0;
        Exception? deadline = null;
        foreach ((ItemStatus status, Exception? error) in outcomes)
        {
            if (IsFailure(status))
            {
                failures.Add(new ItemFailure(index, error!));
            }
            else if (status != ItemStatus.Succeeded)
            {
                others++;
                deadline ??= error;
            }

            index++;
        }

        return failures.Count > 0 ? failures
            : others == 0 ? null
            : throw new OperationCanceledException(
                (others == 1 ? "One item was" : $"{ExceptionText.Number(others)} items were") + " cancelled or never ran"
                    + (deadline is null ? "." : $": {deadline.Message}"),
                deadline?.InnerException);
    }
}

/// <summary>How an item of a run came to its outcome. Immutable.</summary>
public sealed class ItemDetails
{
    internal ItemDetails(long index, int attempts, TimeSpan duration, Exception? error)
    {
        Index = index;
        Attempts = attempts;
        Duration = duration;
        Error = error;
    }

    /// <summary>The item's position in the source, from 0.</summary>
    public long Index { get; }

    /// <summary>
    /// How often the item's call was made. 0 for an item that never got as far, for example because it was given up while it waited for a circuit breaker, a
    /// concurrency limit or a rate limit, or because its start hook threw.
    /// </summary>
    public int Attempts { get; }

    /// <summary>
    /// From the moment when the run began with the item until it had its outcome, with all attempts, hooks and waits, by the run's clock. Zero for an item that
    /// the run never began with.
    /// </summary>
    public TimeSpan Duration { get; }

    /// <summary>The item's exception, which an outcome with details has here.</summary>
    internal Exception? Error { get; }

    /// <inheritdoc/>
    public override string ToString() => $"item {Index}, {Attempts} attempts, {Duration}";
}
