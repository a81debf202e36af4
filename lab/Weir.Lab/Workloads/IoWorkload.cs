namespace Weir.Lab.Workloads;

/// <summary>A wait that holds no thread, ended by a timer thread that is finer than the platform's timers.</summary>
internal sealed class IoWorkload(TimeSpan grain) : ItemWorkload, IDisposable
{
    private WaitThread? _waits;

    public override string Name => "io";

    public override Func<int, CancellationToken, ValueTask<int>> Call => field ??= Of(_waits!);

    protected override bool Suspends => true;

    public override async ValueTask<string?> DescribeAsync(CancellationToken cancellationToken) =>
        await DescribeAsync(_waits!, cancellationToken).ConfigureAwait(false);

    public override ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
    {
        _waits = new WaitThread(grain);
        return default;
    }

    public override Operation CreateOperation(WorkerContext context)
    {
        WaitThread waits = _waits!;
        return Operation.OfAsync(() => waits.WaitAsync());
    }

    public override ValueTask CleanupAsync()
    {
        Dispose();
        return default;
    }

    public void Dispose() => _waits?.Dispose();

    /// <summary>What a wait is, and how long it really takes here.</summary>
    internal static async Task<string> DescribeAsync(WaitThread waits, CancellationToken cancellationToken)
    {
        int probes = (int)Math.Clamp(TimeSpan.FromMilliseconds(50) / waits.Length, 1, 25);
        TimeSpan real = await waits.MeasureAsync(probes, cancellationToken).ConfigureAwait(false);
        return $"waits {Numbers.Time(waits.Length)} without a thread (a timer thread of its own ends the waits; here one takes {Numbers.Time(real)})";
    }

    private static Func<int, CancellationToken, ValueTask<int>> Of(WaitThread waits) => async (item, cancellationToken) =>
    {
        await waits.WaitAsync(cancellationToken).ConfigureAwait(false);
        return item;
    };
}

/// <summary>The platform's own delay.</summary>
internal sealed class DelayWorkload(TimeSpan grain) : ItemWorkload
{
    public override string Name => "delay";

    public override Func<int, CancellationToken, ValueTask<int>> Call { get; } = async (item, cancellationToken) =>
    {
        await Task.Delay(grain, cancellationToken).ConfigureAwait(false);
        return item;
    };

    public override Operation CreateOperation(WorkerContext context) => Operation.OfAsync(() => Task.Delay(grain));
}

/// <summary>One trip through the thread pool.</summary>
internal sealed class YieldWorkload : ItemWorkload
{
    public override string Name => "yield";

    public override Func<int, CancellationToken, ValueTask<int>> Call { get; } = static async (item, _) =>
    {
        await Task.Yield();
        return item;
    };

    public override Operation CreateOperation(WorkerContext context) => Operation.OfAsync(static async Task () => await Task.Yield());
}
