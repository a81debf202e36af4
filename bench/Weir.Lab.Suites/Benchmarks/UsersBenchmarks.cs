namespace Weir.Lab.Suites;

/// <summary>Methods of a typical user: with a lock, asynchronous, printing, allocating, throwing and hanging.</summary>
[MemoryDiagnoser]
public class UsersBenchmarks
{
    /// <summary>What <see cref="Allocate"/> allocates: the array's elements, its length and the object's header.</summary>
    public const int BytesOfAllocate = 1024;

    private const int CallsOfALine = 1000;
    private const int CallsUntilItThrows = 1000;
    private readonly Lock _lock = new();
    private readonly int _spins = SpinSpeed.PerMicrosecond;
    private long _counter;

    /// <summary>Adds to a counter under a lock of its own.</summary>
    /// <returns>The counter.</returns>
    [Benchmark]
    public long TakeLock()
    {
        lock (_lock)
        {
            return ++_counter;
        }
    }

    /// <summary>Suspends once.</summary>
    [Benchmark]
    public async Task<long> YieldAsync()
    {
        await Task.Yield();
        return ++_counter;
    }

    /// <summary>Computes for a microsecond, and prints a line at the first of each thousand calls.</summary>
    /// <returns>What it came to.</returns>
    [Benchmark]
    public long Print()
    {
        if (_counter++ % CallsOfALine == 0)
        {
            Console.WriteLine("a thousand more");
        }

        return CalibratedSpin.Run(1, _spins);
    }

    /// <summary>Allocates an array.</summary>
    /// <returns>The array.</returns>
    [Benchmark]
    public byte[] Allocate() => new byte[BytesOfAllocate - (3 * sizeof(long))];

    /// <summary>Throws after a thousand calls. It is not a benchmark, because it would have no result.</summary>
    /// <exception cref="InvalidOperationException">There were a thousand calls.</exception>
    public long Throw() => ++_counter > CallsUntilItThrows ? throw new InvalidOperationException("The queue is empty.") : _counter;

    /// <summary>Never returns. It is not a benchmark, because it would not end.</summary>
    public void Hang() => Thread.Sleep(Timeout.Infinite);
}
