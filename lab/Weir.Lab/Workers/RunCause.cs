namespace Weir.Lab.Workers;

/// <summary>What a <see cref="RunRemark"/> is about.</summary>
[JsonConverter(typeof(JsonStringEnumConverter<RunCause>))]
public enum RunCause
{
    /// <summary>Code was compiled in the measured rounds.</summary>
    Compiled,

    /// <summary>The generator could not keep its rate.</summary>
    LateGenerator,

    /// <summary>Operations had not ended long after the window.</summary>
    Unfinished,

    /// <summary>Other programs were running on the machine.</summary>
    NotQuiet,

    /// <summary>Rounds were repeated, because other programs were running.</summary>
    Repeated,

    /// <summary>Rounds were repeated, because code was compiled in them.</summary>
    ColdRounds,

    /// <summary>The operation cannot be distinguished from an empty one.</summary>
    TooShort,

    /// <summary>The control group has fewer processors than .NET counts.</summary>
    CpuQuota,

    /// <summary>The hypervisor gave processor time to others.</summary>
    Steal,

    /// <summary>The processor quota of the control group was used up.</summary>
    Throttled,

    /// <summary>The rate still changed when the warm-up ended.</summary>
    NotSteady,

    /// <summary>The workload did not return, and was abandoned.</summary>
    NotCleanedUp,

    /// <summary>The generator had no processor for itself.</summary>
    BusyGenerator,

    /// <summary>Starts were dropped, because too many operations were under way.</summary>
    Dropped,

    /// <summary>Operations failed in the warm-up.</summary>
    EarlyFailures,

    /// <summary>The rate fell or rose throughout the run.</summary>
    Drift,

    /// <summary>Each operation leaves something reachable behind.</summary>
    Growth,

    /// <summary>Work waited for threads of the pool while processors were idle.</summary>
    StarvedPool,
}
