namespace Weir.Policies;

/// <summary>What a run remembers of an item from its first attempt until its outcome.</summary>
/// <param name="started">When the run began with the item, as a timestamp of its clock.</param>
internal abstract class ItemRecord(long started)
{
    private int _calls;
    private int _attempt = 1;
    private int _next = 1;

    public long Started => started;

    /// <summary>How often the item's call was made.</summary>
    public int Calls => Volatile.Read(ref _calls);

    /// <summary>The number of the attempt that runs or has ended last, from 1.</summary>
    public int Attempt => Volatile.Read(ref _attempt);

    /// <summary>The call is about to be made.</summary>
    public void CountCall() => Interlocked.Increment(ref _calls);

    /// <summary>An attempt begins, or goes on after it has waited for a policy.</summary>
    public void BeginAttempt() => Volatile.Write(ref _attempt, Volatile.Read(ref _next));

    /// <summary>The item waits for another attempt.</summary>
    public void Retries(int failed) => Volatile.Write(ref _next, failed + 1);
}
