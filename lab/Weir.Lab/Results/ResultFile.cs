namespace Weir.Lab.Results;

/// <summary>The result of a command, as stored in a file. It is enough to print every table and plot again, to compare, and to repeat the run.</summary>
public sealed record ResultFile
{
    /// <summary>The version of the format that this program writes. It also reads all earlier versions.</summary>
    public const int CurrentVersion = 2;

    /// <summary>What kind of file this is; always <c>weir-result</c>.</summary>
    public string Format { get; init; } = "weir-result";

    /// <summary>The version of the format.</summary>
    public int Version { get; init; } = CurrentVersion;

    /// <summary>The command, such as <c>hash</c>.</summary>
    public required string Command { get; init; }

    /// <summary>The arguments that repeat the run.</summary>
    public required IReadOnlyList<string> Arguments { get; init; }

    /// <summary>What is measured, in words.</summary>
    public required string Work { get; init; }

    /// <summary>What a rate counts, in the plural, such as <c>tasks</c>.</summary>
    public required string Unit { get; init; }

    /// <summary>When it started.</summary>
    public required DateTimeOffset StartedAt { get; init; }

    /// <summary>How long the command took, in seconds.</summary>
    public double Seconds { get; init; }

    /// <summary>Whether it was stopped before everything was measured.</summary>
    public bool Partial { get; init; }

    /// <summary>Where it was measured.</summary>
    public required MachineRecord Machine { get; init; }

    /// <summary>The sources that were measured; <see langword="null"/> outside a git repository.</summary>
    public SourceRecord? Source { get; init; }

    /// <summary>The settings that all arms share, by name.</summary>
    public IReadOnlyDictionary<string, string> Settings { get; init; } = new Dictionary<string, string>();

    /// <summary>The measured arms.</summary>
    public IReadOnlyList<ArmRecord> Arms { get; init; } = [];

    /// <summary>A summary of the rounds of each measured arm. It is written for other programs and never read, because it follows from the rounds.</summary>
    public IReadOnlyList<ArmSummary> Summary => [.. Arms.Where(static a => a.IsMeasured).Select(a => ArmSummary.Of(a, Arms, Machine.ClockNs))];

    /// <summary>Arms compared with each other.</summary>
    public IReadOnlyList<ComparisonRecord> Comparisons { get; init; } = [];

    /// <summary>Scaling laws fitted to arms of one name.</summary>
    public IReadOnlyList<FitRecord> Fits { get; init; } = [];

    /// <summary>What you should know before you trust the figures.</summary>
    public IReadOnlyList<Finding> Findings { get; init; } = [];

    /// <summary>A result of what was measured here: on this machine, of the sources that are here.</summary>
    internal static ResultFile Here(string command, IReadOnlyList<string> arguments, string work, string unit, DateTimeOffset startedAt) => new()
    {
        Command = command,
        Arguments = arguments,
        Work = work,
        Unit = unit,
        StartedAt = startedAt,
        Machine = MachineRecord.Read(),
        Source = SourceRecord.Read(),
    };

    /// <summary>This result with profiles of its arms.</summary>
    /// <param name="profiles">Profiles by the number of the arm, from 0.</param>
    internal ResultFile With(IReadOnlyDictionary<int, ProfileRecord> profiles) =>
        profiles.Count == 0 ? this : this with { Arms = [.. Arms.Select((a, i) => a with { Profile = profiles.GetValueOrDefault(i) })] };

    /// <summary>The names of the arms, each once, in their order.</summary>
    public IEnumerable<string> Names() => Arms.Select(static a => a.Name).Distinct();

    /// <summary>Whether there is a finding of this level or worse.</summary>
    public bool Has(FindingLevel level) => Findings.Any(f => f.Level >= level);

    /// <summary>Whether a finding says that other programs had a part of the machine.</summary>
    internal bool IsOfAnUnquietMachine => Findings.Any(static f => f.IsOfAnUnquietMachine);
}

/// <summary>One way to do the work, with a number of workers, and its rounds.</summary>
public sealed record ArmRecord
{
    /// <summary>The setting with the command, if the arm is a program that is started once per round.</summary>
    public const string Command = "command";

    /// <summary>The name. Arms with the same name differ only in their workers.</summary>
    public required string Name { get; init; }

    /// <summary>The number of workers.</summary>
    public required int Workers { get; init; }

    /// <summary>The settings of this arm, by name.</summary>
    public IReadOnlyDictionary<string, string> Settings { get; init; } = new Dictionary<string, string>();

    /// <summary>The parameters that the run varied, and their values in this arm; they are part of its name.</summary>
    public IReadOnlyDictionary<string, string> Varied { get; init; } = new Dictionary<string, string>();

    /// <summary>The rounds, in the order in which they were measured.</summary>
    public IReadOnlyList<RoundRecord> Rounds { get; init; } = [];

    /// <summary>The decisions of the arm, if it adapts itself.</summary>
    public IReadOnlyList<DecisionRecord> Decisions { get; init; } = [];

    /// <summary>The profile of one more round after these; <see langword="null"/> without one. That round is not among them.</summary>
    public ProfileRecord? Profile { get; init; }

    /// <summary>The rounds that ran to their end and are valid.</summary>
    [JsonIgnore]
    public IReadOnlyList<RoundRecord> Counted => [.. Rounds.Where(static r => !r.Partial && r.Problem is null)];

    /// <summary>Whether there is anything to report.</summary>
    [JsonIgnore]
    public bool IsMeasured => Counted.Count > 0;

    /// <summary>Whether the arm is such a program. It has no workers of the lab, and nothing is known about its inside.</summary>
    [JsonIgnore]
    public bool IsProgram => Settings.ContainsKey(Command);

    /// <summary>Name and workers.</summary>
    [JsonIgnore]
    public string Label => IsProgram ? Name : $"{Name} x {Workers}";

    /// <summary>Whether its operations are items of passes. Those of a queue have figures of their own.</summary>
    internal bool HasPasses => Rounds.Any(static r => r is { Passes: not null, Lost: null });

    /// <summary>Whether its operations are items that went through a queue.</summary>
    internal bool HasQueue => Rounds.Any(static r => r.Lost is not null);

