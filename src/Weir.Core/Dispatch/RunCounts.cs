using System.Runtime.CompilerServices;
using Weir.Core.Metering;

namespace Weir.Core.Dispatch;

/// <summary>What a run counts besides what its workers do.</summary>
/// <remarks>
/// Any thread counts items that were cancelled or passed their time limit, with interlocked additions. The rest is guarded by the run's lock.
/// </remarks>
internal struct RunCounts
{
    // The counts of workers that the run has forgotten; created for the first one that it forgets.
    private StrongBox<RunSample>? _past;
    private int _cancelled;
    private int _timedOut;
    private int _delayed;

    /// <summary>How many items wait for another attempt. Changed under the lock, and read without it too.</summary>
    public readonly int Delayed => Volatile.Read(in _delayed);

    /// <summary>What workers did that the run has forgotten.</summary>
    public ref RunSample PastNeedsLock => ref (_past ??= new StrongBox<RunSample>()).Value;

    public void AddDelayedNeedsLock(int count) => Volatile.Write(ref _delayed, _delayed + count);

    public void AddCancelled(int count) => Interlocked.Add(ref _cancelled, count);

    public void AddTimedOut(int count) => Interlocked.Add(ref _timedOut, count);

    /// <summary>A sample that has these counts.</summary>
    public readonly RunSample SampleNeedsLock()
    {
        RunSample sample = _past?.Value ?? default;
        sample.Delayed = _delayed;
        sample.Cancelled = Volatile.Read(in _cancelled);
        sample.TimedOut = Volatile.Read(in _timedOut);
        return sample;
    }
}
