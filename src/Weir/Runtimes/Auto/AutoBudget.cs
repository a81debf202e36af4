namespace Weir.Runtimes;

/// <summary>The most that one call may use of a runtime: its share of the threads, and the same number of items in flight as every other call.</summary>
/// <param name="threads">Threads that the runtime keeps busy with synchronous work, unless it blocks them.</param>
/// <param name="inFlight">Items of one call in flight.</param>
internal sealed class AutoBudget(int threads, int inFlight)
{
    private int _calls;

    public int InFlight => inFlight;

    /// <summary>Calls that are running.</summary>
    public int Calls => Volatile.Read(ref _calls);

    /// <summary>The share of one call. All calls together compute on no more threads than the runtime has, but each call has at least one.</summary>
    public int Threads => Math.Max(1, threads / Math.Max(1, Calls));

    public void Enter() => Interlocked.Increment(ref _calls);

    public void Leave() => Interlocked.Decrement(ref _calls);
}
