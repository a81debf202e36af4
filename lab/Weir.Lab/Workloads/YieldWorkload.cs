namespace Weir.Lab.Workloads;

/// <summary>One trip through the thread pool.</summary>
internal sealed class YieldWorkload : ItemWorkload
{
    public override string Name => "yield";

    public override Func<int, CancellationToken, ValueTask<int>> Call { get; } = static async (item, _) =>
    {
        await Task.Yield();
        return item;
    };

    public override Operation CreateOperation(WorkerContext context) => Operation.OfAsync(static async Task () => await Task.Yield());
}
