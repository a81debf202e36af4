using System.Diagnostics.CodeAnalysis;
using Weir.Core.Sinks;

namespace Weir;

/// <summary>The exception of one failed item, with the item's place in the source.</summary>
/// <param name="Index">The item's position in the source, from 0; -1 for a failure that belongs to no item, such as that of the source itself.</param>
/// <param name="Error">The exception.</param>
[SuppressMessage("Naming", "CA1716:Identifiers should not match keywords", Justification = "The field's term, the same as ItemOutcome.Error.")]
public sealed record ItemFailure(long Index, Exception Error)
{
    /// <summary>
    /// The key in <see cref="Exception.Data"/> of what <see cref="IndexOf"/> and <see cref="PathOf"/> read. The value's text is the index, as in <c>41</c>, or
    /// the indices of nested runs, as in <c>3 > 41</c>.
    /// </summary>
    public const string DataKey = "Weir.ItemIndex";

    // An exception may be its own inner exception, if its type says so.
    private const int Deepest = 100;

    /// <summary>Tells which item failed with the exception that a run with <see cref="ErrorMode.FailFast"/> threw.</summary>
    /// <param name="exception">The exception of the run, or one that has it as an inner exception.</param>
    /// <returns>
    /// The item's position in the source, from 0 (that of its batch for operators over batches); <see langword="null"/> if the exception comes from no item,
    /// such as that of the source itself. Of nested runs, the index in the outermost one.
    /// </returns>
    /// <exception cref="ArgumentNullException"><paramref name="exception"/> is <see langword="null"/>.</exception>
    /// <remarks>
    /// The index is added to the exception that is thrown, which is not wrapped. An exception object that several items or runs throw, such as a static one,
    /// tells of the last run that ended with it. An exception whose <see cref="Exception.Data"/> accepts nothing tells nothing.
    /// </remarks>
    public static long? IndexOf(Exception exception)
    {
        IReadOnlyList<long> path = PathOf(exception);
        return path.Count == 0 ? null : path[0];
    }

    /// <summary>Tells which item failed in each of several runs, one inside an item of the other.</summary>
    /// <param name="exception">The exception of the outermost run, or one that has it as an inner exception.</param>
    /// <returns>
    /// The item's index in each run with <see cref="ErrorMode.FailFast"/>, that of the outermost one first; empty if the exception comes from no item.
    /// </returns>
    /// <exception cref="ArgumentNullException"><paramref name="exception"/> is <see langword="null"/>.</exception>
    public static IReadOnlyList<long> PathOf(Exception exception)
    {
        ArgumentNullException.ThrowIfNull(exception);
        List<long> path = [];
        Exception? next = exception;
        for (int depth = 0; next is not null && depth < Deepest; depth++, next = next.InnerException)
        {
            path.AddRange(ItemNote.Of(next)?.Path ?? []);
        }

        return path;
    }
}

/// <summary>How one item of a run ended. Every item has exactly one status.</summary>
public enum ItemStatus
{
    /// <summary>The item was never attempted, because the run was stopped, its deadline passed, or its runtime was disposed first.</summary>
    NotRun = 0,

    /// <summary>The call returned a result.</summary>
    Succeeded = 1,

    /// <summary>The call threw an exception.</summary>
    Failed = 2,

    /// <summary>The item had started, but did not end within its time limit or that of its last attempt, or before the deadline of its batch.</summary>
    TimedOut = 3,

    /// <summary>The item had started, or was waiting for another attempt, and was cancelled because the run was stopped or its runtime was disposed.</summary>
    Cancelled = 4,
}
