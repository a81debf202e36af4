namespace Weir.Lab.Workers;

/// <summary>Defines what is measured: creates the operation of each worker, and checks the results afterwards.</summary>
public interface IWorkload
{
    /// <summary>The name in reports. The default is the name of the class.</summary>
    string Name => GetType().Name;

    /// <summary>Prepares the run. Called once, before anything else.</summary>
    /// <param name="spec">The run.</param>
    /// <param name="cancellationToken">Cancels it.</param>
    /// <returns>A task that ends when the set-up is done.</returns>
    ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken) => default;

    /// <summary>Prepares a round. Called before each window, including the unmeasured windows of the warm-up.</summary>
    /// <param name="cancellationToken">Cancels it.</param>
    /// <returns>A task that ends when the round can begin.</returns>
    ValueTask BeginRoundAsync(CancellationToken cancellationToken) => default;

    /// <summary>Is called when all workers are ready; when it returns, they start. It runs on a thread of the lab and is not measured.</summary>
    void WorkersStarting()
    {
    }

    /// <summary>Is called on the same thread when all workers have ended the measured work.</summary>
    void WorkersEnded()
    {
    }

    /// <summary>Creates the operation of one worker for one round. Workers may share it only if it is thread-safe.</summary>
    /// <param name="context">The worker.</param>
    /// <returns>The operation. Within a group, all must be synchronous or all asynchronous.</returns>
    Operation CreateOperation(WorkerContext context);

    /// <summary>Checks the results of a round, when all workers have ended.</summary>
    /// <param name="round">What was done.</param>
    /// <returns>What is wrong, as one sentence; <see langword="null"/> if everything is right.</returns>
    string? Check(RoundTotals round) => null;

    /// <summary>Releases the resources of the run. Called once, after everything else, even after a failure.</summary>
    /// <returns>A task that ends when the clean-up is done.</returns>
    ValueTask CleanupAsync() => default;
}
