using Weir.Lab.Work;
using Weir.Lab.Workers;

namespace Weir.Cli.Workloads;

/// <summary>Computation of a fixed number of steps, whose result is known beforehand.</summary>
internal sealed class CpuWorkload(TimeSpan grain, double? stepsPerSecond) : IWorkload
{
    private CalibratedSpin? _spin;

    public string Name => "cpu";

    public ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
    {
        _spin = CalibratedSpin.Of(grain, stepsPerSecond ?? CalibratedSpin.MeasureStepsPerSecond());
        return default;
    }

    public Operation CreateOperation(WorkerContext context)
    {
        CalibratedSpin spin = _spin!;
        int seed = context.Worker;
        return Operation.Of(() =>
        {
            int result = spin.Run(++seed);
            return result == spin.Expect(seed) ? result : throw new InvalidDataException($"The computation for {seed} came to {result} instead of {spin.Expect(seed)}.");
        });
    }
}
