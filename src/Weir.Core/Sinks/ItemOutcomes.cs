using Weir.Core.Sinks;

namespace Weir;

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
        foreach ((ItemStatus status, Exception? error) in outcomes)
        {
            if (IsFailure(status))
            {
                failures.Add(new ItemFailure(index, error!));
            }
            else if (status != ItemStatus.Succeeded)
            {
                others++;
            }

            index++;
        }

        return failures.Count > 0 ? failures
            : others == 0 ? null
            : throw new OperationCanceledException(
                others == 1 ? "One item was cancelled or never ran." : $"{ExceptionText.Number(others)} items were cancelled or never ran.");
    }
}
