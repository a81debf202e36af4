namespace Weir.Lab.Workloads;

/// <summary>Computation of a fixed number of steps, whose result is known beforehand.</summary>
internal sealed class CpuWorkload(TimeSpan grain, double? stepsPerSecond) : ItemWorkload
{
    private CalibratedSpin _spin = new(0);

    public override string Name => "cpu";

    public override Func<int, CancellationToken, ValueTask<int>> Call => field ??= Of(_spin);

    public override int Expect(int item) => _spin.Expect(item);

    public override ValueTask<string?> DescribeAsync(CancellationToken cancellationToken) =>
        new($"computes for {Numbers.Time(grain)} ({Numbers.Grouped(_spin.Steps)} steps, the same for every arm)");

    public override ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
    {
        _spin = CalibratedSpin.Of(grain, stepsPerSecond ?? CalibratedSpin.MeasureStepsPerSecond());
        return default;
    }

    public override Operation CreateOperation(WorkerContext context)
    {
        CalibratedSpin spin = _spin;
        int seed = context.Worker;
        return Operation.Of(() =>
        {
            int result = spin.Run(++seed);
            return result == spin.Expect(seed)
                ? result
                : throw new InvalidDataException($"The computation for {seed} came to {result} instead of {spin.Expect(seed)}.");
        });
    }

    private static Func<int, CancellationToken, ValueTask<int>> Of(CalibratedSpin spin) => (item, _) => new ValueTask<int>(spin.Run(item));
}
