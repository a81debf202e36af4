namespace Weir.Lab.Measuring;

/// <summary>Options for measuring from code. Immutable.</summary>
public sealed record MeasureOptions
{
    /// <summary>The number of workers. Each starts its next operation when the last one has ended.</summary>
    /// <value>1 to 4096. The default is the number of processors.</value>
    public int Workers { get; init; } = Environment.ProcessorCount;

    /// <summary>
    /// Named groups instead of <see cref="Workers"/>, for a workload whose workers do not all do the same. Each worker finds its group in
    /// <see cref="WorkerContext.Group"/>. Cannot be used where the number of workers varies.
    /// </summary>
    /// <value>Different names, each with at least one worker. <see langword="null"/>, the default, for one group.</value>
    public IReadOnlyList<WorkerGroup>? Groups { get; init; }

    /// <summary>
    /// How many operations start per second, whether earlier ones have ended or not; <see langword="null"/> for as many as the workers can do. With a rate,
    /// latency is also measured from the intended start.
    /// </summary>
    /// <value>More than zero.</value>
    public double? RatePerSecond { get; init; }

    /// <summary>With a rate, the most operations in flight; further starts are dropped and counted. <see langword="null"/> drops none.</summary>
    /// <value>At least 1.</value>
    public int? MaxInFlight { get; init; }

    /// <summary>The length of a round.</summary>
    /// <value>10 milliseconds to an hour; <see langword="null"/> for 1.2 seconds, or for 100 milliseconds where workloads take turns.</value>
    public TimeSpan? Duration { get; init; }

    /// <summary>The number of rounds of each workload. The round is the unit of all statistics.</summary>
    /// <value>1 to 10,000, and at least 8 to compare; <see langword="null"/> for 10, or 48 to compare, or 6 to scale.</value>
    public int? Rounds { get; init; }

    /// <summary>
    /// The longest time for the warm-up, which is not measured. It ends earlier if the rate is steady, and takes up to five seconds longer while code is being
    /// compiled.
    /// </summary>
    /// <value>Zero or more. The default is 3 seconds.</value>
    public TimeSpan LongestWarmUp { get; init; } = TimeSpan.FromSeconds(3);

    /// <summary>How long to wait for an operation, a set-up or a clean-up to end.</summary>
    /// <value>More than zero. The default is 20 seconds.</value>
    public TimeSpan Timeout { get; init; } = TimeSpan.FromSeconds(20);

    /// <summary>The seed of all random numbers, such as those of <see cref="WorkerContext.Random"/>.</summary>
    public int Seed { get; init; } = 1;

    /// <summary>Is called after five seconds with what the measurement is waiting for, such as <c>SetupAsync to end</c>, on another thread.</summary>
    public Action<string>? Waiting { get; init; }

    /// <summary>How long a set-up or a clean-up may take, if not as long as an operation.</summary>
    internal TimeSpan? CallLimit { get; init; }

    /// <summary>The run of these options.</summary>
    /// <exception cref="ArgumentOutOfRangeException">A value is outside its range.</exception>
    internal WorkerRunSpec Spec(string name, int workers, int rounds, bool takesTurns)
    {
        Check(nameof(Workers), workers is >= 1 and <= 4096, workers, "1 to 4096");
        TimeSpan duration = Duration ?? TimeSpan.FromMilliseconds(takesTurns ? 100 : 1200);
        Check(nameof(Duration), duration >= TimeSpan.FromMilliseconds(10) && duration <= TimeSpan.FromHours(1), duration, "10 milliseconds to an hour");
        Check(nameof(RatePerSecond), RatePerSecond is null or > 0 and < double.PositiveInfinity, RatePerSecond, "more than zero");
        Check(
            nameof(MaxInFlight), MaxInFlight is null || (MaxInFlight >= 1 && RatePerSecond is not null), MaxInFlight, "at least 1, and needs a RatePerSecond");
        Check(nameof(LongestWarmUp), LongestWarmUp >= TimeSpan.Zero, LongestWarmUp, "zero or more");
        Check(nameof(Timeout), Timeout > TimeSpan.Zero, Timeout, "more than zero");
        WorkerRunSpec spec = new()
        {
            Workload = name,
            Groups = Groups ?? [new WorkerGroup(WorkerRunSpec.DefaultGroup, workers)],
            RatePerSecond = RatePerSecond,
            MaxInFlight = MaxInFlight,
            Duration = duration,
            Rounds = takesTurns ? int.MaxValue : rounds,
            LongestWarmUp = LongestWarmUp,
            DrainLimit = Timeout,
            Seed = Seed,
            TakesTurns = takesTurns,
        };
        spec.Validate();
        return spec;
    }

    /// <summary>How many rounds, of a thing that takes as many by default.</summary>
    internal int RoundsOr(int usual, int least)
    {
        int rounds = Rounds ?? usual;
        Check(nameof(Rounds), rounds >= least && rounds <= 10_000, rounds, $"{least} to 10,000");
        return rounds;
    }

    private static void Check(string name, bool isFine, object? value, string range)
    {
        if (!isFine)
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be {range}.");
        }
    }
}
