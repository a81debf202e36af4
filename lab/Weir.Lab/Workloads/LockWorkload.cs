namespace Weir.Lab.Workloads;

/// <summary>One lock that all workers take for a very short time.</summary>
internal sealed class LockWorkload : ItemWorkload
{
    private readonly Lock _lock = new();
    private long _counter;

    public override string Name => "lock";

    public override Func<int, CancellationToken, ValueTask<int>> Call => field ??= (item, _) =>
    {
        Add();
        return new ValueTask<int>(item);
    };

    public override ValueTask BeginRoundAsync(CancellationToken cancellationToken)
    {
        _counter = 0;
        return default;
    }

    public override Operation CreateOperation(WorkerContext context) => Operation.Of(Add);

    public override string? Check(RoundTotals round) =>
        _counter == round.AllExecuted ? null : $"The counter is {_counter} after {round.AllExecuted} additions.";

    private long Add()
    {
        lock (_lock)
        {
            return ++_counter;
        }
    }
}
