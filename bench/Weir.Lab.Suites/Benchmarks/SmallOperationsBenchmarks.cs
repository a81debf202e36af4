namespace Weir.Lab.Suites;

/// <summary>Operations of a nanosecond to a microsecond, on one thread: where what calls them takes a good part of the time.</summary>
public class SmallOperationsBenchmarks
{
    private readonly Lock _lock = new();
    private readonly int _spins = SpinSpeed.PerMicrosecond;
    private long _counter;

    /// <summary>Nothing.</summary>
    [Benchmark(Baseline = true)]
    public void Empty()
    {
    }

    /// <summary>Adds to a counter with the processor's own atomic addition.</summary>
    /// <returns>The counter.</returns>
    [Benchmark]
    public long Add() => Interlocked.Increment(ref _counter);

    /// <summary>Adds to a counter under a lock.</summary>
    /// <returns>The counter.</returns>
    [Benchmark]
    public long TakeLock()
    {
        lock (_lock)
        {
            return ++_counter;
        }
    }

    /// <summary>Computes for a microsecond.</summary>
    /// <returns>What it came to.</returns>
    [Benchmark]
    public long Spin() => CalibratedSpin.Run(1, _spins);
}
