using System.Diagnostics;
using System.Runtime;

namespace Weir.Lab.Resources;

/// <summary>The process's counters at one moment. The difference of two is a <see cref="ResourceUse"/>.</summary>
public readonly record struct ResourceSample
{
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

    /// <summary>Reads the counters. It briefly stops all threads to count their allocations exactly, so it belongs outside what is timed.</summary>
    /// <returns>The counters.</returns>
    public static ResourceSample Take()
    {
        using Process process = Process.GetCurrentProcess();
        Environment.ProcessCpuUsage cpu = Environment.CpuUsage;
        return new ResourceSample
        {
            CpuUser = cpu.UserTime,
            CpuSystem = cpu.PrivilegedTime,
            Collections0 = GC.CollectionCount(0),
            Collections1 = GC.CollectionCount(1),
            Collections2 = GC.CollectionCount(2),
            GcPause = GC.GetTotalPauseDuration(),
            AllocatedBytes = GC.GetTotalAllocatedBytes(precise: true),
            LockContentions = Monitor.LockContentionCount,
            PoolThreads = ThreadPool.ThreadCount,
            PeakResidentBytes = process.PeakWorkingSet64,
            CompiledMethods = JitInfo.GetCompiledMethodCount(),
        };
    }
}
