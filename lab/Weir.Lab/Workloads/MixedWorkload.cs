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
