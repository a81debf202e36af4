namespace Weir.Lab.Resources;

/// <summary>What the process used between two moments. All threads count, also those that have nothing to do with what is measured.</summary>
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
    public double? Room => Kernel.Idle is { } idle && SystemSample.MachineProcessors is { } processors && Elapsed > TimeSpan.Zero
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

    /// <summary>The use between two samples.</summary>
    /// <returns>The differences; threads and peak memory as they were at the end.</returns>
    public static ResourceUse Between(in ResourceSample before, in ResourceSample after)
    {
        int all = after.Collections0 - before.Collections0;
        int above0 = after.Collections1 - before.Collections1;
        int above1 = after.Collections2 - before.Collections2;
        return new ResourceUse
        {
            Elapsed = System.Diagnostics.Stopwatch.GetElapsedTime(before.Timestamp, after.Timestamp),
            CpuUser = after.CpuUser - before.CpuUser,
            CpuSystem = after.CpuSystem - before.CpuSystem,
            Gen0 = all - above0,
            Gen1 = above0 - above1,
            Gen2 = above1,
            GcPause = after.GcPause - before.GcPause,
            AllocatedBytes = after.AllocatedBytes - before.AllocatedBytes,
            LockContentions = after.LockContentions - before.LockContentions,
            CompiledMethods = after.CompiledMethods - before.CompiledMethods,
            CompilationTime = after.CompilationTime - before.CompilationTime,
            PoolPending = after.PoolPending,
            PoolCompleted = after.PoolCompleted - before.PoolCompleted,
            Kernel = SystemUse.Between(before.Kernel, after.Kernel),
            PoolThreads = after.PoolThreads,
            PeakResidentBytes = after.PeakResidentBytes,
        };
    }

    /// <summary>The sum of two uses; of threads and peak memory, the greater.</summary>
    public static ResourceUse operator +(ResourceUse left, ResourceUse right) => Add(left, right);

    /// <summary>The sum of two uses; of threads and peak memory, the greater.</summary>
    public static ResourceUse Add(ResourceUse left, ResourceUse right) => new()
    {
        Elapsed = left.Elapsed + right.Elapsed,
        CpuUser = left.CpuUser + right.CpuUser,
        CpuSystem = left.CpuSystem + right.CpuSystem,
        Gen0 = left.Gen0 + right.Gen0,
        Gen1 = left.Gen1 + right.Gen1,
        Gen2 = left.Gen2 + right.Gen2,
        GcPause = left.GcPause + right.GcPause,
        AllocatedBytes = left.AllocatedBytes + right.AllocatedBytes,
        LockContentions = left.LockContentions + right.LockContentions,
        CompiledMethods = left.CompiledMethods + right.CompiledMethods,
        CompilationTime = left.CompilationTime + right.CompilationTime,
        PoolPending = Math.Max(left.PoolPending, right.PoolPending),
        PoolCompleted = left.PoolCompleted + right.PoolCompleted,
        Kernel = left.Kernel + right.Kernel,
        PoolThreads = Math.Max(left.PoolThreads, right.PoolThreads),
        PeakResidentBytes = Math.Max(left.PeakResidentBytes, right.PeakResidentBytes),
    };
}
