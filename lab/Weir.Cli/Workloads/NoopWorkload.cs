using Weir.Lab.Workers;

namespace Weir.Cli.Workloads;

/// <summary>Nothing: what is measured is the measuring itself.</summary>
internal sealed class NoopWorkload : IWorkload
{
    public string Name => "noop";

    public Operation CreateOperation(WorkerContext context)
    {
        int number = context.Worker;
        return Operation.Of(() => number);
    }
}
