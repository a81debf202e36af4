namespace Weir.Lab.Workers;

/// <summary>What is measured: it makes the operation of each worker, and says afterwards whether the results are right.</summary>
public interface IWorkload
{
    /// <summary>The name in reports. The default is the name of the class.</summary>
    string Name => GetType().Name;

    /// <summary>Prepares what a run needs. Once, before anything else.</summary>
    /// <param name="spec">The run.</param>
    /// <param name="cancellationToken">Cancels it.</param>
    /// <returns>A task that ends when everything is there.</returns>
    ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken) => default;

    /// <summary>Prepares a round. Before each window, the unmeasured ones of the warm-up too.</summary>
    /// <param name="cancellationToken">Cancels it.</param>
    /// <returns>A task that ends when the round can begin.</returns>
    ValueTask BeginRoundAsync(CancellationToken cancellationToken) => default;

    /// <summary>All workers are there: when this returns, the gate opens. On a thread of the lab, and not in what is measured.</summary>
    void GateOpens()
    {
    }

    /// <summary>All workers have ended what was to be measured. On the same thread.</summary>
    void GateCloses()
    {
    }

    /// <summary>Makes the operation of one worker for one round. It may not be shared by workers unless it is thread-safe.</summary>
    /// <param name="context">The worker.</param>
    /// <returns>The operation. Within a group all are synchronous or all asynchronous.</returns>
    Operation CreateOperation(WorkerContext context);

    /// <summary>Checks the results of a round, when all workers have ended.</summary>
    /// <param name="round">What was done.</param>
    /// <returns>What is wrong, as one sentence; <see langword="null"/> when all is right.</returns>
    string? Check(RoundTotals round) => null;

    /// <summary>Gives back what the run needed. Once, after everything else, also after a failure.</summary>
    /// <returns>A task that ends when it is done.</returns>
    ValueTask CleanupAsync() => default;
}
