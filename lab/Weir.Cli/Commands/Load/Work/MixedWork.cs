using Weir.Lab.Formatting;
using Weir.Lab.Work;

namespace Weir.Cli.Commands.Load.Work;

/// <summary>Computes a little for every item, and for some waits as well, as work with a cache in front of a distant store does.</summary>
internal sealed class MixedWork : LoadWork
{
    /// <summary>One item in so many waits.</summary>
    public const int WaitsOneIn = 10;

    /// <summary>How many grains it waits.</summary>
    public const int WaitGrains = 100;

    private readonly CalibratedSpin _spin;
    private readonly WaitThread _waits;

    private MixedWork(CalibratedSpin spin, WaitThread waits, string description)
    {
        _spin = spin;
        _waits = waits;
        Description = description;
        Processor = (item, cancellationToken) =>
            Share.IsPicked(item, 1.0 / WaitsOneIn, salt: 1) ? WaitAsync(item, cancellationToken) : new ValueTask<int>(spin.Run(item));
    }

    public override Func<int, CancellationToken, ValueTask<int>> Processor { get; }

    public override string Description { get; }

    public static async Task<MixedWork> StartAsync(TimeSpan grain, CancellationToken cancellationToken)
    {
        CalibratedSpin spin = CalibratedSpin.Of(grain, CalibratedSpin.MeasureStepsPerSecond());
        WaitThread waits = new(grain * WaitGrains);
        string waiting = await IoWork.DescribeAsync(waits, cancellationToken).ConfigureAwait(false);
        return new MixedWork(spin, waits, $"computes for {Numbers.Time(grain)} ({Numbers.Grouped(spin.Steps)} steps); one item in {WaitsOneIn} also {waiting}");
    }

    public override int Expect(int item) => _spin.Expect(item);

    protected override void End() => _waits.Dispose();

    private async ValueTask<int> WaitAsync(int item, CancellationToken cancellationToken)
    {
        int result = _spin.Run(item);
        await _waits.WaitAsync(cancellationToken).ConfigureAwait(false);
        return result;
    }
}
