namespace Weir.Lab.Workloads;

/// <summary>Does nothing, to measure the overhead of the measurement.</summary>
internal sealed class NoopWorkload : ItemWorkload
{
    public override string Name => "noop";

    public override Func<int, CancellationToken, ValueTask<int>> Call { get; } = static (item, _) => new ValueTask<int>(item);

    public override ValueTask<string?> DescribeAsync(CancellationToken cancellationToken) => new("returns the item");

    public override Operation CreateOperation(WorkerContext context)
    {
        int number = context.Worker;
        return Operation.Of(() => number);
    }
}
