namespace Weir.Lab.Resources;

/// <summary>
/// What the process used since it started, or between two moments: the difference of what was taken at them. All threads count, also those that have
/// nothing to do with what is measured.
/// </summary>
internal readonly record struct ResourceUse
{
    /// <summary>Processor time in user mode.</summary>
    public TimeSpan CpuUser { get; init; }

    /// <summary>Processor time in the kernel.</summary>
    public TimeSpan CpuSystem { get; init; }

    /// <summary>Processor time.</summary>
    public TimeSpan Cpu => CpuUser + CpuSystem;

    /// <summary>How long it was.</summary>
    public TimeSpan Elapsed { get; init; }

    /// <summary>
    /// The share of the machine's processor time that other programs did not take: what the process used and what nobody did, from 0 to 1.
    /// <see langword="null"/> where the system does not tell.
    /// </summary>
    public double? Room => Kernel.Idle is { } idle && SystemUse.MachineProcessors is { } processors && Elapsed > TimeSpan.Zero
        ? Math.Min(1, (Cpu + idle) / (processors * Elapsed))
        : null;

    /// <summary>Collections of generation 0 only.</summary>
    public int Gen0 { get; init; }

    /// <summary>Collections of generations 0 and 1 only.</summary>
    public int Gen1 { get; init; }

    /// <summary>Collections of all generations.</summary>
    public int Gen2 { get; init; }

    /// <summary>Collections of any kind.</summary>
    public int Collections => Gen0 + Gen1 + Gen2;

    /// <summary>How long collections paused the process.</summary>
    public TimeSpan GcPause { get; init; }

    /// <summary>Bytes allocated by all threads.</summary>
    public long AllocatedBytes { get; init; }

    /// <summary>How often a thread had to wait for a lock.</summary>
    public long LockContentions { get; init; }

    /// <summary>Methods that were compiled meanwhile: more than a few mean that the code was not warm.</summary>
    public long CompiledMethods { get; init; }

    /// <summary>The most threads that the pool had at the end of a window.</summary>
    public int PoolThreads { get; init; }

    /// <summary>The most memory that the process ever had resident up to the end, in bytes. It never falls.</summary>
    public long PeakResidentBytes { get; init; }

    /// <summary>How long the compiler was at work meanwhile.</summary>
    public TimeSpan CompilationTime { get; init; }

    /// <summary>Work items that waited for a thread of the pool at the end of a window.</summary>
    public long PoolPending { get; init; }

    /// <summary>Work items that the pool did.</summary>
    public long PoolCompleted { get; init; }

    /// <summary>What the operating system counted.</summary>
    public SystemUse Kernel { get; init; }

    /// <summary>Reads the counters. It briefly stops all threads to count their allocations exactly, so it belongs outside what is timed.</summary>
    public static ResourceUse Take() => Take(precise: true);

    /// <summary>Reads the counters without stopping any thread: allocations may lack what each thread has not yet used of its last 8 KB.</summary>
    public static ResourceUse TakeRunning() => Take(precise: false);

    /// <summary>The use between two moments; threads, waiting items and peak memory as they were at the end.</summary>
    public static ResourceUse operator -(ResourceUse after, ResourceUse before) => after with
    {
        Elapsed = after.Elapsed - before.Elapsed,
        CpuUser = after.CpuUser - before.CpuUser,
        CpuSystem = after.CpuSystem - before.CpuSystem,
        Gen0 = after.Gen0 - before.Gen0,
        Gen1 = after.Gen1 - before.Gen1,
        Gen2 = after.Gen2 - before.Gen2,
        GcPause = after.GcPause - before.GcPause,
        AllocatedBytes = after.AllocatedBytes - before.AllocatedBytes,
        LockContentions = after.LockContentions - before.LockContentions,
        CompiledMethods = after.CompiledMethods - before.CompiledMethods,
        CompilationTime = after.CompilationTime - before.CompilationTime,
        PoolCompleted = after.PoolCompleted - before.PoolCompleted,
        Kernel = after.Kernel - before.Kernel,
    };

    private static ResourceUse Take(bool precise)
    {
        using Process process = Process.GetCurrentProcess();
        Environment.ProcessCpuUsage cpu = Environment.CpuUsage;
        TimeSpan elapsed = Stopwatch.GetElapsedTime(0);
        SystemUse kernel = SystemUse.Take();

        // The platform counts those of higher generations too.
        (int all, int above0, int above1) = (GC.CollectionCount(0), GC.CollectionCount(1), GC.CollectionCount(2));
        return new ResourceUse
        {
            Elapsed = elapsed,
            CpuUser = cpu.UserTime,
            CpuSystem = cpu.PrivilegedTime,
            Gen0 = all - above0,
            Gen1 = above0 - above1,
            Gen2 = above1,
            GcPause = GC.GetTotalPauseDuration(),
            AllocatedBytes = GC.GetTotalAllocatedBytes(precise),
            LockContentions = Monitor.LockContentionCount,
            PoolThreads = ThreadPool.ThreadCount,
            PeakResidentBytes = process.PeakWorkingSet64,
            CompiledMethods = JitInfo.GetCompiledMethodCount(),
            CompilationTime = JitInfo.GetCompilationTime(),
            PoolPending = ThreadPool.PendingWorkItemCount,
            PoolCompleted = ThreadPool.CompletedWorkItemCount,
            Kernel = kernel,
        };
    }
}

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

