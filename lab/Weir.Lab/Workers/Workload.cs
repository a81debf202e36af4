namespace Weir.Lab.Workers;

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
