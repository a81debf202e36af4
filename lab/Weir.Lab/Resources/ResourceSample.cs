namespace Weir.Lab.Resources;

/// <summary>The process's counters at one moment. The difference of two is a <see cref="ResourceUse"/>.</summary>
internal readonly record struct ResourceSample
{
    /// <summary>When it was taken, in units of <see cref="Stopwatch.GetTimestamp"/>.</summary>
    public long Timestamp { get; init; }

    /// <summary>Processor time in user mode since the process started.</summary>
    public TimeSpan CpuUser { get; init; }

    /// <summary>Processor time in the kernel since the process started.</summary>
    public TimeSpan CpuSystem { get; init; }

    /// <summary>Collections of generation 0 or higher.</summary>
    public int Collections0 { get; init; }

    /// <summary>Collections of generation 1 or higher.</summary>
    public int Collections1 { get; init; }

    /// <summary>Collections of generation 2.</summary>
    public int Collections2 { get; init; }

    /// <summary>How long collections have paused the process.</summary>
    public TimeSpan GcPause { get; init; }

    /// <summary>Bytes allocated by all threads.</summary>
    public long AllocatedBytes { get; init; }

    /// <summary>How often a thread had to wait for a lock.</summary>
    public long LockContentions { get; init; }

    /// <summary>Threads of the thread pool.</summary>
    public int PoolThreads { get; init; }

    /// <summary>The most memory that the process has had resident since it started, in bytes.</summary>
    public long PeakResidentBytes { get; init; }

    /// <summary>Methods that the just-in-time compiler has compiled.</summary>
    public long CompiledMethods { get; init; }

    /// <summary>How long the just-in-time compiler has been compiling.</summary>
    public TimeSpan CompilationTime { get; init; }

    /// <summary>Work items that wait for a thread of the pool.</summary>
    public long PoolPending { get; init; }

    /// <summary>Work items that the pool has done.</summary>
    public long PoolCompleted { get; init; }

    /// <summary>What the operating system counts, as far as it has such counters.</summary>
    public SystemSample Kernel { get; init; }

    /// <summary>Reads the counters. It briefly stops all threads to count their allocations exactly, so it belongs outside what is timed.</summary>
    public static ResourceSample Take() => Take(precise: true);

    /// <summary>Reads the counters without stopping any thread: allocations may lack what each thread has not yet used of its last 8 KB.</summary>
    public static ResourceSample TakeRunning() => Take(precise: false);

    private static ResourceSample Take(bool precise)
    {
        using Process process = Process.GetCurrentProcess();
        Environment.ProcessCpuUsage cpu = Environment.CpuUsage;
        long timestamp = Stopwatch.GetTimestamp();
        SystemSample system = SystemSample.Take();
        return new ResourceSample
        {
            Timestamp = timestamp,
            CpuUser = cpu.UserTime,
            CpuSystem = cpu.PrivilegedTime,
            Collections0 = GC.CollectionCount(0),
            Collections1 = GC.CollectionCount(1),
            Collections2 = GC.CollectionCount(2),
            GcPause = GC.GetTotalPauseDuration(),
            AllocatedBytes = GC.GetTotalAllocatedBytes(precise),
            LockContentions = Monitor.LockContentionCount,
            PoolThreads = ThreadPool.ThreadCount,
            PeakResidentBytes = process.PeakWorkingSet64,
            CompiledMethods = JitInfo.GetCompiledMethodCount(),
            CompilationTime = JitInfo.GetCompilationTime(),
            PoolPending = ThreadPool.PendingWorkItemCount,
            PoolCompleted = ThreadPool.CompletedWorkItemCount,
            Kernel = system,
        };
    }
}
