namespace Weir.Lab.Workers;

/// <summary>How a run of workers is done. Immutable.</summary>
public sealed record WorkerRunSpec
{
    /// <summary>The name of the only group, where groups are not named.</summary>
    public const string DefaultGroup = "workers";

    /// <summary>The name of the workload.</summary>
    public required string Workload { get; init; }

    /// <summary>The groups of workers.</summary>
    /// <value>At least one, with different names. The default is one worker.</value>
    public IReadOnlyList<WorkerGroup> Groups { get; init; } = [new WorkerGroup(DefaultGroup, 1)];

    /// <summary>
    /// How many operations start per second, whether or not earlier ones have ended; <see langword="null"/> for each worker starting when it is free.
    /// </summary>
    /// <value>More than zero. It needs a single group.</value>
    public double? RatePerSecond { get; init; }

    /// <summary>
    /// With a rate, how many operations may have started and not ended: a start beyond it is dropped and counted. <see langword="null"/> drops none.
    /// </summary>
    /// <value>At least 1.</value>
    public int? MaxInFlight { get; init; }

    /// <summary>How long each round is measured.</summary>
    /// <value>More than zero. The default is 1.5 seconds.</value>
    public TimeSpan Duration { get; init; } = TimeSpan.FromSeconds(1.5);

    /// <summary>The whole operations that a round is of, instead of a time; <see langword="null"/> for <see cref="Duration"/>.</summary>
    /// <value>The default is <see langword="null"/>. It cannot be used with a rate.</value>
    internal WholeOperations? Whole { get; init; }

    /// <summary>Whether the first operation that throws ends the run with what it threw. Otherwise failures are counted, and make the round invalid.</summary>
    internal bool FailsFast { get; init; }

    /// <summary>How many rounds are measured. The round is the unit of all statistics.</summary>
    /// <value>At least 1. The default is 10.</value>
    public int Rounds { get; init; } = 10;

    /// <summary>How many rounds are done again because the canary was disturbed just before or after them. It is never the result that decides.</summary>
    /// <value>At least 0. The default is 3, for the whole run.</value>
    public int MostRepeats { get; init; } = 3;

    /// <summary>
    /// Whether the run takes turns with others, in many short rounds (<see cref="IRunObserver.MayStartAsync"/>). They meet the same disturbances, so the
    /// canary is not read and no round repeated for it, and the rate need not be steady when the warm-up ends.
    /// </summary>
    public bool TakesTurns { get; init; }

    /// <summary>
    /// How long the unmeasured warm-up lasts at most; it ends before, when the rate is steady, and takes up to twice as long while code is being compiled.
    /// </summary>
    /// <value>The default is 3 seconds.</value>
    public TimeSpan LongestWarmUp { get; init; } = TimeSpan.FromSeconds(3);

    /// <summary>How many threads the pool makes at once; <see langword="null"/> leaves it as it is.</summary>
    /// <value>At least 1.</value>
    public int? MinThreads { get; init; }

    /// <summary>How long the end of an operation is waited for. When one has not ended then, the run is given up, with what was measured before.</summary>
    /// <value>More than zero. The default is 20 seconds.</value>
    public TimeSpan DrainLimit { get; init; } = TimeSpan.FromSeconds(20);

    /// <summary>The share of operations that may fail before a round is invalid.</summary>
    /// <value>From 0 to 1. The default is 0.</value>
    public double MostFailures { get; init; }

    /// <summary>Whether the latency of operations is measured. Without it the rate of operations below a microsecond is a little better.</summary>
    public bool MeasuresLatency { get; init; } = true;

    /// <summary>
    /// Whether the rate of one synchronous worker is without what its loop adds to short operations (<see cref="WorkerRound.Overhead"/>). Not where runs with
    /// one worker stand beside such with several, of which it cannot be subtracted.
    /// </summary>
    public bool SubtractsOverhead { get; init; } = true;

    /// <summary>The start of all random numbers.</summary>
    public int Seed { get; init; } = 1;

    /// <summary>What the workload was set to, by name. Two runs with different parameters are different things.</summary>
    public IReadOnlyDictionary<string, string> Parameters { get; init; } = new Dictionary<string, string>();

    /// <summary>The number of workers.</summary>
    public int Workers => Groups.Sum(static g => g.Workers);

