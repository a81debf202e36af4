namespace Weir.Lab.Workloads;

/// <summary>Computes, and for some items, by chance, a hundred times as long: always the same items.</summary>
internal sealed class HeavyTailWorkload : ItemWorkload
{
    /// <summary>One item in so many takes long.</summary>
    public const int LongOneIn = 100;

    /// <summary>How many times as long.</summary>
    public const int LongGrains = 100;

    private readonly TimeSpan _grain;
    private readonly double? _stepsPerSecond;
    private CalibratedSpin _short = new(0);
    private CalibratedSpin _long = new(0);

    public HeavyTailWorkload(TimeSpan grain, double? stepsPerSecond)
    {
        (_grain, _stepsPerSecond) = (grain, stepsPerSecond);
        Call = (item, _) => new ValueTask<int>(Of(item).Run(item));
    }

    public override string Name => "heavy-tail";

    public override Func<int, CancellationToken, ValueTask<int>> Call { get; }

    public override int Expect(int item) => Of(item).Expect(item);

    public override ValueTask<string?> DescribeAsync(CancellationToken cancellationToken) =>
        new($"computes for {Numbers.Time(_grain)} ({Numbers.Grouped(_short.Steps)} steps); one item in {LongOneIn} for {Numbers.Time(_grain * LongGrains)}");

    public override ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
    {
        double speed = _stepsPerSecond ?? CalibratedSpin.MeasureStepsPerSecond();
        (_short, _long) = (CalibratedSpin.Of(_grain, speed), CalibratedSpin.Of(_grain * LongGrains, speed));
        return default;
    }

    private CalibratedSpin Of(int item) => Share.IsPicked(item, 1.0 / LongOneIn, salt: 1) ? _long : _short;
}
