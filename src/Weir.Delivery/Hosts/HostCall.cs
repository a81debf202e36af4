namespace Weir.Delivery;

/// <summary>One call of the runtime: its items and their outcomes so far.</summary>
/// <remarks>
/// A cancelled call of a runtime throws and returns no outcomes. So each item records its own end here: processed items must not be delivered again.
/// </remarks>
internal sealed class HostCall<T, TResult>(bool isAlone)
{
    private (TResult Result, bool HasReturned, bool HasEnded)[] _items = [];

    /// <summary>Whether nothing else may run at the same time.</summary>
    public bool IsAlone => isAlone;

    public List<WorkEntry<T, TResult>> Entries { get; } = [];

    public void Begin() => _items = new (TResult, bool, bool)[Entries.Count];

    public void Return(int index, TResult result)
    {
        _items[index].Result = result;
        Volatile.Write(ref _items[index].HasReturned, true);
    }

    public bool TryGetReturned(int index, out TResult result)
    {
        bool has = Volatile.Read(ref _items[index].HasReturned);
        result = _items[index].Result;
        return has;
    }

    /// <summary>Whether this is the first outcome of an item, which counts. Guarded by the lock of the run.</summary>
    public bool TryEnd(int index) => !_items[index].HasEnded && (_items[index].HasEnded = true);
}
