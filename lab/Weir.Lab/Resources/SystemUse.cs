namespace Weir.Lab.Resources;

/// <summary>What the operating system counted between two moments. What it does not count is <see langword="null"/>.</summary>
internal readonly record struct SystemUse
{
    /// <summary>How often a thread of the process gave up its processor to wait.</summary>
    public long? VoluntarySwitches { get; init; }

    /// <summary>How often a thread of the process had to give up its processor although it could have gone on.</summary>
    public long? InvoluntarySwitches { get; init; }

    /// <summary>Bytes that the process caused to be read from a device, which reads from the page cache do not.</summary>
    public long? DeviceReadBytes { get; init; }

    /// <summary>Processor time that the hypervisor gave to others.</summary>
    public TimeSpan? Steal { get; init; }

    /// <summary>Processor time that nobody used, over all processors of the machine.</summary>
    public TimeSpan? Idle { get; init; }

    /// <summary>Processor time of all processors of the machine, used or not.</summary>
    public TimeSpan? Processors { get; init; }

    /// <summary>The share of the machine's processor time that nobody used, from 0 to 1.</summary>
    public double? IdleShare => Processors > TimeSpan.Zero ? Idle / Processors : null;

    /// <summary>How long some task of the machine was waiting for a processor.</summary>
    public TimeSpan? CpuPressure { get; init; }

    /// <summary>How long some task of the machine was waiting for a device.</summary>
    public TimeSpan? IoPressure { get; init; }

    /// <summary>How long some task of the machine was waiting for memory.</summary>
    public TimeSpan? MemoryPressure { get; init; }

    /// <summary>In how many periods the processor quota of the control group was used up.</summary>
    public long? ThrottledPeriods { get; init; }

    /// <summary>The difference of two samples.</summary>
    public static SystemUse Between(in SystemSample before, in SystemSample after) => new()
    {
        VoluntarySwitches = after.VoluntarySwitches - before.VoluntarySwitches,
        InvoluntarySwitches = after.InvoluntarySwitches - before.InvoluntarySwitches,
        DeviceReadBytes = after.DeviceReadBytes - before.DeviceReadBytes,
        Steal = after.Steal - before.Steal,
        Idle = after.Idle - before.Idle,
        Processors = after.Processors - before.Processors,
        CpuPressure = after.CpuPressure - before.CpuPressure,
        IoPressure = after.IoPressure - before.IoPressure,
        MemoryPressure = after.MemoryPressure - before.MemoryPressure,
        ThrottledPeriods = after.ThrottledPeriods - before.ThrottledPeriods,
    };

    /// <summary>The sum of two uses; what only one of them has counts alone.</summary>
    public static SystemUse operator +(SystemUse left, SystemUse right) => Add(left, right);

    /// <summary>The sum of two uses; what only one of them has counts alone.</summary>
    public static SystemUse Add(SystemUse left, SystemUse right) => new()
    {
        VoluntarySwitches = Sum(left.VoluntarySwitches, right.VoluntarySwitches),
        InvoluntarySwitches = Sum(left.InvoluntarySwitches, right.InvoluntarySwitches),
        DeviceReadBytes = Sum(left.DeviceReadBytes, right.DeviceReadBytes),
        Steal = Sum(left.Steal, right.Steal),
        Idle = Sum(left.Idle, right.Idle),
        Processors = Sum(left.Processors, right.Processors),
        CpuPressure = Sum(left.CpuPressure, right.CpuPressure),
        IoPressure = Sum(left.IoPressure, right.IoPressure),
        MemoryPressure = Sum(left.MemoryPressure, right.MemoryPressure),
        ThrottledPeriods = Sum(left.ThrottledPeriods, right.ThrottledPeriods),
    };

    private static long? Sum(long? left, long? right) => left is null ? right : right is null ? left : left + right;

    private static TimeSpan? Sum(TimeSpan? left, TimeSpan? right) => left is null ? right : right is null ? left : left + right;
}
