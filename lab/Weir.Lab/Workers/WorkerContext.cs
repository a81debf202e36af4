namespace Weir.Lab.Workers;

/// <summary>What one worker knows about itself.</summary>
public sealed class WorkerContext
{
    /// <summary>Creates a context.</summary>
    /// <param name="group">The name of the worker's group.</param>
    /// <param name="worker">The number of the worker among all, from 0.</param>
    /// <param name="indexInGroup">The number of the worker in its group, from 0.</param>
    /// <param name="seed">The start of the worker's random numbers.</param>
    /// <param name="inFlight">The meter that all workers share.</param>
    /// <param name="stopping">Cancelled when the worker is to end.</param>
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

    /// <summary>Random numbers of this worker alone, the same in every run of one seed.</summary>
    public Random Random { get; }

    /// <summary>Counts what the operations really have under way. All workers share it.</summary>
    public InFlightMeter InFlight { get; }

    /// <summary>
    /// Cancelled when all workers have left the measured window. An operation that may wait for others has to end then, with an
    /// <see cref="OperationCanceledException"/> or without.
    /// </summary>
    public CancellationToken Stopping { get; }
}