    /// <summary>A short text that two runs of the same thing share: workload, groups, rate, limits and parameters, not how long or how often.</summary>
    public string ParameterHash
    {
        get
        {
            IEnumerable<string> parts =
            [
                Workload,
                .. Groups.Select(static g => string.Create(CultureInfo.InvariantCulture, $"{g.Name}:{g.Workers}")),
                string.Create(CultureInfo.InvariantCulture, $"{RatePerSecond}|{MaxInFlight}|{MinThreads}|{MeasuresLatency}"),
                .. Whole is null ? Array.Empty<string>() : [$"{Whole}"],
                .. SubtractsOverhead && Workers == 1 ? ["without overhead"] : Array.Empty<string>(),
                .. Parameters.OrderBy(static k => k.Key, StringComparer.Ordinal).Select(static k => $"{k.Key}={k.Value}"),
            ];
            return Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(string.Join('\n', parts))))[..8];
        }
    }

    /// <summary>Throws when the run cannot be done.</summary>
    /// <exception cref="ArgumentException">A value is outside its range; the message names it and the range.</exception>
    public void Validate()
    {
        if (Groups.Count == 0 || Groups.Select(static g => g.Name).Distinct(StringComparer.Ordinal).Count() != Groups.Count)
        {
            throw new ArgumentException("There must be at least one group of workers, and their names must differ.", nameof(Groups));
        }

        foreach (WorkerGroup group in Groups)
        {
            ArgumentException.ThrowIfNullOrEmpty(group.Name, nameof(Groups));
            ArgumentOutOfRangeException.ThrowIfLessThan(group.Workers, 1, nameof(Groups));
        }

        if (RatePerSecond is double rate && !(rate > 0 && double.IsFinite(rate)))
        {
            throw new ArgumentOutOfRangeException(nameof(RatePerSecond), rate, "A rate is more than zero.");
        }

        if (RatePerSecond is not null && Groups.Count > 1)
        {
            throw new ArgumentException("A rate needs a single group of workers.", nameof(RatePerSecond));
        }

        Whole?.Validate();
        if (RatePerSecond is not null && Whole is not null)
        {
            throw new ArgumentException("A rate needs rounds of a time, not of whole operations.", nameof(RatePerSecond));
        }

        if (MaxInFlight is not null && RatePerSecond is null)
        {
            throw new ArgumentException("A limit of operations in flight needs a rate.", nameof(MaxInFlight));
        }

        ArgumentOutOfRangeException.ThrowIfLessThan(MaxInFlight ?? 1, 1, nameof(MaxInFlight));
        ArgumentOutOfRangeException.ThrowIfLessThan(MinThreads ?? 1, 1, nameof(MinThreads));
        ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(Duration, TimeSpan.Zero, nameof(Duration));
        ArgumentOutOfRangeException.ThrowIfLessThan(Rounds, 1, nameof(Rounds));
        if (!(MostFailures is >= 0 and <= 1))
        {
            throw new ArgumentOutOfRangeException(nameof(MostFailures), MostFailures, "The share of operations that may fail is from 0 to 1.");
        }

        ArgumentOutOfRangeException.ThrowIfNegative(MostRepeats, nameof(MostRepeats));
        ArgumentOutOfRangeException.ThrowIfLessThan(LongestWarmUp, TimeSpan.Zero, nameof(LongestWarmUp));
        ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(DrainLimit, TimeSpan.Zero, nameof(DrainLimit));
    }

    /// <summary>
    /// The share of a round in which the compiler may be at work, before it goes noticed: 1 %, and 5 % of the rounds of a run that takes turns, which are
    /// many and short.
    /// </summary>
    public double MostCompiling => TakesTurns ? 0.05 : 0.01;
}

/// <summary>Some workers that do the same.</summary>
/// <param name="Name">The name, different from that of any other group.</param>
/// <param name="Workers">How many workers. At least 1.</param>
public sealed record WorkerGroup(string Name, int Workers);

/// <summary>
/// A window that begins with a common start and ends with the last of its operations, in place of a time that cuts through some: each operation in it is a
/// whole one, so a set can be used up, and what an operation came to can be checked. One of the three says when no more begin.
/// </summary>
internal sealed record WholeOperations
{
    /// <summary>How many operations each worker does.</summary>
    /// <value>At least 1.</value>
    public long? Each { get; init; }

    /// <summary>How many operations all workers do together: who is free does the next.</summary>
    /// <value>At least 1.</value>
    public long? Together { get; init; }

    /// <summary>After what time no more begin. Each worker does one at least.</summary>
    /// <value>Zero or more.</value>
    public TimeSpan? Until { get; init; }

    internal void Validate()
    {
        if ((Each is null ? 0 : 1) + (Together is null ? 0 : 1) + (Until is null ? 0 : 1) != 1)
        {
            throw new ArgumentException($"A window of whole operations has {nameof(Each)}, {nameof(Together)} or {nameof(Until)}, and only one of them.");
        }

        ArgumentOutOfRangeException.ThrowIfLessThan(Each ?? 1, 1, nameof(Each));
        ArgumentOutOfRangeException.ThrowIfLessThan(Together ?? 1, 1, nameof(Together));
        ArgumentOutOfRangeException.ThrowIfLessThan(Until ?? TimeSpan.Zero, TimeSpan.Zero, nameof(Until));
    }
}
