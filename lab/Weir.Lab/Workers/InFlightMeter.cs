namespace Weir.Lab.Workers;

/// <summary>
/// Counts how much is under way at once: on average over time, and at most. Workloads call it around what is really in flight, such as a
/// read of a file, because the number of workers does not tell that.
/// </summary>
/// <remarks>Thread-safe. Two atomic additions a call, so it is for work of a microsecond or more.</remarks>
public sealed class InFlightMeter
{
    // Entries subtract their time and exits add theirs: with what is still inside, this is the area under the depth.
    private long _area;
    private long _depth;
    private long _max;
    private long _entries;
    private long _areaAtReset;
    private long _entriesAtReset;
    private long _resetAt = Stopwatch.GetTimestamp();

    /// <summary>How much is under way now.</summary>
    public long Depth => Volatile.Read(ref _depth);

    /// <summary>The most that was under way at once since the last reset.</summary>
    public long Max => Volatile.Read(ref _max);

    /// <summary>Whether anything entered since the last reset, or is inside.</summary>
    public bool IsUsed => Volatile.Read(ref _entries) != _entriesAtReset || Depth > 0;

    /// <summary>Something begins.</summary>
    public void Enter()
    {
        Interlocked.Add(ref _area, -Stopwatch.GetTimestamp());
        Interlocked.Increment(ref _entries);
        long depth = Interlocked.Increment(ref _depth);
        long max;
        while (depth > (max = Volatile.Read(ref _max)) && Interlocked.CompareExchange(ref _max, depth, max) != max)
        {
        }
    }

    /// <summary>It has ended.</summary>
    public void Exit()
    {
        Interlocked.Decrement(ref _depth);
        Interlocked.Add(ref _area, Stopwatch.GetTimestamp());
    }

    /// <summary>Starts to count anew. What is under way stays so.</summary>
    public void Reset()
    {
        _resetAt = Stopwatch.GetTimestamp();
        _areaAtReset = AreaAt(_resetAt);
        _entriesAtReset = Volatile.Read(ref _entries);
        Volatile.Write(ref _max, Depth);
    }

    /// <summary>The average depth since the last reset, weighted with time.</summary>
    /// <returns>The average; 0 when no time has passed.</returns>
    public double Average()
    {
        long now = Stopwatch.GetTimestamp();
        long elapsed = Clock.Nanoseconds(_resetAt, now);
        return elapsed <= 0 ? 0 : Math.Max(0, (double)Clock.Nanoseconds(_areaAtReset, AreaAt(now)) / elapsed);
    }

    private long AreaAt(long now)
    {
        // Again when somebody entered or left in between. After many tries it is off by one visit at most, which matters little.
        for (int tries = 0; ; tries++)
        {
            long depth = Volatile.Read(ref _depth);
            long area = Volatile.Read(ref _area);
            if (Volatile.Read(ref _depth) == depth || tries == 100)
            {
                return area + (depth * now);
            }
        }
    }
}
