using Weir.Lab.Workers;

namespace Weir.Cli.Workloads;

/// <summary>One lock that all workers take for a very short time.</summary>
internal sealed class LockWorkload : IWorkload
{
    private readonly Lock _lock = new();
    private long _counter;

    public string Name => "lock";

    public ValueTask BeginRoundAsync(CancellationToken cancellationToken)
    {
        _counter = 0;
        return default;
    }

    public Operation CreateOperation(WorkerContext context) => Operation.Of(Add);

    public string? Check(RoundTotals round) => _counter == round.AllExecuted ? null : $"The counter is {_counter} after {round.AllExecuted} additions.";

    private long Add()
    {
        lock (_lock)
        {
            return ++_counter;
        }
    }
}
