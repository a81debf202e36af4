using System.Collections;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;

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
            path.AddRange(Note.Of(next)?.Path ?? []);
        }

        return path;
    }

    /// <summary>
    /// Says in the <see cref="Exception.Data"/> of an exception which item it failed. An exception that passes through several runs, one inside an item of the
    /// other, has an index of each, that of the outermost run first.
    /// </summary>
    /// <remarks>It has numbers only, so an exception that lives on, such as a static one, keeps nothing of the run alive.</remarks>
    internal sealed class Note
    {
        /// <summary>How deep runs may be nested. It bounds a note that is never begun anew, because its runs have clocks of their own.</summary>
        private const int Deepest = 16;

        // Guards the platform's own dictionary, which is not made for several threads: runs may fail at once with an exception that they share.
        private static readonly Lock Lock = new();
        private static readonly Type UsualData = new InvalidOperationException().Data.GetType();

        private readonly long[] _path;
        private readonly long _at;

        private Note(long[] path, long at)
        {
            _path = path;
            _at = at;
        }

        /// <summary>The index in each run, that of the outermost first.</summary>
        public IReadOnlyList<long> Path => _path;

        /// <summary>The run ends with the failure of an item.</summary>
        /// <param name="error">The exception.</param>
        /// <param name="index">The item's index.</param>
        /// <param name="since">When the run started, as a timestamp of the system's clock; null if it has another clock.</param>
        public static void Add(Exception error, long index, long? since)
        {
            try
            {
                IDictionary data = error.Data;
                if (data.IsReadOnly)
                {
                    return;
                }

                // No lock around a dictionary of the user's.
                if (data.GetType() == UsualData)
                {
                    lock (Lock)
                    {
                        Put(data, index, since);
                    }
                }
                else
                {
                    Put(data, index, since);
                }
            }
            catch (Exception)
            {
                // Data is the user's code, and may not accept anything: the exception is thrown as it is then.
            }
        }

        /// <summary>The note of an exception, or null.</summary>
        public static Note? Of(Exception error)
        {
            try
            {
                return error.Data[DataKey] as Note;
            }
            catch (Exception)
            {
                return null;
            }
        }

        /// <summary>The indices, from the outermost run to the innermost.</summary>
        /// <returns>The text.</returns>
        public override string ToString() => string.Join(" > ", _path);

        private static void Put(IDictionary data, long index, long? since)
        {
            // What was noted before this run began is of another run that threw the same object, and not of a run inside the item.
            long[] inner = data[DataKey] is Note note && !(note._at < since) && note._path.Length < Deepest ? note._path : [];
            data[DataKey] = new Note([index, .. inner], Stopwatch.GetTimestamp());
        }
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