    /// <summary>This arm. If it was stopped before its first round ended, the part of that round counts.</summary>
    internal ArmRecord OrPart() => IsMeasured ? this : this with { Rounds = [.. Rounds.Select(static r => r with { Partial = false })] };

    /// <summary>The rates per second of the rounds. Its median is the arm's rate wherever one figure is shown.</summary>
    internal Spread Rate() => Spread.Of(Counted.Select(static r => r.Rate));

    /// <summary>The median of the rates, and the two rates between which the true median lies.</summary>
    public MedianInterval RateInterval() => MedianInterval.Of([.. Counted.Select(static r => r.Rate)]);

    /// <summary>The mean of a figure over the rounds that have it.</summary>
    internal double? Mean(Func<RoundRecord, double?> figure) =>
        Counted.Select(figure).OfType<double>().ToArray() is { Length: > 0 } values ? values.Average() : null;

    /// <summary>The greatest value of a figure over the rounds that have it.</summary>
    internal double? Max(Func<RoundRecord, double?> figure) =>
        Counted.Select(figure).OfType<double>().ToArray() is { Length: > 0 } values ? values.Max() : null;

    /// <summary>The latencies of all rounds together, never averaged; <see langword="null"/> if there are none.</summary>
    internal LatencyHistogram? Latency(Func<RoundRecord, string?> kind)
    {
        LatencyHistogram? merged = null;
        foreach (string text in Counted.Select(kind).OfType<string>())
        {
            (merged ??= new LatencyHistogram()).Merge(HistogramCodec.Decode(text));
        }

        return merged is { Count: > 0 } ? merged : null;
    }
}

/// <summary>What an arm that adapts itself decided, and why.</summary>
public sealed record DecisionRecord
{
    /// <summary>In which of its calls: <c>first</c>, when it knew nothing, or <c>last</c>.</summary>
    public required string Call { get; init; }

    /// <summary>When, in seconds since the start of the call.</summary>
    public required double AtSeconds { get; init; }

    /// <summary>How many items of the call had ended.</summary>
    public required long Items { get; init; }

    /// <summary>How items ran before.</summary>
    public required string From { get; init; }

    /// <summary>How items run from then on; the same if only a limit changed.</summary>
    public required string To { get; init; }

    /// <summary>The threads that it may keep busy from then on.</summary>
    public required int Threads { get; init; }

    /// <summary>The items that it may have in flight from then on.</summary>
    public required int InFlight { get; init; }

    /// <summary>The reason, for people.</summary>
    public required string Reason { get; init; }

    /// <summary>The decision as a sentence.</summary>
    /// <returns>Call, time, items, change and reason.</returns>
    public override string ToString() => FormattableString.Invariant(
        $"{Call} call, {AtSeconds * 1e3:0.00} ms, {Numbers.Grouped(Items)} items: {(From == To ? To : $"{From} -> {To}")}, threads ")
            + FormattableString.Invariant($"{Numbers.Grouped(Threads)}, in flight {Numbers.Grouped(InFlight)}: {Reason}");
}

/// <summary>One round of one arm. Figures that a command or a system does not have are <see langword="null"/>.</summary>
public sealed record RoundRecord
{
    /// <summary>Its number among all rounds of the run, from 1.</summary>
    public int Order { get; init; }

    /// <summary>Whether it was stopped before its end. Such a round counts nowhere.</summary>
    public bool Partial { get; init; }

    /// <summary>Why the round is invalid; <see langword="null"/> when it is fine.</summary>
    public string? Problem { get; init; }

    /// <summary>Whether the problem is one of the conditions, such as code that was still being compiled, and not a wrong result.</summary>
    public bool Disturbed { get; init; }

    /// <summary>How many passes over the same operations were completed; <see langword="null"/> where there are none.</summary>
    public long? Passes { get; init; }

    /// <summary>What was done.</summary>
    public required long Operations { get; init; }

    /// <summary>How long it took, in seconds.</summary>
    public required double Seconds { get; init; }

    /// <summary>Operations per second.</summary>
    public required double Rate { get; init; }

    /// <summary>Operations that threw or ran out of time.</summary>
    public long Failures { get; init; }

    /// <summary>The failures by the type of what was thrown; <see langword="null"/> where there are none, or they are not told apart.</summary>
    public IReadOnlyDictionary<string, long>? FailureKinds { get; init; }

    /// <summary>Those of the failures that ran out of time; <see langword="null"/> where that is not told apart.</summary>
    public long? TimedOut { get; init; }

    /// <summary>Processor time of the process outside of the kernel, in seconds.</summary>
    public double CpuUserSeconds { get; init; }

    /// <summary>Processor time of the process in the kernel, in seconds.</summary>
    public double CpuSystemSeconds { get; init; }

    /// <summary>The share of the machine's processor time that nobody used, from 0 to 1.</summary>
    public double? MachineIdle { get; init; }

    /// <summary>The share of the machine's processor time that other programs did not take, from 0 to 1.</summary>
    public double? Room { get; init; }

    /// <summary>
    /// Which of the processes of its arm made it, from 1; <see langword="null"/> where all have one, or each round is a start of a program.
    /// </summary>
    public int? Process { get; init; }

    /// <summary>Which turn of these processes it belongs to, from 1.</summary>
    public int? Turn { get; init; }

    /// <summary>Bytes that the operations allocated, without what the lab itself allocates.</summary>
    public long? AllocatedBytes { get; init; }

    /// <summary>Collections of generation 0.</summary>
    public int? Gen0 { get; init; }

    /// <summary>Collections of generation 1.</summary>
    public int? Gen1 { get; init; }

    /// <summary>Collections of generation 2.</summary>
    public int? Gen2 { get; init; }

    /// <summary>How long collections paused the process, in seconds.</summary>
    public double? GcPauseSeconds { get; init; }

    /// <summary>Threads of the pool at the end.</summary>
    public int? PoolThreads { get; init; }

    /// <summary>How often a thread had to wait for a monitor.</summary>
    public long? LockContentions { get; init; }

    /// <summary>How often the kernel switched away from threads of the process.</summary>
    public long? ContextSwitches { get; init; }

    /// <summary>Methods that were compiled in it.</summary>
    public long? CompiledMethods { get; init; }

