namespace Weir.Delivery;

/// <summary>One call of the runtime: its items, and what each has returned so far.</summary>
/// <remarks>
/// A runtime whose call is cancelled throws, and gives no outcomes. So each item notes its own end here: what was processed must not be delivered again.
/// </remarks>
internal sealed class HostCall<T, TResult>(bool isAlone)
{
    private (TResult Result, bool HasReturned)[] _returned = [];

    /// <summary>Whether nothing else may run meanwhile.</summary>
    public bool IsAlone => isAlone;

    public List<WorkEntry<T, TResult>> Entries { get; } = [];

    public void Begin() => _returned = new (TResult, bool)[Entries.Count];

    public void Return(int index, TResult result)
    {
        _returned[index].Result = result;
        Volatile.Write(ref _returned[index].HasReturned, true);
    }

    public bool TryGetReturned(int index, out TResult result)
    {
        bool has = Volatile.Read(ref _returned[index].HasReturned);
        result = _returned[index].Result;
        return has;
    }
}
