namespace Weir.Lab.Workers;

/// <summary>What one worker knows about itself.</summary>
public sealed class WorkerContext
{
    /// <summary>Creates a context.</summary>
    /// <param name="group">The name of the worker's group.</param>
    /// <param name="worker">The number of the worker among all, from 0.</param>
    /// <param name="indexInGroup">The number of the worker in its group, from 0.</param>
    /// <param name="seed">The seed of the worker's random numbers.</param>
    /// <param name="inFlight">The meter that all workers share.</param>
    /// <param name="stopping">Is cancelled when the worker must end.</param>
    public WorkerContext(string group, int worker, int indexInGroup, int seed, InFlightMeter inFlight, CancellationToken stopping)
    {
        Group = group;
        Worker = worker;
        IndexInGroup = indexInGroup;
        Random = new Random(seed);
        InFlight = inFlight;
        Stopping = stopping;
    }

    /// <summary>The name of the worker's group.</summary>
    public string Group { get; }

    /// <summary>The number of the worker among all, from 0.</summary>
    public int Worker { get; }

    /// <summary>The number of the worker in its group, from 0.</summary>
    public int IndexInGroup { get; }

    /// <summary>The random numbers of this worker; they are the same in every run with the same seed.</summary>
    public Random Random { get; }

    /// <summary>Counts the operations that are really in flight. All workers share it.</summary>
    public InFlightMeter InFlight { get; }

    /// <summary>
    /// Is cancelled when all workers have left the measured window. An operation that may wait for others must then end, with an
    /// <see cref="OperationCanceledException"/> or without.
    /// </summary>
    public CancellationToken Stopping { get; }
}

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

/// <summary>How much was under way at once.</summary>
/// <param name="Average">On average over the window.</param>
/// <param name="Max">At most.</param>
/// <param name="IsMeasured">
/// Whether it was counted: by the workload, around what it really has in flight, or by the pacer. Otherwise each worker had one operation in flight all the
/// time, as workers have that start the next when the last has ended.
/// </param>
public sealed record InFlightDepth(double Average, long Max, bool IsMeasured);
