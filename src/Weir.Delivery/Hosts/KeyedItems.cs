namespace Weir.Delivery;

/// <summary>
/// The items of one key. At most one call of the runtime has items of a key at a time, and it keeps their order. Guarded by the lock of the run.
/// </summary>
internal sealed class KeyedItems<T, TResult>(string key)
{
    public string Key => key;

    /// <summary>Items behind those that are in a call.</summary>
    public Queue<WorkEntry<T, TResult>> Waiting { get; } = new();

    /// <summary>The call that has items of this key.</summary>
    public HostCall<T, TResult>? Call { get; set; }

    /// <summary>The number of items that it has.</summary>
    public int Running { get; set; }

    /// <summary>All items of this key that have not ended, wherever they are.</summary>
    public int Count { get; set; }
}
