using Weir.Lab.Work;
using Weir.Lab.Workers;

namespace Weir.Cli.Workloads;

/// <summary>A wait that holds no thread, ended by a timer thread that is finer than the platform's timers.</summary>
internal sealed class IoWorkload(TimeSpan grain) : IWorkload, IDisposable
{
    private WaitThread? _waits;

    public string Name => "io";

    public ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
    {
        _waits = new WaitThread(grain);
        return default;
    }

    public Operation CreateOperation(WorkerContext context)
    {
        WaitThread waits = _waits!;
        return Operation.OfAsync(() => waits.WaitAsync());
    }

    public ValueTask CleanupAsync()
    {
        Dispose();
        return default;
    }

    public void Dispose()
    {
        _waits?.Dispose();
    }
}