    /// <summary>How long the compiler was at work, in seconds.</summary>
    public double? CompilationSeconds { get; init; }

    /// <summary>Work items that waited for a thread of the pool at the end.</summary>
    public long? PoolPending { get; init; }

    /// <summary>Processor time that the hypervisor gave to others, in seconds.</summary>
    public double? StealSeconds { get; init; }

    /// <summary>How long some task of the machine waited for a processor, in seconds.</summary>
    public double? CpuPressureSeconds { get; init; }

    /// <summary>How long some task of the machine waited for a device, in seconds.</summary>
    public double? IoPressureSeconds { get; init; }

    /// <summary>In how many periods the processor quota of the control group was used up.</summary>
    public long? ThrottledPeriods { get; init; }

    /// <summary>The most memory that the process had resident so far.</summary>
    public long? PeakResidentBytes { get; init; }

    /// <summary>
    /// What the measuring loop adds to each operation, in nanoseconds; <see langword="null"/> where it is not measured, as for operations of two microseconds
    /// and more.
    /// </summary>
    public double? OverheadNs { get; init; }

    /// <summary>Whether the rate is without that.</summary>
    public bool OverheadSubtracted { get; init; }

    /// <summary>How many operations were under way at once on average.</summary>
    public double? Open { get; init; }

    /// <summary>The most operations that were under way at once.</summary>
    public double? OpenMax { get; init; }

    /// <summary>How many reads waited in the kernel on average.</summary>
    public double? InFlight { get; init; }

    /// <summary>The most reads that waited in the kernel.</summary>
    public double? InFlightMax { get; init; }

    /// <summary>Bytes that the operations read.</summary>
    public long? Bytes { get; init; }

    /// <summary>Bytes that the kernel read from a device for this process.</summary>
    public long? DeviceBytes { get; init; }

    /// <summary>A checksum over all results, whatever their order.</summary>
    public string? Checksum { get; init; }

    /// <summary>Latencies from the start of an operation, as a coded histogram.</summary>
    public string? Service { get; init; }

    /// <summary>Latencies from the time at which an operation should have started, as a coded histogram; with a rate only.</summary>
    public string? Response { get; init; }

    /// <summary>How many short operations went between two looks at the clock; <see langword="null"/> where each was timed, or that was not the same.</summary>
    public int? Batch { get; init; }

    /// <summary>Of what takes turns, how long such batches took, as a coded histogram.</summary>
    public string? BatchTimes { get; init; }

    /// <summary>Operations that started later than they should have; with a rate only.</summary>
    public long? LateStarts { get; init; }

    /// <summary>Operations that were not started because too many were under way; with a rate only.</summary>
    public long? Dropped { get; init; }

    /// <summary>Items of a queue that were processed again; <see langword="null"/> where there is no queue.</summary>
    public long? Duplicates { get; init; }

    /// <summary>Items of a queue that were published and never done; <see langword="null"/> where there is no queue.</summary>
    public long? Lost { get; init; }

    /// <summary>Items of a queue that were processed after a later one of their key; <see langword="null"/> where there is no queue.</summary>
    public long? OutOfOrder { get; init; }

    /// <summary>Operations of each worker.</summary>
    public IReadOnlyList<long> PerWorker { get; init; } = [];

    /// <summary>The longest time that a worker went without ending an operation, in seconds.</summary>
    public double? LongestGapSeconds { get; init; }

    /// <summary>How much longer than on an undisturbed machine the canary took just before this round, 1 being undisturbed.</summary>
    public double? CanarySlowness { get; init; }

    /// <summary>How much the canary's pieces varied, as a share of their mean.</summary>
    public double? CanaryVariation { get; init; }

    /// <summary>Steps of the canary per second on this machine without disturbance: how fast the processor itself was.</summary>
    public double? CanarySpeed { get; init; }

    /// <summary>The round over time.</summary>
    public IReadOnlyList<TimelineRecord> Timeline { get; init; } = [];

    /// <summary>This round with what the process and the system counted in it.</summary>
    internal RoundRecord With(in ResourceUse use) => this with
    {
        MachineIdle = use.Kernel.IdleShare,
        Room = use.Room,
        CpuUserSeconds = use.CpuUser.TotalSeconds,
        CpuSystemSeconds = use.CpuSystem.TotalSeconds,
        AllocatedBytes = use.AllocatedBytes,
        Gen0 = use.Gen0,
        Gen1 = use.Gen1,
        Gen2 = use.Gen2,
        GcPauseSeconds = use.GcPause.TotalSeconds,
        PoolThreads = use.PoolThreads,
        PoolPending = use.PoolPending,
        LockContentions = use.LockContentions,
        ContextSwitches = use.Kernel.ContextSwitches,
        CompiledMethods = use.CompiledMethods,
        CompilationSeconds = use.CompilationTime.TotalSeconds,
        PeakResidentBytes = use.PeakResidentBytes,
        StealSeconds = use.Kernel.Steal?.TotalSeconds,
        CpuPressureSeconds = use.Kernel.CpuPressure?.TotalSeconds,
        IoPressureSeconds = use.Kernel.IoPressure?.TotalSeconds,
        ThrottledPeriods = use.Kernel.ThrottledPeriods,
    };

    /// <summary>Processors in use on average.</summary>
    [JsonIgnore]
    public double Cores => Seconds > 0 ? (CpuUserSeconds + CpuSystemSeconds) / Seconds : 0;
}

/// <summary>What happened in a short stretch of a round.</summary>
/// <param name="Second">When it ended, in seconds from the start of the round.</param>
/// <param name="Rate">Operations per second in it.</param>
/// <param name="GcPauseMs">How long collections paused the process in it, in milliseconds.</param>
/// <param name="PoolThreads">Threads of the pool at its end.</param>
public sealed record TimelineRecord(double Second, double Rate, double GcPauseMs, int PoolThreads)
{
    /// <summary>Processors that the process used in it, on average; <see langword="null"/> where that is not looked at.</summary>
    public double? Cores { get; init; }

    /// <summary>Memory that the process had resident at its end; <see langword="null"/> where that is not looked at.</summary>
    public long? ResidentBytes { get; init; }
}

