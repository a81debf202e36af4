using System.Collections;
using System.Diagnostics;

namespace Weir.Core.Sinks;

/// <summary>
/// Says in the <see cref="Exception.Data"/> of an exception which item it failed. An exception that passes through several runs, one inside an item of the
/// other, has an index of each, that of the outermost run first.
/// </summary>
/// <remarks>It has numbers only, so an exception that lives on, such as a static one, keeps nothing of the run alive.</remarks>
internal sealed class ItemNote
{
    /// <summary>How deep runs may be nested. It bounds a note that is never begun anew, because its runs have clocks of their own.</summary>
    private const int Deepest = 16;

    // Guards the platform's own dictionary, which is not made for several threads: runs may fail at once with an exception that they share.
    private static readonly Lock Lock = new();
    private static readonly Type UsualData = new InvalidOperationException().Data.GetType();

    private readonly long[] _path;
    private readonly long _at;

    private ItemNote(long[] path, long at)
    {
        _path = path;
        _at = at;
    }

    /// <summary>The item's index in the outermost run.</summary>
    public long Index => _path[0];

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
    public static ItemNote? Of(Exception error)
    {
        try
        {
            return error.Data[ItemFailure.DataKey] as ItemNote;
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
        long[] inner = data[ItemFailure.DataKey] is ItemNote note && !(note._at < since) && note._path.Length < Deepest ? note._path : [];
        data[ItemFailure.DataKey] = new ItemNote([index, .. inner], Stopwatch.GetTimestamp());
    }
}
