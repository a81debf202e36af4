using System.Runtime.CompilerServices;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Toolchains.CsProj;

namespace Weir.Lab.Benchmarks.Building;

/// <summary>
/// Gives the lab's toolchain to jobs that would be built for .NET 10 with BenchmarkDotNet's own. Jobs in process, and those for other runtimes, stay as they
/// are.
/// </summary>
internal sealed class ToolchainJobs
{
    // For no longer than BenchmarkDotNet keeps the job.
    private readonly ConditionalWeakTable<Job, Job> _changed = [];

    public BenchmarkCase UseLab(BenchmarkCase benchmark)
    {
        if (!NeedsLab(benchmark.Job))
        {
            return benchmark;
        }

        // The same job for all its cases, so that they are built together.
        Job job = _changed.GetValue(benchmark.Job, static job =>
        {
            Job changed = job.UnfreezeCopy();
            changed.Environment.Runtime = CoreRuntime.Core10_0;
            changed.Infrastructure.Toolchain = LabToolchain.Instance;
            return changed.Freeze();
        });
        return BenchmarkCase.Create(benchmark.Descriptor, job, benchmark.Parameters, benchmark.Config);
    }

    private static bool NeedsLab(Job job)
    {
        if (job.Infrastructure.HasValue(InfrastructureMode.ToolchainCharacteristic))
        {
            return CsProjCoreToolchain.NetCoreApp10_0.Equals(job.Infrastructure.Toolchain);
        }

        return job.Environment.HasValue(EnvironmentMode.RuntimeCharacteristic)
            ? job.Environment.Runtime?.RuntimeMoniker == RuntimeMoniker.Net10_0
            : Environment.Version.Major == 10;
    }
}