/// <summary>Two arms compared by one figure.</summary>
public sealed record ComparisonRecord
{
    // Beyond it the ends of an interval say nothing about the two arms, only that there are too few values: of two pairs they can be twenty orders of
    // magnitude apart.
    private const double WidestInterval = 100;

    /// <summary>The label of the arm that is compared.</summary>
    public required string Arm { get; init; }

    /// <summary>The label of the arm to compare with.</summary>
    public required string Against { get; init; }

    /// <summary>What is compared.</summary>
    public ComparedFigure Figure { get; init; }

    /// <summary>The figure of the arm as a multiple of the other's: rates above 1 are faster, latencies above 1 are slower.</summary>
    public required double Ratio { get; init; }

    /// <summary>The lower end of the interval of the ratio.</summary>
    public required double Low { get; init; }

    /// <summary>The upper end of the interval of the ratio.</summary>
    public required double High { get; init; }

    /// <summary>The probability of such a difference between equal arms, corrected for the number of comparisons.</summary>
    public required double P { get; init; }

    /// <summary>The difference up to which two arms count as equal, as a share.</summary>
    public required double Margin { get; init; }

    /// <summary>The level of the test; the interval's is 1 - alpha.</summary>
    public required double Alpha { get; init; }

    /// <summary>The figure of the arm in its unit, for bytes and latencies; <see langword="null"/> for rates.</summary>
    public double? Value { get; init; }

    /// <summary>The figure of what the arm is compared with, in its unit.</summary>
    public double? AgainstValue { get; init; }

    /// <summary>The number of pairs of processes that took turns; <see langword="null"/> if they did not.</summary>
    public int? Pairs { get; init; }

    /// <summary>How often the command checked whether the comparison is decided. The interval is wide enough for all checks together.</summary>
    public int? Looks { get; init; }

    /// <summary>How strongly the rate followed the room that other programs left, if the sides are compared at equal room.</summary>
    public double? RoomSlope { get; init; }

    /// <summary>The number of processes of the side that has fewer, where two stored results were compared.</summary>
    public int? Processes { get; init; }

    /// <summary>What it comes to.</summary>
    public required Verdict Verdict { get; init; }

    /// <summary>
    /// The smallest change of a rate or latency that would have been found in 95 % of such comparisons, as a share; <see langword="null"/> without an interval.
    /// </summary>
    public double? Detectable => Figure != ComparedFigure.Bytes && HasInterval && Low > 0 && (Pairs ?? Processes) is > 1 and { } units
        ? Math.Max(Margin, Math.Exp(Math.Log(High / Low) / 2 * (1 + Power.Of(units - 1, Alpha))) - 1)
        : null;

    /// <summary>Whether the arm is the worse one: slower, or with more bytes.</summary>
    [JsonIgnore]
    public bool IsWorse => Verdict is Verdict.Slower or Verdict.More;

    /// <summary>Whether there is an interval; with too few rounds or pairs of processes, there is none.</summary>
    [JsonIgnore]
    public bool HasInterval => double.IsFinite(High) && High <= Low * WidestInterval;

    /// <summary>The interval in words.</summary>
    [JsonIgnore]
    public string Interval => Figure == ComparedFigure.Bytes && Low == High ? "exact"
        : HasInterval ? FormattableString.Invariant($"{Low:0.000}..{High:0.000}")
        : Pairs is { } pairs ? $"none: too few pairs ({pairs})"
        : Processes is { } processes ? $"none: too few processes ({processes})"
        : "too few rounds";

    /// <summary>How many times as fast the arm is, with the ends of its interval: of rates and latencies alike, more is faster.</summary>
    internal (double Low, double Value, double High) Speed =>
        Figure is ComparedFigure.Rate or ComparedFigure.Bytes ? (Low, Ratio, High) : (1 / High, 1 / Ratio, 1 / Low);

    /// <summary>Whether the other allocates nothing, of which no ratio can be taken.</summary>
    internal bool IsFromNothing => Figure == ComparedFigure.Bytes && Value >= 1 && AgainstValue < 0.5;

    /// <summary>Whether the calls are too short for the clock to tell two latencies apart that differ by the margin.</summary>
    internal bool IsBelowClock { get; init; }

    /// <summary>The values of both arms, as the beginning of a sentence's end; nothing for rates.</summary>
    internal string ValuesText => this is not { Value: { } value, AgainstValue: { } against } ? ""
        : Figure == ComparedFigure.Bytes ? FormattableString.Invariant($"{value:#,0.#} B an operation against {against:#,0.#} ")
        : $"{TimeText(value)} against {TimeText(against)}, ";

    /// <summary>An explanation of the verdict, if it needs one.</summary>
    public string? Note { get; init; }

    private static string TimeText(double nanoseconds) =>
        nanoseconds < 100 ? FormattableString.Invariant($"{nanoseconds:0.#} ns") : Numbers.Nanoseconds(nanoseconds);
}

/// <summary>The simplest law of scaling that fits the arms of one name: linear, Amdahl's, or the Universal Scalability Law.</summary>
public sealed record FitRecord
{
    /// <summary>The name of the arms.</summary>
    public required string Name { get; init; }

    /// <summary>
    /// The law: <c>linear</c>, <c>amdahl</c> or <c>usl</c>; <see langword="null"/> if none fits. Each is the next one with a parameter that is zero.
    /// </summary>
    public string? Law { get; init; }

    /// <summary>
    /// The p value of the test for lack of fit, from 0 to 1; <see langword="null"/> if no worker count has two processes, or two rounds in this process.
    /// </summary>
    public double? LackOfFit { get; init; }

    /// <summary>The rate of one worker.</summary>
    public required Interval Lambda { get; init; }

    /// <summary>Contention: the share of the work that is done one at a time.</summary>
    public required Interval Sigma { get; init; }

    /// <summary>Coherency: the cost of each pair of workers.</summary>
    public required Interval Kappa { get; init; }

    /// <summary>The number of workers with the highest rate; <see langword="null"/> if the data shows no peak.</summary>
    public double? PeakWorkers { get; init; }

    /// <summary>The highest rate; <see langword="null"/> if the data shows no peak.</summary>
    public double? PeakRate { get; init; }

