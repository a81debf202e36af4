namespace Weir.Lab.Workloads;

/// <summary>Computes and waits, by chance: always the same items.</summary>
internal sealed class MixedWorkload : ItemWorkload, IDisposable
{
    private readonly MixedShape _shape;
    private readonly TimeSpan _grain;
    private readonly double? _stepsPerSecond;
    private CalibratedSpin _spin = new(0);
    private WaitThread? _waits;

    public MixedWorkload(string name, TimeSpan grain, double? stepsPerSecond, MixedShape shape)
    {
        (Name, _grain, _stepsPerSecond, _shape) = (name, grain, stepsPerSecond, shape);
        Call = (item, cancellationToken) => IsPicked(item) ? WaitAsync(item, cancellationToken) : new ValueTask<int>(_spin.Run(item));
    }

    public override string Name { get; }

    public override Func<int, CancellationToken, ValueTask<int>> Call { get; }

    protected override bool Suspends => true;

    public override int Expect(int item) => !_shape.PickedCompute && IsPicked(item) ? item : _spin.Expect(item);

    public override async ValueTask<string?> DescribeAsync(CancellationToken cancellationToken)
    {
        string waiting = await IoWorkload.DescribeAsync(_waits!, cancellationToken).ConfigureAwait(false);
        return $"computes for {Numbers.Time(_grain)} ({Numbers.Grouped(_spin.Steps)} steps); one item in {_shape.PickedOneIn} "
            + $"{(_shape.PickedCompute ? "also " : "instead ")}{waiting}";
    }

    public override ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
    {
        _spin = CalibratedSpin.Of(_grain, _stepsPerSecond ?? CalibratedSpin.MeasureStepsPerSecond());
        _waits = new WaitThread(_grain * _shape.WaitGrains);
        return default;
    }

    public override ValueTask CleanupAsync()
    {
        Dispose();
        return default;
    }

    public void Dispose() => _waits?.Dispose();

    private bool IsPicked(int item) => Share.IsPicked(item, 1.0 / _shape.PickedOneIn, salt: 1);

    private async ValueTask<int> WaitAsync(int item, CancellationToken cancellationToken)
    {
        int result = _shape.PickedCompute ? _spin.Run(item) : item;
        await _waits!.WaitAsync(cancellationToken).ConfigureAwait(false);
        return result;
    }
}

/// <summary>Which items wait, how long, and whether they compute as well.</summary>
internal sealed record MixedShape(int PickedOneIn, int WaitGrains, bool PickedCompute)
{
    /// <summary>A little computing for every item, and a wait for some, as work with a cache in front of a distant store has.</summary>
    public static MixedShape Cache { get; } = new(10, 100, true);

    /// <summary>Computing for one half, and a wait for the other.</summary>
    public static MixedShape Halves { get; } = new(2, 100, false);

    /// <summary>How many grains an item takes on average, if one after the other is done.</summary>
    public double Grains => (PickedCompute ? 1 : 1 - (1.0 / PickedOneIn)) + ((double)WaitGrains / PickedOneIn);
}

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

/// <summary>Picks a share of the items: always the same ones, scattered evenly.</summary>
internal static class Share
{
    public static bool IsPicked(int item, double share, uint salt) => Mix((uint)item + (salt * 0x9E3779B9)) < share * (uint.MaxValue + 1.0);

    // A bijection of 32-bit numbers whose every output bit depends on every input bit.
    private static uint Mix(uint value)
    {
        unchecked
        {
            value ^= value >> 16;
            value *= 0x7feb352d;
            value ^= value >> 15;
            value *= 0x846ca68b;
            return value ^ (value >> 16);
        }
    }
}
