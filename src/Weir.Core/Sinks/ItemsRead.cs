using Weir.Core.Sources;

namespace Weir.Core.Sinks;

/// <summary>The items that a run has read from a source that is not in memory by index, until their outcomes take them.</summary>
/// <param name="source">The source.</param>
/// <param name="all">Where they are until the end, if all outcomes are; null if the outcomes leave one by one.</param>
internal sealed class ItemsRead<T>(Source<T> source, Segments<T>? all) : IItemKeeper<T>
{
    private readonly Lock _lock = new();

    // Those without an outcome: no more than are between the source and its consumer.
    private readonly Dictionary<long, T>? _open = all is null ? [] : null;
    private long _read;

    public void Add(long index, T item)
    {
        if (_open is null)
        {
            all![index] = item;
        }
        else
        {
            lock (_lock)
            {
                _open.Add(index, item);
            }
        }

        Volatile.Write(ref _read, index + 1);
    }

    /// <summary>The item at an index, once.</summary>
    public T? Take(long index)
    {
        if (index >= Volatile.Read(ref _read))
        {
            return source.UnreadAt(index);
        }

        if (_open is null)
        {
            return all![index];
        }

        lock (_lock)
        {
            _open.Remove(index, out T? item);
            return item;
        }
    }
}