    /// <summary>The share of the variation that the fit explains.</summary>
    public double RSquared { get; init; }

    /// <summary>Why the fit must not be used; <see langword="null"/> if it may be used.</summary>
    public string? Refused { get; init; }

    /// <summary>The rate that the law gives for a number of workers.</summary>
    public double RateAt(double workers) =>
        Lambda.Value * workers / (1 + (Sigma.Value * (workers - 1)) + (Kappa.Value * workers * (workers - 1)));
}

/// <summary>A value and how sure it is.</summary>
/// <param name="Value">The value.</param>
/// <param name="Low">The lower end of its interval.</param>
/// <param name="High">The upper end.</param>
public sealed record Interval(double Value, double Low, double High);

/// <summary>Where the time of one more round went, and what it allocated. The round itself is in no other figure.</summary>
public sealed record ProfileRecord
{
    /// <summary>Stands for what the measuring loop itself does, and for code that was inlined into it.</summary>
    public const string LabLoop = "(the lab's loop)";

    /// <summary>
    /// Stands for an operation of which nothing is known but that it had just returned: the runtime can take some samples only then. It is shown only if no
    /// sample has more, otherwise its samples are divided among the others.
    /// </summary>
    internal const string Operation = "(the operation)";

    /// <summary>How long the round was, in seconds.</summary>
    public required double Seconds { get; init; }

    /// <summary>
    /// How fast it was, in operations per second, while the stacks were sampled: how much slower than the other rounds is the sampling's cost.
    /// </summary>
    public double? Rate { get; init; }

    /// <summary>How fast it was while the awaits were recorded.</summary>
    public double? AwaitsRate { get; init; }

    /// <summary>Stacks of threads that worked, with how often each was found, the most frequent first.</summary>
    public IReadOnlyList<ProfileStack> Stacks { get; init; } = [];

    /// <summary>Stacks of threads of the work that waited, with how often each was found, the most frequent first.</summary>
    public IReadOnlyList<ProfileStack> Waits { get; init; } = [];

    /// <summary>What asynchronous methods awaited, and which of them were held by it, the longest first.</summary>
    public IReadOnlyList<ProfileAwait> Awaits { get; init; } = [];

    /// <summary>Types of which objects were allocated, that with the most bytes first.</summary>
    public IReadOnlyList<ProfileAllocation> Allocations { get; init; } = [];

    /// <summary>How many samples of work there are.</summary>
    [JsonIgnore]
    public int Samples => Stacks.Sum(static s => s.Samples);

    /// <summary>How many samples of waiting there are.</summary>
    [JsonIgnore]
    public int Waiting => Waits.Sum(static s => s.Samples);

    /// <summary>The methods, first that in which most samples ended.</summary>
    public IReadOnlyList<ProfileMethod> Methods()
    {
        Dictionary<string, (int Exclusive, int Inclusive)> methods = [];
        foreach (ProfileStack stack in Stacks)
        {
            IReadOnlyList<string> frames = stack.Path;

            // A method that calls itself is in the stack several times, and still counts once.
            foreach (string frame in frames.Distinct())
            {
                (int exclusive, int inclusive) = methods.GetValueOrDefault(frame);
                methods[frame] = (exclusive + (frame == frames[^1] ? stack.Samples : 0), inclusive + stack.Samples);
            }
        }

        return
        [
            .. methods.Select(static m => new ProfileMethod(m.Key, m.Value.Exclusive, m.Value.Inclusive))
                .OrderByDescending(static m => m.Exclusive).ThenByDescending(static m => m.Inclusive).ThenBy(static m => m.Name, StringComparer.Ordinal),
        ];
    }
}

/// <summary>A stack of calls that was found in samples.</summary>
/// <param name="Frames">The methods from the outermost to the innermost, between semicolons, as the programs that draw flame graphs read them.</param>
/// <param name="Samples">In how many samples.</param>
public sealed record ProfileStack(string Frames, int Samples)
{
    /// <summary>What stands between two frames.</summary>
    public const char Separator = ';';

    /// <summary>The methods from the outermost to the innermost.</summary>
    [JsonIgnore]
    public IReadOnlyList<string> Path => Frames.Split(Separator);
}

/// <summary>A method and its samples.</summary>
/// <param name="Name">Its full name.</param>
/// <param name="Exclusive">Samples that ended in it.</param>
/// <param name="Inclusive">Samples that ended in it or in what it called.</param>
public sealed record ProfileMethod(string Name, int Exclusive, int Inclusive);

/// <summary>A type whose objects the runtime's samples of allocations met.</summary>
/// <param name="Type">Its full name.</param>
/// <param name="Ticks">In how many samples.</param>
/// <param name="Bytes">
/// How many bytes were allocated from one sample to the next, of whatever type: with many samples an estimate of the bytes of this type.
/// </param>
public sealed record ProfileAllocation(string Type, int Ticks, long Bytes);

/// <summary>An await that was waited for, and the asynchronous methods that it held.</summary>
/// <param name="Frames">The methods from the outermost that awaits to the innermost, between semicolons, and at the end what that one awaits.</param>
/// <param name="Times">How often.</param>
/// <param name="Seconds">How long all of them together, in seconds.</param>
public sealed record ProfileAwait(string Frames, int Times, double Seconds);

/// <summary>Something that you should know before you trust the figures.</summary>
/// <param name="Level">How serious it is.</param>
/// <param name="Text">One sentence.</param>
/// <param name="Kind">What it is about.</param>
public sealed record Finding(FindingLevel Level, string Text, FindingKind Kind = FindingKind.Other)
{
    /// <summary>The cause, if any process can find it: such findings of several processes differ only in their figures.</summary>
    public RunCause? Cause { get; init; }

    /// <summary>Whether it says that other programs, or the hypervisor, had a part of the machine.</summary>
    internal bool IsOfAnUnquietMachine =>
        Level > FindingLevel.Note && (Kind == FindingKind.Machine || Cause is RunCause.NotQuiet or RunCause.Steal or RunCause.Throttled);

    /// <summary>Of findings that several processes made of the same cause, the first.</summary>
    internal static IEnumerable<Finding> EachOnce(IEnumerable<Finding> findings) =>
        findings.DistinctBy(static f => f.Cause is { } cause ? (object)(cause, f.Level) : f);

