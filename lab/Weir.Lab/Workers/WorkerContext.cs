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
