namespace Weir.Lab.Resources;

/// <summary>
/// What the operating system counts, at one moment or between two: the difference of what was taken at them. A counter that this system does not have is
/// <see langword="null"/>.
/// </summary>
internal readonly partial record struct SystemUse
{
    private const int RusageLongs = 18;
    private const int VoluntaryAt = 16;
    private const int InvoluntaryAt = 17;

    /// <summary>
    /// How many processors the machine's times are of, which may be more than the process may use; <see langword="null"/> on a system that does not tell.
    /// </summary>
    internal static int? MachineProcessors { get; } = OperatingSystem.IsLinux()
        && Lines("/proc/stat").Count(static l => l.StartsWith("cpu", StringComparison.Ordinal) && l.Length > 3 && char.IsAsciiDigit(l[3])) is > 0 and int count
        ? count
        : null;

    /// <summary>How often a thread of the process gave up its processor, to wait or for others.</summary>
    public long? ContextSwitches { get; init; }

    /// <summary>Processor time that the hypervisor gave to others, over all processors of the machine.</summary>
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

    /// <summary>In how many periods the processor quota of the control group was used up.</summary>
    public long? ThrottledPeriods { get; init; }

    /// <summary>Reads the counters.</summary>
    /// <returns>The counters; all absent on a system other than Linux.</returns>
    public static SystemUse Take()
    {
        if (!OperatingSystem.IsLinux())
        {
            return default;
        }

        // First, because it is compared with what the process has used, which was read just before.
        (TimeSpan? idle, TimeSpan? steal, TimeSpan? all) = ProcessorTimes(FirstLine("/proc/stat"));
        return new SystemUse
        {
            ContextSwitches = Switches(),
            Steal = steal,
            Idle = idle,
            Processors = all,
            CpuPressure = PressureOf(FirstLine("/proc/pressure/cpu")),
            IoPressure = PressureOf(FirstLine("/proc/pressure/io")),
            ThrottledPeriods = Value("/sys/fs/cgroup/cpu.stat", "nr_throttled ") ?? Value("/sys/fs/cgroup/cpu/cpu.stat", "nr_throttled "),
        };
    }

    /// <summary>Bytes that the process has caused to be read from a device, which reads from the page cache do not.</summary>
    public static long? DeviceReadBytes() => Value("/proc/self/io", "read_bytes:");

    public static SystemUse operator -(SystemUse after, SystemUse before) => new()
    {
        ContextSwitches = after.ContextSwitches - before.ContextSwitches,
        Steal = after.Steal - before.Steal,
        Idle = after.Idle - before.Idle,
        Processors = after.Processors - before.Processors,
        CpuPressure = after.CpuPressure - before.CpuPressure,
        IoPressure = after.IoPressure - before.IoPressure,
        ThrottledPeriods = after.ThrottledPeriods - before.ThrottledPeriods,
    };

    /// <summary>
    /// Of the line <c>cpu user nice system idle iowait irq softirq steal</c>, in hundredths of a second; what follows is counted in user already.
    /// </summary>
    internal static (TimeSpan? Idle, TimeSpan? Steal, TimeSpan? All) ProcessorTimes(string? line)
    {
        const int fields = 8;
        string[] parts = line?.Split(' ', StringSplitOptions.RemoveEmptyEntries) ?? [];
        long[] hundredths = parts is ["cpu", ..]
            ? [.. parts.Skip(1).Take(fields).Select(static f => long.TryParse(f, CultureInfo.InvariantCulture, out long n) ? n : -1)]
            : [];
        return hundredths.Length == fields && hundredths.All(static n => n >= 0)
            ? (TimeSpan.FromMilliseconds((hundredths[3] + hundredths[4]) * 10), TimeSpan.FromMilliseconds(hundredths[7] * 10),
                TimeSpan.FromMilliseconds(hundredths.Sum() * 10))
            : (null, null, null);
    }

    /// <summary>The total of the line <c>some avg10=.. avg60=.. avg300=.. total=microseconds</c>.</summary>
    internal static TimeSpan? PressureOf(string? line)
    {
        const string total = "total=";
        int at = line?.IndexOf(total, StringComparison.Ordinal) ?? -1;
        return at >= 0 && long.TryParse(line.AsSpan(at + total.Length), CultureInfo.InvariantCulture, out long microseconds)
            ? TimeSpan.FromMicroseconds(microseconds)
            : null;
    }

    private static long? Switches()
    {
        // Of the process, not summed over its threads: those that have ended would be missing.
        long[] usage = new long[RusageLongs];
        return GetResourceUsage(0, usage) == 0 ? usage[VoluntaryAt] + usage[InvoluntaryAt] : null;
    }

    private static string? FirstLine(string path) => Lines(path).FirstOrDefault();

    private static long? Value(string path, string name)
    {
        string? line = Lines(path).FirstOrDefault(l => l.StartsWith(name, StringComparison.Ordinal));
        return line is not null && long.TryParse(line.AsSpan(name.Length), CultureInfo.InvariantCulture, out long value) ? value : null;
    }

    // A counter that cannot be read is absent: kernels and containers differ in what they show.
    private static string[] Lines(string path)
    {
        try
        {
            return File.Exists(path) ? File.ReadAllLines(path) : [];
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            return [];
        }
    }

    [LibraryImport("libc", EntryPoint = "getrusage")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.System32)]
    private static partial int GetResourceUsage(int who, [Out] long[] usage);
}
