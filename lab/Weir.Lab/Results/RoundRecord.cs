namespace Weir.Lab.Results;

/// <summary>One round of one arm. Figures that a command or a system does not have are <see langword="null"/>.</summary>
public sealed record RoundRecord
{
    /// <summary>Its place among all rounds of the run, from 1.</summary>
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

    /// <summary>The same round with what the process and the system counted in it.</summary>
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
