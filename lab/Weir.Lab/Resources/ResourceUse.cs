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
