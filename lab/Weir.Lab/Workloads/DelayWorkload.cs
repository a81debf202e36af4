namespace Weir.Lab.Workloads;

/// <summary>The platform's own delay.</summary>
internal sealed class DelayWorkload(TimeSpan grain) : ItemWorkload
{
    public override string Name => "delay";

    public override Func<int, CancellationToken, ValueTask<int>> Call { get; } = async (item, cancellationToken) =>
    {
        await Task.Delay(grain, cancellationToken).ConfigureAwait(false);
        return item;
    };

    public override Operation CreateOperation(WorkerContext context) => Operation.OfAsync(() => Task.Delay(grain));
}
