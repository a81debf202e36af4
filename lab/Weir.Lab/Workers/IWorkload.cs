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

/// <summary>A workload made from a delegate, for work that needs no preparation.</summary>
public sealed class Workload : IWorkload
{
    private readonly Func<WorkerContext, Operation> _create;

    /// <summary>Creates a workload.</summary>
    /// <param name="name">The name in reports.</param>
    /// <param name="create">Creates the operation of one worker for one round.</param>
    public Workload(string name, Func<WorkerContext, Operation> create)
    {
        ArgumentException.ThrowIfNullOrEmpty(name);
        ArgumentNullException.ThrowIfNull(create);
        Name = name;
        _create = create;
    }

    /// <summary>Creates a workload of one operation that all workers share.</summary>
    /// <param name="name">The name in reports.</param>
    /// <param name="operation">The operation. All workers call its delegate at the same time, so it must be thread-safe.</param>
    public Workload(string name, Operation operation)
        : this(name, _ => operation) => ArgumentNullException.ThrowIfNull(operation);

    /// <inheritdoc/>
    public string Name { get; }

    /// <summary>Checks the results of a round; see <see cref="IWorkload.Check"/>.</summary>
    public Func<RoundTotals, string?>? Verify { get; init; }

    /// <summary>Prepares a round; see <see cref="IWorkload.BeginRoundAsync"/>.</summary>
    public Action? BeginRound { get; init; }

    /// <inheritdoc/>
    public ValueTask BeginRoundAsync(CancellationToken cancellationToken)
    {
        BeginRound?.Invoke();
        return default;
    }

    /// <inheritdoc/>
    public Operation CreateOperation(WorkerContext context) => _create(context);

    /// <inheritdoc/>
    public string? Check(RoundTotals round) => Verify?.Invoke(round);
}

/// <summary>What the workers of a round have done, with the operations before and after the measured window.</summary>
/// <param name="Executed">How many operations were completed by each group, by its name.</param>
/// <param name="Failures">How many operations failed.</param>
public sealed record RoundTotals(IReadOnlyDictionary<string, long> Executed, long Failures)
{
    /// <summary>The number of completed operations.</summary>
    public long AllExecuted => Executed.Values.Sum();
}