/// <summary>
/// What all threads and the calling one have allocated, exactly and at one moment, so that the caller's own bytes can be taken from those of all.
/// </summary>
/// <param name="All">Bytes that all threads have allocated.</param>
/// <param name="Own">Bytes that the calling thread has allocated.</param>
internal readonly record struct AllocationSample(long All, long Own)
{
    /// <summary>Reads both. It briefly stops all threads.</summary>
    public static AllocationSample Take() => new(GC.GetTotalAllocatedBytes(precise: true), GC.GetAllocatedBytesForCurrentThread());

    /// <summary>Bytes that the other threads have allocated since an earlier sample of the same thread.</summary>
    public long OfOthersSince(in AllocationSample before) => All - before.All - (Own - before.Own);
}

/// <summary>Collects garbage before a measurement, so that it does not pay for earlier garbage.</summary>
internal static class Heap
{
    /// <summary>Collects all garbage, including objects that finalizers release.</summary>
    public static void Collect()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
    }
}

/// <summary>Waits until the runtime's compiler is idle, and leaves the processors to it.</summary>
/// <remarks>
/// Code that is called often is compiled again in the background, 100 ms after the last new method was called, or at once where the runtime was told so.
/// Workers that keep all processors busy leave little to that thread: it would continue into the measured windows.
/// </remarks>
internal static class CompilerRest
{
    /// <summary>The variable that tells the runtime how many milliseconds to wait for more new code before it counts calls.</summary>
    public const string DelayVariable = "DOTNET_TC_CallCountingDelayMs";

    /// <summary>Whether the runtime waits. Measuring processes are told not to, which makes code no different, only earlier.</summary>
    public static bool IsDelayed { get; } = Environment.GetEnvironmentVariable(DelayVariable) != "0";

    /// <summary>How long the compiler is left alone at most, each time.</summary>
    public static TimeSpan Longest { get; } = TimeSpan.FromSeconds(1);

    /// <summary>Longer than the runtime waits for more code before it compiles again.</summary>
    private static readonly TimeSpan Quiet = TimeSpan.FromMilliseconds(IsDelayed ? 120 : 50);

    private static readonly TimeSpan Step = TimeSpan.FromMilliseconds(IsDelayed ? 20 : 10);

    /// <summary>Waits until nothing has been compiled for a while.</summary>
    /// <param name="longest">When to give up.</param>
    /// <param name="cancellationToken">Ends the waiting at once; it is not an error.</param>
    public static Task WaitAsync(TimeSpan longest, CancellationToken cancellationToken) =>
        WaitAsync(static () => JitInfo.GetCompiledMethodCount(), TimeProvider.System, longest, cancellationToken);

    internal static async Task WaitAsync(Func<long> compiled, TimeProvider time, TimeSpan longest, CancellationToken cancellationToken)
    {
        long start = time.GetTimestamp();
        long since = start;
        long last = compiled();
        while (time.GetElapsedTime(since) < Quiet && time.GetElapsedTime(start) < longest && !cancellationToken.IsCancellationRequested)
        {
            await Task.Delay(Step, time, cancellationToken).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            long now = compiled();
            if (now != last)
            {
                last = now;
                since = time.GetTimestamp();
            }
        }
    }
}
