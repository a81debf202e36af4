namespace Weir.Lab.Benchmarks.Engine;

/// <summary>Makes the windows of a benchmark, and learns from each how many calls go between two looks at the clock.</summary>
internal sealed class BenchmarkWindows
{
    private const string Group = WorkerRunSpec.DefaultGroup;

    // The first as in all commands. The second is of an operation, not of a window: BenchmarkDotNet has no limit for a whole case.
    private static readonly TimeSpan Said = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan GivenUp = TimeSpan.FromMinutes(5);
    private readonly Operation _operation;
    private readonly Workload _workload;
    private readonly WorkerRunSpec _spec;
    private readonly Action<string> _waiting;
    private int _batch = 1;
    private bool _isFixed;

    public BenchmarkWindows(Operation operation, int workers, TimeSpan window, long? count, Action<string> say)
    {
        _waiting = what => say(FormattableString.Invariant(
            $"// Waiting for a worker to {what}; the benchmark is given up after {GivenUp.TotalMinutes:0} min."));
        _operation = operation;
        IsAsync = operation.IsAsync;
        Workers = workers;
        Count = count;
        _workload = new Workload("benchmark", _ => operation);
        _spec = new WorkerRunSpec
        {
            Workload = "benchmark",
            Groups = [new WorkerGroup(Group, workers)],
            Duration = window,
            Rounds = 1,
            DrainLimit = GivenUp,
        };
    }

    public int Workers { get; }

    public bool IsAsync { get; }

    /// <summary>How many calls each worker makes in a window; <see langword="null"/> when the window is a time.</summary>
    public long? Count { get; }

    public bool HasCount => Count is not null;

    /// <summary>One call of each worker.</summary>
    /// <param name="other">What they call; <see langword="null"/> for the benchmark.</param>
    public BenchmarkWindow Once(Operation? other = null) =>
        Window(other is null ? _workload : new Workload("benchmark", _ => other), timed: false, _spec.Duration, 1);

    /// <summary>A window of the job's length.</summary>
    public BenchmarkWindow Measured(bool timed, TimeSpan? duration = null) => Window(_workload, timed, duration ?? _spec.Duration, Count);

    /// <summary>Bytes that a window itself allocates, whatever is measured in it.</summary>
    public long OwnBytes() => IdleWindow.Bytes(_spec, IsAsync ? new HashSet<string> { Group } : [], HasCount ? 1 : null, CancellationToken.None, _operation);

    /// <summary>From here on all windows are alike.</summary>
    public void Fix() => _isFixed = true;

    public void Learn(WindowOutcome outcome)
    {
        if (!_isFixed && !outcome.IsWhole && outcome.Rate > 0)
        {
            _batch = outcome.NextBatches()[Group];
        }
    }

    private BenchmarkWindow Window(Workload workload, bool timed, TimeSpan duration, long? count) => new(
        this,
        _spec with { MeasuresLatency = timed },
        workload,
        new WindowPlan(1, duration, new Dictionary<string, int> { [Group] = count is null ? _batch : 1 })
        {
            Whole = count is null ? null : new WholeOperations { Each = count }, HasTimeline = false, Stall = (Said, GivenUp),
        },
        _waiting);
}