    /// <summary>What a run of workers remarks about itself.</summary>
    internal static Finding Of(RunRemark remark, FindingLevel level) => new(level, remark.Text) { Cause = remark.Cause };

    /// <summary>The finding if another measurement held the machine's lock.</summary>
    internal static IEnumerable<Finding> OtherMeasurement(MachineLock? alone) =>
        alone is null ? [new Finding(
            FindingLevel.Doubt, "Another measurement ran on this machine at the same time; each disturbed the other.", FindingKind.Machine)] : [];

    /// <summary>The finding if the canary varied more than on a quiet machine.</summary>
    public static IEnumerable<Finding> Noise(double variation) => variation > Canary.QuietVariation
        ? [new Finding(FindingLevel.Doubt,
            FormattableString.Invariant($"The machine was not quiet: the canary varied by {variation * 100:0.0} % before or after."), FindingKind.Machine)
        {
            Cause = RunCause.NotQuiet,
        }]
        : [];

    /// <summary>The finding if several comparisons share the level.</summary>
    public static IEnumerable<Finding> SharedAlpha(int comparisons, double alpha) => comparisons > 1
        ? [new Finding(FindingLevel.Note, FormattableString.Invariant(
            $"{comparisons} comparisons share the alpha of {alpha * 100:0.##} %; each is made at {alpha / comparisons * 100:0.###} %."))]
        : [];
}

/// <summary>What a <see cref="Finding"/> is about.</summary>
public enum FindingKind
{
    /// <summary>Anything else.</summary>
    Other,

    /// <summary>The machine and who else was at work on it.</summary>
    Machine,

    /// <summary>Rounds that were left out or are wrong.</summary>
    Rounds,

    /// <summary>What set the limit: processors or device.</summary>
    Bound,

    /// <summary>How the rate follows the number of workers.</summary>
    Scaling,

    /// <summary>How two results that are compared differ, beside their rates.</summary>
    Difference,
}

/// <summary>How grave a <see cref="Finding"/> is.</summary>
public enum FindingLevel
{
    /// <summary>Explains a figure.</summary>
    Note,

    /// <summary>The figures hold, but are less sure than they look.</summary>
    Doubt,

    /// <summary>The figures mean nothing.</summary>
    Invalid,
}

/// <summary>The machine and the settings of .NET that figures belong to.</summary>
public sealed record MachineRecord
{
    /// <summary>The model of the processor.</summary>
    public required string Cpu { get; init; }

    /// <summary>How many processors .NET counts.</summary>
    public required int Cores { get; init; }

    /// <summary>The operating system.</summary>
    public required string Os { get; init; }

    /// <summary>The architecture of the process.</summary>
    public required string Architecture { get; init; }

    /// <summary>The memory that the process may use.</summary>
    public required long MemoryBytes { get; init; }

    /// <summary>The version of .NET.</summary>
    public required string Dotnet { get; init; }

    /// <summary>The kind of the garbage collector.</summary>
    public required string Gc { get; init; }

    /// <summary>The environment variables that change how .NET runs code.</summary>
    public required IReadOnlyDictionary<string, string> Variables { get; init; }

    /// <summary>What one reading of the clock costs, in nanoseconds; 0 in results that do not say.</summary>
    public double ClockNs { get; init; }

    /// <summary>A short hash of all of the above but the clock. Figures with different ones do not compare.</summary>
    public required string Hash { get; init; }

    internal static MachineRecord Read() => Hashed(new MachineRecord
    {
        Cpu = MachineInfo.CpuName(),
        Cores = Environment.ProcessorCount,
        Os = RuntimeInformation.OSDescription,
        Architecture = RuntimeInformation.ProcessArchitecture.ToString().ToLowerInvariant(),
        MemoryBytes = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes,
        Dotnet = Environment.Version.ToString(),
        Gc = MachineInfo.GcMode(),
        Variables = MachineInfo.Variables(),
        ClockNs = Clock.MeasureReadCost(),
        Hash = "",
    });

    /// <summary>A machine's record with its hash.</summary>
    internal static MachineRecord Hashed(MachineRecord machine)
    {
        string all = string.Join('\n', [machine.Cpu, $"{machine.Cores}", machine.Os, machine.Architecture, machine.Dotnet, machine.Gc,
            .. machine.Variables.Select(static v => $"{v.Key}={v.Value}")]);
        return machine with { Hash = Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(all)).AsSpan(0, 3)) };
    }
}

/// <summary>The sources that figures belong to: the tree of the directory in which the command ran.</summary>
/// <param name="Commit">The commit.</param>
/// <param name="Clean">Whether no file that git tracks was changed since.</param>
public sealed record SourceRecord(string Commit, bool Clean)
{
    /// <summary>The commit, with a word when something was changed since.</summary>
    [JsonIgnore]
    public string Text => Clean ? Commit : Commit + " with changes";

    /// <summary>Reads it; <see langword="null"/> outside a repository of git.</summary>
    internal static SourceRecord? Read(GitCalls? git = null) =>
        SourceTree.ReadBy(git ?? new GitCalls()) is { } tree ? new SourceRecord(tree.Commit, tree.IsClean) : null;
}

/// <summary>
/// What the rounds of one arm come to: for programs that do not want to add them up themselves. It is made of the rounds whenever it is asked for, and never
/// read.
/// </summary>
public sealed record ArmSummary
{
    /// <summary>The name of the arm.</summary>
    public required string Arm { get; init; }

    /// <summary>Its workers.</summary>
    public required int Workers { get; init; }

    /// <summary>The rounds that count.</summary>
    public required int Rounds { get; init; }

    /// <summary>The median of their rates.</summary>
    public required double Rate { get; init; }

    /// <summary>The lower end of the median's interval.</summary>
    public required double RateLow { get; init; }

    /// <summary>The upper end of the median's interval.</summary>
    public required double RateHigh { get; init; }

    /// <summary>How often such an interval holds the true median, from 0 to 1.</summary>
    public required double RateLevel { get; init; }

    /// <summary>The lowest rate.</summary>
    public required double RateMin { get; init; }

