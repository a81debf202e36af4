using Weir.Lab.Workers;

namespace Weir.Cli.Workloads;

/// <summary>One trip through the thread pool.</summary>
internal sealed class YieldWorkload : IWorkload
{
    public string Name => "yield";

    public Operation CreateOperation(WorkerContext context) => Operation.OfAsync(static async Task () => await Task.Yield());
}
