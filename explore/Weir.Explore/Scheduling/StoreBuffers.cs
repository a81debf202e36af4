namespace Weir.Explore.Scheduling;

/// <summary>
/// The stores that a thread has made and the others do not see yet, as in the store buffers of a processor: each thread's become visible in their order (TSO).
/// Memory has the new value, so its own thread sees it. What the others see is kept here.
/// </summary>
/// <remarks>
/// Places are known by their address. Nothing is read through it, and after a garbage collection, which may have moved them, all stores are visible.
/// </remarks>
internal sealed class StoreBuffers
{
    private readonly List<Store> _stores = [];
    private int _collections = GC.CollectionCount(0);

    public bool Any => _stores.Count > 0;

    public void Write<T>(ControlledThread me, ref T place, T value)
    {
        nint address = AddressOf(ref place);
        ShowOfOthers(me, address);
        _stores.Add(new Store<T>(me, address, place));
        place = value;
    }

    /// <summary>What the thread sees.</summary>
    public T Read<T>(ControlledThread me, ref T place)
    {
        nint address = AddressOf(ref place);
        Store? first = _stores.Find(s => s.Address == address);
        if (first is null || first.By == me)
        {
            return place;
        }

        if (first is Store<T> known && _collections == GC.CollectionCount(0))
        {
            return known.Before;
        }

        ShowAll();
        return place;
    }

    /// <summary>An atomic operation reads what is there, so what the others have stored there is visible before it.</summary>
    public void ShowOfOthers<T>(ControlledThread me, ref T place) => ShowOfOthers(me, AddressOf(ref place));

    public void Show(ControlledThread of) => _stores.RemoveAll(s => s.By == of);

    public void ShowAll() => _stores.Clear();

    public void ShowFirst() => _stores.RemoveAt(0);

    private void ShowOfOthers(ControlledThread me, nint address)
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

    private unsafe nint AddressOf<T>(ref T place)
    {
        if (_collections != GC.CollectionCount(0))
        {
            _collections = GC.CollectionCount(0);
            ShowAll();
        }

        return (nint)Unsafe.AsPointer(ref place);
    }

    private record Store(ControlledThread By, nint Address);

    private sealed record Store<T>(ControlledThread By, nint Address, T Before) : Store(By, Address);
}