    /// <summary>The highest rate.</summary>
    public required double RateMax { get; init; }

    /// <summary>The latencies: from the start of an operation, and with a rate also from the intended start.</summary>
    public IReadOnlyList<LatencyFigures> Latency { get; init; } = [];

    /// <summary>How long the runs took, if the arm is a program.</summary>
    public RunTimes? Run { get; init; }

    /// <summary>The figures of a pass and of an item; <see langword="null"/> for an arm without passes.</summary>
    public PassFigures? Pass { get; init; }

    /// <summary>The summary of an arm that was measured.</summary>
    /// <param name="arm">The arm.</param>
    /// <param name="arms">All arms of the result.</param>
    /// <param name="clock">What a reading of the clock costs, in nanoseconds.</param>
    internal static ArmSummary Of(ArmRecord arm, IReadOnlyList<ArmRecord> arms, double clock)
    {
        MedianInterval rate = arm.RateInterval();
        (string From, Func<RoundRecord, string?> Kind)[] kinds = [("start", static r => r.Service), ("intended_start", static r => r.Response)];
        return new ArmSummary
        {
            Arm = arm.Name,
            Workers = arm.Workers,
            Rounds = arm.Counted.Count,
            Rate = rate.Median,
            RateLow = rate.Low,
            RateHigh = rate.High,
            RateLevel = rate.Level,
            RateMin = arm.Counted.Min(static r => r.Rate),
            RateMax = arm.Counted.Max(static r => r.Rate),
            Latency = [.. kinds.Select(k => LatencyFigures.Of(arm, k.From, k.Kind, clock)).OfType<LatencyFigures>()],
            Run = RunTimes.Of(arm),
            Pass = PassFigures.Of(arm, arms),
        };
    }
}

/// <summary>The latencies of all rounds of an arm together, never averaged. All times are nanoseconds.</summary>
public sealed record LatencyFigures
{
    /// <summary>From when on: <c>start</c>, or <c>intended_start</c>.</summary>
    public required string From { get; init; }

    /// <summary>How many there are.</summary>
    public required long Count { get; init; }

    /// <summary>The mean.</summary>
    public required double MeanNs { get; init; }

    /// <summary>The shortest.</summary>
    public required long MinNs { get; init; }

    /// <summary>The longest.</summary>
    public required long MaxNs { get; init; }

    /// <summary>The percentiles that the data is sufficient for.</summary>
    public required IReadOnlyList<PercentileFigures> Percentiles { get; init; }

    /// <summary>The figures of an arm; <see langword="null"/> when it has no latencies of the kind.</summary>
    internal static LatencyFigures? Of(ArmRecord arm, string from, Func<RoundRecord, string?> kind, double clock)
    {
        if (arm.Latency(kind) is not { Count: > 0 } all)
        {
            return null;
        }

        LatencyHistogram[] rounds = [.. arm.Counted.Select(kind).OfType<string>().Select(HistogramCodec.Decode)];
        return new LatencyFigures
        {
            From = from,
            Count = all.Count,
            MeanNs = all.Mean,
            MinNs = all.Min,
            MaxNs = all.Max,
            Percentiles = [.. KnownPercentile.Usual.Select(p => PercentileFigures.Of(all, rounds, p, clock)).OfType<PercentileFigures>()],
        };
    }
}

/// <summary>One percentile of an arm, over all its rounds together, and as each round has it.</summary>
public sealed record PercentileFigures
{
    /// <summary>Which, from 0 to 100.</summary>
    public required double Percentile { get; init; }

    /// <summary>The latency of all rounds together that this share does not exceed, in nanoseconds.</summary>
    public required double Ns { get; init; }

    /// <summary>Whether the clock cannot resolve it, so that it is an upper bound.</summary>
    public required bool AtMost { get; init; }

    /// <summary>How many latencies lie beyond it.</summary>
    public required long Beyond { get; init; }

    /// <summary>The rounds that can tell it themselves.</summary>
    public required int Rounds { get; init; }

    /// <summary>The median of those rounds' own percentile, in nanoseconds; <see langword="null"/> when no round can tell it.</summary>
    public double? MedianNs { get; init; }

    /// <summary>The lower end of that median's interval, in nanoseconds.</summary>
    public double? LowNs { get; init; }

    /// <summary>The upper end of that median's interval, in nanoseconds.</summary>
    public double? HighNs { get; init; }

    /// <summary>How often such an interval holds the true median, from 0 to 1.</summary>
    public double? Level { get; init; }

    /// <summary>The figures; <see langword="null"/> when there are too few latencies for the percentile.</summary>
    internal static PercentileFigures? Of(LatencyHistogram all, IReadOnlyList<LatencyHistogram> rounds, double percentile, double clock)
    {
        if (KnownPercentile.Of(all, percentile, clock) is not { } known)
        {
            return null;
        }

        double[] own = [.. rounds.Select(r => KnownPercentile.Of(r, percentile, clock)).OfType<KnownPercentile>().Select(static k => k.Nanoseconds)];
        MedianInterval? interval = own.Length > 0 ? MedianInterval.Of(own) : null;
        return new PercentileFigures
        {
            Percentile = percentile,
            Ns = known.Nanoseconds,
            AtMost = known.IsBound,
            Beyond = known.Beyond,
            Rounds = own.Length,
            MedianNs = interval?.Median,
            LowNs = interval?.Low,
            HighNs = interval?.High,
            Level = interval?.Level,
        };
    }
}

/// <summary>
/// What the rounds of an arm come to whose operations are items of passes: for a pass, and for an item. Texts, tables and files all take their figures from
/// here. It is made of the rounds whenever it is asked for, and is never read from a file.
/// </summary>
public sealed record PassFigures
{
    /// <summary>The setting with the name of an arm that is a runtime; an arm without it is a peer.</summary>
    internal const string Runtime = "runtime";

    /// <summary>The plain loop, to which ratios are taken.</summary>
    internal const string Loop = "loop";

    /// <summary>The platform's own way, to which ratios are taken.</summary>
    internal const string ForEachAsync = "Parallel.ForEachAsync";

    private const string Direct = "direct";
    private const double Million = 1_000_000;

