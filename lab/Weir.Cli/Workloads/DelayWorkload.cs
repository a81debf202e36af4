using Weir.Lab.Workers;

namespace Weir.Cli.Workloads;

/// <summary>The platform's own delay.</summary>
internal sealed class DelayWorkload(TimeSpan grain) : IWorkload
{
    public string Name => "delay";

    public Operation CreateOperation(WorkerContext context) => Operation.OfAsync(() => Task.Delay(grain));
}
