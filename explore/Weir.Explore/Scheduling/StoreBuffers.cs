namespace Weir.Explore.Scheduling;

/// <summary>
/// The stores that a thread has made and the others do not see yet, as in the store buffers of a processor: each thread's stores become visible in their order
/// (TSO). Memory has the new value, so its own thread sees it. What the others see until the store is flushed is here.
/// </summary>
/// <remarks>
/// Locations are known by their address. Nothing is read through it, and after a garbage collection, which may have moved them, all stores are visible.
/// </remarks>
internal sealed class StoreBuffers
{
    private readonly List<Store> _stores = [];
    private int _collections = GC.CollectionCount(0);

    public bool Any => _stores.Count > 0;

    public void Write<T>(TrackedThread me, ref T location, T value)
    {
        nint address = AddressOf(ref location);
        FlushOthers(me, address);
        _stores.Add(new Store<T>(me, address, location));
        location = value;
    }

    /// <summary>What the thread sees.</summary>
    public T Read<T>(TrackedThread me, ref T location)
    {
        nint address = AddressOf(ref location);
        Store? first = _stores.Find(s => s.Address == address);
        if (first is null || first.By == me)
        {
            return location;
        }

        if (first is Store<T> known && _collections == GC.CollectionCount(0))
        {
            return known.Before;
        }

        FlushAll();
        return location;
    }

    /// <summary>An atomic operation reads what is there, so what the others have stored there is visible before it.</summary>
    public void FlushOthers<T>(TrackedThread me, ref T location) => FlushOthers(me, AddressOf(ref location));

    public void Flush(TrackedThread of) => _stores.RemoveAll(s => s.By == of);

    public void FlushAll() => _stores.Clear();

    public void FlushOldest() => _stores.RemoveAt(0);

    private void FlushOthers(TrackedThread me, nint address)
    {
        for (int last = _stores.FindLastIndex(s => s.Address == address && s.By != me); last >= 0; last--)
        {
            // With all that its thread stored before it.
            if (_stores[last].By != me)
            {
                _stores.RemoveAt(last);
            }
        }
    }

    private unsafe nint AddressOf<T>(ref T location)
    {
        if (_collections != GC.CollectionCount(0))
        {
            _collections = GC.CollectionCount(0);
            FlushAll();
        }

        return (nint)Unsafe.AsPointer(ref location);
    }

    private record Store(TrackedThread By, nint Address);

    private sealed record Store<T>(TrackedThread By, nint Address, T Before) : Store(By, Address);
}