    /// <summary>Items of a pass; those that were done, if no pass was completed.</summary>
    public required long Processed { get; init; }

    /// <summary>How long a pass takes at the median of the rates, in seconds.</summary>
    public required double ElapsedSeconds { get; init; }

    /// <summary>The median of the rates.</summary>
    public required double ThroughputPerSecond { get; init; }

    /// <summary>The lowest rate.</summary>
    public required double ThroughputMin { get; init; }

    /// <summary>The highest rate.</summary>
    public required double ThroughputMax { get; init; }

    /// <summary>Collections of any generation during a pass. Not a whole number when a round has several passes.</summary>
    public required double GcCount { get; init; }

    /// <summary>Items of a pass that failed.</summary>
    public required long Failed { get; init; }

    /// <summary>Items of a pass that ran out of time.</summary>
    public required long TimedOut { get; init; }

    /// <summary>The verified checksum; <see langword="null"/> when no pass was completed.</summary>
    public string? Checksum { get; init; }

    /// <summary>Elapsed time for an item at the median of the rates, in nanoseconds.</summary>
    public required double NsPerItem { get; init; }

    /// <summary>Elapsed time for an item beyond that of the direct runtime, in nanoseconds; <see langword="null"/> without that runtime.</summary>
    public double? NsAboveDirect { get; init; }

    /// <summary>Bytes that the process allocated for an item.</summary>
    public required double BytesPerItem { get; init; }

    /// <summary>Processor time of the process for a million items, in seconds.</summary>
    public required double CpuSecondsPerMillion { get; init; }

    /// <summary>Collections of each generation for a million items, the youngest first.</summary>
    public required IReadOnlyList<double> GcPerMillion { get; init; }

    /// <summary>How many times as fast as the plain loop; <see langword="null"/> without it.</summary>
    public double? RatioToLoop { get; init; }

    /// <summary>How many times as fast as <c>Parallel.ForEachAsync</c>; <see langword="null"/> without it.</summary>
    public double? RatioToPlatform { get; init; }

    /// <summary>The figures of an arm.</summary>
    /// <param name="whole">The arm.</param>
    /// <param name="arms">All arms of the result.</param>
    /// <returns>The figures; <see langword="null"/> if the arm has no passes, or was stopped before the first.</returns>
    internal static PassFigures? Of(ArmRecord whole, IReadOnlyList<ArmRecord> arms)
    {
        ArmRecord arm = whole.OrPart();
        if (!arm.IsMeasured || !whole.HasPasses)
        {
            return null;
        }

        IReadOnlyList<RoundRecord> rounds = arm.Counted;
        double items = Math.Max(1, rounds.Sum(static r => r.Operations));
        long passes = rounds.Sum(static r => r.Passes ?? 0);

        // A round that was cut short counts only if there is no complete one, and then with the work that it did.
        double processed = whole.IsMeasured ? Math.Round(items / Math.Max(1, passes)) : items;
        double Sum(Func<RoundRecord, double?> figure) => rounds.Sum(r => figure(r) ?? 0);
        double OfPass(Func<RoundRecord, double?> figure) => Sum(figure) * processed / items;
        double? Paired(string name, Func<RoundRecord, RoundRecord, double> compare) =>
            arms.FirstOrDefault(a => a.Name == name)?.OrPart() is { IsMeasured: true } to ? Spread.Of(rounds.Zip(to.Counted, compare)).Median : null;
        Spread rate = arm.Rate();
        return new PassFigures
        {
            Processed = (long)processed,
            ElapsedSeconds = processed / rate.Median,
            ThroughputPerSecond = rate.Median,
            ThroughputMin = rate.Min,
            ThroughputMax = rate.Max,
            GcCount = OfPass(static r => (r.Gen0 ?? 0) + (r.Gen1 ?? 0) + (r.Gen2 ?? 0)),
            Failed = (long)Math.Round(OfPass(static r => r.Failures - (r.TimedOut ?? 0))),
            TimedOut = (long)Math.Round(OfPass(static r => r.TimedOut)),
            Checksum = rounds.Select(static r => r.Checksum).FirstOrDefault(static c => c is not null),
            NsPerItem = 1e9 / rate.Median,
            NsAboveDirect = arms.FirstOrDefault(static a => a.Name == Direct)?.OrPart() is { IsMeasured: true } direct
                ? (1e9 / rate.Median) - (1e9 / direct.Rate().Median)
                : null,
            BytesPerItem = Sum(static r => r.AllocatedBytes) / items,
            CpuSecondsPerMillion = Sum(static r => r.CpuUserSeconds + r.CpuSystemSeconds) * Million / items,
            GcPerMillion = [Sum(static r => r.Gen0) * Million / items, Sum(static r => r.Gen1) * Million / items, Sum(static r => r.Gen2) * Million / items],
            RatioToLoop = Paired(Loop, static (mine, theirs) => mine.Rate / theirs.Rate),
            RatioToPlatform = Paired(ForEachAsync, static (mine, theirs) => mine.Rate / theirs.Rate),
        };
    }
}

/// <summary>How long the runs of a program took, in seconds.</summary>
/// <param name="MeanSeconds">The mean.</param>
/// <param name="DeviationSeconds">The standard deviation of single runs; 0 of one run.</param>
/// <param name="MedianSeconds">The median.</param>
/// <param name="MinSeconds">The shortest.</param>
/// <param name="MaxSeconds">The longest.</param>
public sealed record RunTimes(double MeanSeconds, double DeviationSeconds, double MedianSeconds, double MinSeconds, double MaxSeconds)
{
    /// <summary>Those of an arm; <see langword="null"/> if it is not a program, or was not measured.</summary>
    internal static RunTimes? Of(ArmRecord arm)
    {
        if (!arm.IsProgram || !arm.IsMeasured)
        {
            return null;
        }

        double[] seconds = [.. arm.Counted.Select(static r => 1 / r.Rate)];
        double mean = seconds.Average();
        double squares = seconds.Sum(s => (s - mean) * (s - mean));
        return new RunTimes(
            mean, seconds.Length > 1 ? Math.Sqrt(squares / (seconds.Length - 1)) : 0, 1 / arm.Rate().Median, seconds.Min(), seconds.Max());
    }
}
