using Weir.Lab.Formatting;
using Weir.Lab.Work;

namespace Weir.Cli.Commands.Load.Work;

/// <summary>Computes for a while.</summary>
internal sealed class CpuWork : LoadWork
{
    private readonly CalibratedSpin _spin;
    private readonly TimeSpan _grain;

    private CpuWork(CalibratedSpin spin, TimeSpan grain)
    {
        _spin = spin;
        _grain = grain;
        Processor = (item, _) => new ValueTask<int>(spin.Run(item));
    }

    public override Func<int, CancellationToken, ValueTask<int>> Processor { get; }

    public override string Description =>
        $"computes for {Numbers.Time(_grain)} ({Numbers.Grouped(_spin.Steps)} steps, the same for every arm)";

    public static CpuWork Calibrate(TimeSpan grain) => new(CalibratedSpin.Of(grain, CalibratedSpin.MeasureStepsPerSecond()), grain);

    public override int Expect(int item) => _spin.Expect(item);
}
