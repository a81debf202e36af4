namespace Weir.Policies;

/// <summary>What a run remembers of an item from its first attempt until its outcome.</summary>
internal class ItemRecord(long started)
{
    private int _calls;

    /// <summary>When the run began with the item, as a timestamp of its clock.</summary>
    public long Started => started;

    /// <summary>How often the item's call was made.</summary>
    public int Calls => Volatile.Read(ref _calls);

    /// <summary>The call is about to be made.</summary>
    public void CountCall() => Interlocked.Increment(ref _calls);
}
